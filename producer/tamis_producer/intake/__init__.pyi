from .reading import Intake as Intake
from .reading import read_file as read_file
from .reading import read_records as read_records
from .recognise import Format as Format
from .writing import write_records as write_records
