"""The report of a batch or a review: PRISMA 2020 flow, figures, every decision and methods."""

from .figures import Figures
from .form import ReportForm, form_of, write_report, write_report_file

__all__ = ["Figures", "ReportForm", "form_of", "write_report", "write_report_file"]
