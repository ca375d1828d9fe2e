"""The model's download, with a progress bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .model import Progress as Report
from .model import fetch_model, model_folder


def fetch_with_bar(console: Console) -> Path:
    """The model's file; a bar is shown where it has to be downloaded first. Raises as `fetch_model` does."""
    with _bar(console) as report:
        return fetch_model(model_folder(), progress=report)


@contextmanager
def _bar(console: Console) -> Iterator[Report]:
    """Shown from the first byte on: nothing to see where the model is there."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task("fetching the small model, once", total=None)

    def report(done: int, total: int) -> None:
        progress.start()
        progress.update(task, completed=done, total=total or None)

    try:
        yield report
    finally:
        progress.stop()
