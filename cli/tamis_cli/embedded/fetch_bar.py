"""The model's download, with a progress bar."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .model import fetch_model, model_folder


def fetch_with_bar(console: Console) -> Path:
    """Return the model's file; a bar is shown where it has to be downloaded first. Raises as `fetch_model` does."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task("fetching the small model, once", total=None)

    def report(done: int, total: int) -> None:
        progress.start()
        progress.update(task, completed=done, total=total or None)

    try:
        return fetch_model(model_folder(), progress=report)
    finally:
        progress.stop()
