from .notes import Note as Note
from .notes import NoteKind as NoteKind
from .reading import Intake as Intake
from .reading import read_file as read_file
from .reading import read_records as read_records
from .recognise import Format as Format
from .writing import write_records as write_records
