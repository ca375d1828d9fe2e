"""Why a message is not understood: one sentence each, with the likely mistake of whoever sent it."""

JSON = "application/json"
ERROR_MOST = 200  # characters of another library's words


def names_no_task() -> str:
    """Return what to say of a message without the header that names its task."""
    return "it names no task: it is no message of Celery, and something else writes into this queue"


def unknown_task(name: object, version: str) -> str:
    """Return what to say of a task that is not registered here; `version`: of this Tamis."""
    return (
        f"Tamis {version} has no task {name!r}: the name is misspelt, or it belongs to another release, or to another "
        "service, which should use queues of its own"
    )


def unreadable(content_type: object, error: BaseException) -> str:
    """Return what to say of a body that is not read: it is of another type than JSON, or is not what it says it is."""
    if content_type != JSON:
        return (
            f"its body is of the type {content_type!r}, and workers read {JSON} alone, whatever the sender's is: "
            "it sets task_serializer='json'"
        )
    return f"its body cannot be read as JSON: it was cut off, or written past Celery ({_said(error)})"


def wrong_arguments(task: str, takes: str, error: BaseException) -> str:
    """Return what to say of arguments that are not the task's own."""
    return f"{task} takes {takes}; a message that was sent by hand may have others: submit by a client ({_said(error)})"


def no_message(error: BaseException) -> str:
    """Return what to say of bytes in a queue that no client of the broker has written there."""
    return f"it is no message at all: something has written into this Redis list past Celery ({_said(error)})"


def _said(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:ERROR_MOST] if said else type(error).__name__
