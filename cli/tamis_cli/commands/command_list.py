"""The list of commands, each with its module and its line in `tamis --help`. The list imports no command.

To add a command, declare it in a module of this folder with `@app.command(...)`, or a group of commands with
`app.add_typer(...)`. Then add it to the list here: its theme, its module, and the first paragraph of its docstring (for
a group, the help text). Only listed modules are imported, so commands in other modules are not found.
`tests/unit/cli/test_commands.py` compares the list with the declarations.
"""

from dataclasses import dataclass
from enum import StrEnum


class Theme(StrEnum):
    """The subject of a command. The values are the headings of `tamis help`, in this order."""

    ASK = "Ask about records"
    READ = "See progress and results"
    STEER = "Control batches"
    CHECK = "Check and make decisions"
    RUN = "Run servers and workers"
    HELP = "Help"


@dataclass(frozen=True)
class Listed:
    """A row of the list of commands: a command, or a group of commands."""

    name: str
    module: str  # in this folder
    theme: Theme
    summary: str


# The keys are a module and its command, in display order: single commands come before groups.
_SUMMARIES: dict[Theme, dict[str, str]] = {
    Theme.ASK: {
        "submit screen": "Screen records against a review's criteria: include, exclude or uncertain, with reasons.",
        "submit filter": "Ask one yes/no question about every record.",
        "submit score": "Rate every record on a scale.",
        "submit extract": "Extract one value from every record, or nothing if the record does not contain it.",
        "submit fields": "Extract several fields from every record, as described by a JSON Schema.",
        "submit answer": "Generate an answer, evaluate it, and refine it until it is good enough.",
        "judge judge": "Judge the reasoning of each result of a finished batch against its record, in a new batch.",
        "initial_filter initial-filter": "Count the records that each rule of the initial filter (tier 1) rejects. No "
        "model is asked.",
        "duplicates duplicates": "List certain and possible copies among the records, each pair with its reason.",
        "criteria criteria": "Write a template for criteria, or check a file of criteria.",
        "review review": "Run a review from a plan, stage by stage.",
    },
    Theme.READ: {
        "status batches": "List the latest batches, then the service calls of the last day.",
        "status status": "Show the progress of a batch. Without an ID, show workers and open batches.",
        "read results": "Write every item of a batch with its result, in the batch's order.",
        "read export": "Write the records with their decisions, as a file for reference managers.",
        "report report": "Write a report: PRISMA 2020 flow, figures, every decision with its reasons, and methods.",
    },
    Theme.STEER: {
        "control pause": "Pause a batch or review: start no new item, and finish calls in flight. `tamis resume` "
        "continues it.",
        "control resume": "Continue a paused batch or review. If its budget is used up, give a new one.",
        "control cancel": "Cancel the remaining items of a batch or review. Finish calls in flight, and keep all "
        "results.",
        "control priority": "Set the priority of a batch or review. All workers apply it within seconds.",
        "control unblock": "Call a model at once, although its endpoint asked to wait. Workers follow within seconds.",
        "retry retry": "Ask again about the failed items of a batch, in a new round. Decided items do not change.",
        "retry failures": "Show the failures of each round of a batch, and whether they depend on length, year or "
        "neighbours.",
    },
    Theme.CHECK: {
        "explain explain": "Show everything about one record: prompts, answers, quotes, rules, formulas, people's "
        "decisions, costs.",
        "evaluate evaluate": "Compare a batch's decisions with human labels: rates, lost evidence, calibration, "
        "agreement.",
        "evaluate calibrate": "Find the score threshold for a guaranteed recall, from a labelled random sample.",
        "reading next": "List the records to read next, best first: by the model's score, and by similarity to "
        "included records.",
        "override override": "Record your own decision on a record. The model's result is kept; reports and exports "
        "use yours.",
        "override overrides": "List people's decisions on a batch's records.",
        "label label": "Add a label to records. It changes no decision; `tamis results --label` finds the records "
        "again.",
        "label note": "Add a note to a record. It changes no decision; results and exports contain it.",
        "label labels": "List the labels on a batch's records, with the number of records for each.",
        "override copies": "List the pairs of records that may be copies. With two records, call them copies or "
        "different reports.",
        "import_decisions import-decisions": "Import decisions from other tools. Records are matched by id, DOI, PMID "
        "and title; unmatched rows are listed.",
        "blind blind": "Show or set how people read: in pairs, after the model, or as an audit. HTTP and TAMIS_PERSON "
        "hide decisions.",
        "override conflicts": "List the records with contradicting decisions: each reviewer's with its reason, and the "
        "model's.",
        "agreement agreement": "Measure the agreement of the software with people, and of people with each other, on "
        "the same records.",
        "pilot pilot": "Draw a random sample of records, as a table to label for `tamis calibrate` and `tamis "
        "evaluate`.",
        "reading stop": "Show whether you may stop reading with a promised recall, and how many records each promise "
        "costs.",
        "audit audit": "Let a person judge a random sample of excluded records. `tamis audit ID` draws one.",
    },
    Theme.RUN: {
        "stack up": "Run the stack in the foreground: Postgres, Redis, workers, page, and a small LLM if you set none.",
        "stack demo": "Screen 24 fictional citations in a temporary folder. Recorded answers: no key, model or server "
        "is needed.",
        "stack flower": "Run Flower, the monitor of the queue: read-only, with a password, and with its history in "
        "TAMIS_HOME.",
        "worker worker": "Run one worker process, with the servers and the LLM set in your environment.",
        "worker health": "Check whether a worker on this machine works, for probes: exit code 0 if it does, 1 if not.",
        "doctor doctor": "Check servers, tables, LLM, clocks and workers, and show a remedy for each fault.",
        "migrate migrate": "Create or upgrade the ledger's tables, and the roles of workers and gateway if you give "
        "their URLs.",
        "status workers": "List the workers with their states, and the reason if one does nothing.",
        "purge purge": "Delete finished batches and reviews with all their data. With --archive, psql can restore "
        "them.",
        "serve serve": "Run the HTTP gateway in the foreground, until Ctrl-C.",
        "serve keys": "Manage the keys of the HTTP gateway.",
        "webhooks webhooks": "List webhooks, send them again, and test a receiver.",
    },
    Theme.HELP: {
        "manual help": "Show the help of a command with examples, or list all commands. `tamis help exit-codes` "
        "explains exit codes.",
        "manual completion": "Print a script that completes commands, options and choices in your shell. It changes no "
        "file.",
    },
}

COMMANDS = tuple(
    Listed(name, module, theme, summary)
    for theme, summaries in _SUMMARIES.items()
    for key, summary in summaries.items()
    for module, _, name in (key.partition(" "),)
)
