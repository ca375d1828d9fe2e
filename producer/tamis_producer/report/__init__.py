"""The report of a batch or a review: PRISMA 2020 flow, figures, every decision, methods; as a page or in parts."""

from .figures import Figures
from .form import ReportForm, resolve, write_report

__all__ = ["Figures", "ReportForm", "resolve", "write_report"]
