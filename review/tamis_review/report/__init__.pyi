from .figures import Figures as Figures
from .form import ReportForm as ReportForm
from .form import form_of as form_of
from .form import write_report as write_report
from .form import write_report_file as write_report_file
