"""The list of commands: the module of each, and its line in `tamis --help`, without an import.

To add a command, declare it in a module of this folder with `@app.command(...)`, or a group of commands with
`app.add_typer(...)`. Name it here, under its theme and module, with the first paragraph of its docstring (for a
group: its help). A generator command has the option `--json`, see `with_json` of `commands.py`. A call imports only
the command's module, so an unlisted command is not found. `tests/unit/cli/test_commands.py` compares the list with
the declarations.
"""

from dataclasses import dataclass
from enum import StrEnum


class Theme(StrEnum):
    """The subject of a command: the headings of `tamis help`, in this order."""

    ASK = "Ask about records"
    READ = "See what came of it"
    STEER = "Steer what runs"
    CHECK = "Check it, and decide yourself"
    RUN = "Run the parts"
    HELP = "Help"


@dataclass(frozen=True)
class Listed:
    """A command, or a group of commands, in the list."""

    name: str
    module: str  # in this folder
    theme: Theme
    summary: str


# Module and command, in display order: single commands before groups.
_SUMMARIES: dict[Theme, dict[str, str]] = {
    Theme.ASK: {
        "submit screen": "Screen records against a review's criteria: include, exclude or uncertain, with reasons.",
        "submit filter": "Ask one yes/no question of every record.",
        "submit score": "Rate every record on a scale.",
        "submit extract": "Extract one value from every record; nothing where a record does not hold it.",
        "submit fields": "Extract several fields, as a JSON Schema describes them, from every record.",
        "submit answer": "Generate an answer, evaluate it, and refine it until it is good enough.",
        "judge judge": "Judge the reasoning of each result of a finished batch against its record, as a batch of its "
        "own.",
        "initial_filter initial-filter": "Say which records tier 1 rejects, by which rule, before anything is asked "
        "of a model.",
        "duplicates duplicates": "Say which records are copies of each other and which may be, each pair with its "
        "reason.",
        "criteria criteria": "Begin a file of criteria, and see how one is understood.",
        "review review": "Run a review after a plan, stage by stage.",
    },
    Theme.READ: {
        "status batches": "List the latest batches, and below them the calls of services in the last day.",
        "status status": "Say how a batch stands; without an ID, which workers there are and which batches are open.",
        "read results": "Write every item of a batch in its order, with its result.",
        "read export": "Write the records back, each with its decision, as reference managers read them.",
        "report report": "Write a report: PRISMA 2020 flow, figures, every decision with its reasons, and methods.",
    },
    Theme.STEER: {
        "control pause": "Begin no further item; calls in flight are finished, and `tamis resume` goes on.",
        "control resume": "Go on with what was paused; with a new budget where the old one is used up.",
        "control cancel": "End it: what has not begun is cancelled; calls in flight are finished, and results are "
        "kept.",
        "control priority": "Put it before, or behind, other batches; effective on all workers within seconds.",
        "retry retry": "Ask about the failed items of a batch once more, in a new round; nothing that is decided "
        "changes.",
        "retry failures": "Say what failed in each round of a batch, and whether it depends on length, year or "
        "neighbours.",
    },
    Theme.CHECK: {
        "explain explain": "Tell everything about one record: prompts as sent, answers, quotes, rules and formulas, "
        "people, and the bill.",
        "evaluate evaluate": "Compare the decisions of a batch with a human's labels: rates, lost evidence, "
        "calibration, agreement.",
        "evaluate calibrate": "Find, from a labelled random sample, the score from which on records are kept, with a "
        "guaranteed recall.",
        "reading next": "List the records to read next, best first: by the model's score, and by texts like "
        "those included so far.",
        "override override": "Decide about a record yourself. The model's result stays, beside yours; reports and "
        "exports follow yours.",
        "override overrides": "List what people decided about a batch's records.",
        "label label": "Put a label on records, beside every decision; `tamis results --label` finds them again.",
        "label note": "Write a note on a record, beside every decision; results and exports hold it.",
        "label labels": "List the labels on a batch's records, and how many bear each.",
        "import_decisions import-decisions": "Record what people decided elsewhere. Records are found by id, DOI, "
        "PMID and title; others are listed.",
        "blind blind": "Have people read a batch blind over HTTP: in pairs, beside the model, or a sample of "
        "exclusions.",
        "override conflicts": "List the records on which people decided differently, with who said what and why, and "
        "the model's decision.",
        "agreement agreement": "Say how far the software agrees with the people who decided about the same records, "
        "and they among themselves.",
        "pilot pilot": "Draw a random sample of the records, as a table that a human labels for `tamis calibrate` and "
        "`evaluate`.",
        "reading stop": "Say whether you may stop reading, with a promise that can be checked, and what it costs.",
        "audit audit": "Have a human judge a random sample of what was excluded. `tamis audit ID` draws one.",
    },
    Theme.RUN: {
        "stack up": "Run the whole stack here, in the foreground: Postgres, Redis, workers, page, and an LLM if none "
        "is named.",
        "stack demo": "Screen 24 fictional citations in a temporary folder, with recorded answers: needs no key, "
        "model or server.",
        "stack flower": "Run Flower, the window on the queue: read-only, behind a password, its history kept in "
        "TAMIS_HOME.",
        "worker worker": "Run one worker process against the servers that the environment names.",
        "worker health": "Say whether a worker on this machine works, for probes: exit code 0 where it does, 1 where "
        "it does not.",
        "doctor doctor": "Examine servers, tables, LLM, clocks and workers, and say how to mend what is wrong.",
        "migrate migrate": "Create the ledger's tables, or bring them up to this release; then say who may do what "
        "with them.",
        "status workers": "List the workers that are there: what each does, and why, where it does nothing.",
        "purge purge": "Delete finished batches and reviews and everything that belongs to them; with --archive "
        "psql can restore them.",
        "serve serve": "Answer HTTP requests: the gateway, in the foreground, until Ctrl-C.",
        "serve keys": "Keys of the HTTP gateway.",
        "webhooks webhooks": "What was told to whom by webhooks, and tell it again.",
    },
    Theme.HELP: {
        "manual help": "Show the page of a command, with examples; without one, all commands. `exit-codes` is a page, "
        "too.",
        "manual completion": "Print the script with which your shell completes commands, options and choices. It "
        "changes no file of yours.",
    },
}

COMMANDS = tuple(
    Listed(name, module, theme, summary)
    for theme, summaries in _SUMMARIES.items()
    for key, summary in summaries.items()
    for module, _, name in (key.partition(" "),)
)
