"""The list of a producer's commands: where each is written, and what `tamis --help` says of it without importing it.

To add a command, declare it in a module of this folder with `@app.command(theme=...)`, or a group of commands with
`app.add_typer(...)`, and give it a row here: its name, that module, its theme, and the first paragraph of its
docstring (of a group: its help). A command that is called imports its own module alone, so a command without a row is
not found; `tests/unit/worker/test_commands.py` holds the rows to the declarations.
"""

from dataclasses import dataclass

from .theme import Theme


@dataclass(frozen=True)
class Listed:
    """One command, or one group of commands, as the list of all shows it."""

    name: str
    module: str  # in this folder
    theme: Theme
    summary: str


# In the order in which they are shown: by theme, single commands before groups.
COMMANDS = (
    Listed(
        "screen",
        "submit",
        Theme.ASK,
        "Screen records against a review's criteria: include, exclude or uncertain, with reasons.",
    ),
    Listed("filter", "submit", Theme.ASK, "Ask one yes/no question of every record."),
    Listed("score", "submit", Theme.ASK, "Rate every record on a scale."),
    Listed(
        "extract",
        "submit",
        Theme.ASK,
        "Extract one value from every record; nothing where a record does not hold it.",
    ),
    Listed(
        "fields", "submit", Theme.ASK, "Extract several fields, as a JSON Schema describes them, from every record."
    ),
    Listed("answer", "submit", Theme.ASK, "Generate an answer, evaluate it, and refine it until it is good enough."),
    Listed(
        "judge",
        "judge",
        Theme.ASK,
        "Judge the reasoning of each result of a finished batch against its record, as a batch of its own.",
    ),
    Listed(
        "initial-filter",
        "initial_filter",
        Theme.ASK,
        "Say which records tier 1 rejects, by which rule, before anything is asked of a model.",
    ),
    Listed(
        "duplicates",
        "duplicates",
        Theme.ASK,
        "Say which records are copies of each other and which may be, each pair with its reason.",
    ),
    Listed("criteria", "criteria", Theme.ASK, "Begin a file of criteria, and see how one is understood."),
    Listed("review", "review", Theme.ASK, "Run a review after a plan, stage by stage."),
    Listed(
        "batches",
        "status",
        Theme.READ,
        "List the latest batches, and below them the calls of services in the last day.",
    ),
    Listed(
        "status",
        "status",
        Theme.READ,
        "Say how a batch stands; without an ID, which workers there are and which batches are open.",
    ),
    Listed("results", "read", Theme.READ, "Write every item of a batch in its order, with its result."),
    Listed(
        "export", "read", Theme.READ, "Write the records back, each with its decision, as reference managers read them."
    ),
    Listed(
        "report",
        "report",
        Theme.READ,
        "Write a report: PRISMA 2020 flow, figures, every decision with its reasons, and methods.",
    ),
    Listed(
        "pause",
        "control",
        Theme.STEER,
        "Begin no further item; calls in flight are finished, and `tamis resume` goes on.",
    ),
    Listed(
        "resume",
        "control",
        Theme.STEER,
        "Go on with what was paused; with a new budget where the old one is used up.",
    ),
    Listed(
        "cancel",
        "control",
        Theme.STEER,
        "End it: what has not begun is cancelled; calls in flight are finished, and results are kept.",
    ),
    Listed(
        "priority",
        "control",
        Theme.STEER,
        "Put it before, or behind, other batches; effective on all workers within seconds.",
    ),
    Listed(
        "retry",
        "retry",
        Theme.STEER,
        "Ask about the failed items of a batch once more, in a new round; nothing that is decided changes.",
    ),
    Listed(
        "failures",
        "retry",
        Theme.STEER,
        "Say what failed in each round of a batch, and whether it depends on length, year or neighbours.",
    ),
    Listed(
        "explain",
        "explain",
        Theme.CHECK,
        "Tell everything about one record: prompts as sent, answers, quotes, rules and formulas, people, and the bill.",
    ),
    Listed(
        "evaluate",
        "evaluate",
        Theme.CHECK,
        "Compare the decisions of a batch with a human's labels: rates, lost evidence, calibration, agreement.",
    ),
    Listed(
        "calibrate",
        "evaluate",
        Theme.CHECK,
        "Find, from a labelled random sample, the score from which on records are kept, with a guaranteed recall.",
    ),
    Listed(
        "override",
        "override",
        Theme.CHECK,
        "Decide about a record yourself. The model's result stays, beside yours; reports and exports follow yours.",
    ),
    Listed("overrides", "override", Theme.CHECK, "List what people decided about a batch's records."),
    Listed(
        "agreement",
        "override",
        Theme.CHECK,
        "Say how far the software agrees with the people who decided about the same records: kappa and AC1.",
    ),
    Listed(
        "pilot",
        "pilot",
        Theme.CHECK,
        "Draw a random sample of the records, as a table that a human labels for `tamis calibrate` and `evaluate`.",
    ),
    Listed(
        "audit",
        "audit",
        Theme.CHECK,
        "Have a human judge a random sample of what was excluded. `tamis audit ID` draws one.",
    ),
    Listed(
        "workers",
        "workers",
        Theme.RUN,
        "List the workers that are there: what each does, and why, where it does nothing.",
    ),
    Listed(
        "purge",
        "purge",
        Theme.RUN,
        "Delete finished batches and reviews and everything that belongs to them; with --archive they can come back.",
    ),
    Listed(
        "restore",
        "purge",
        Theme.RUN,
        "Bring back what `tamis purge --archive` has put into a folder, whole; what is there already stays as it is.",
    ),
    Listed("serve", "serve", Theme.RUN, "Answer HTTP requests: the gateway, in the foreground, until Ctrl-C."),
    Listed("keys", "serve", Theme.RUN, "Keys of the HTTP gateway."),
    Listed("webhooks", "webhooks", Theme.RUN, "What was told to whom by webhooks, and tell it again."),
    Listed(
        "help",
        "manual",
        Theme.HELP,
        "Show the page of a command, with examples; without one, all commands. `exit-codes` is a page, too.",
    ),
    Listed(
        "completion",
        "manual",
        Theme.HELP,
        "Print the script with which your shell completes commands, options and choices. It changes no file of yours.",
    ),
)
