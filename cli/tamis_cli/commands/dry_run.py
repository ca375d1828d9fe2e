"""`--dry-run`: the questions and cost of a batch, shown without submitting it."""

from dataclasses import asdict, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from tamis_producer import ProducerSettings
from tamis_producer.runs.dry_run import PanelRehearsal, Planned, Rehearsal
from tamis_producer.submission.bounds import SubmissionBounds
from tamis_producer.submission.new_batch import parameters, rows_of
from tamis_schemas import dollars
from tamis_schemas.extras import needs
from tamis_schemas.values.printable import printable, printable_line
from tamis_worker.config.settings import WorkerSettings

from .app import out
from .json_document import print_json
from .tables import facts_by_name


def dry_run(
    planned: Planned, *, max_cost: Decimal | None = None, note: str | None = None, as_json: bool = False
) -> None:
    """Print the questions and the cost of a planned batch, without submitting it.

    `note`: a text printed before the figures. Raises the errors that submitting the batch would raise.
    """
    if as_json:
        print_json({"dry_run": True, **rehearsal_facts(planned, max_cost)})
        return
    together = PanelRehearsal.of(planned, rehearsed)
    for place, rehearsal in enumerate(together.models):
        shown = replace(rehearsal, samples=()) if place else rehearsal  # every model gets the same prompts
        show(shown, out, max_cost=None if together.policy else max_cost, note=note)
    if together.policy:
        _show_panel(together, max_cost)


def rehearsal_facts(planned: Planned, max_cost: Decimal | None = None) -> dict[str, Any]:
    """Return the questions and the cost of a planned batch as a dict for JSON.

    For a panel, the dict has the figures of each model, and their sums. Raises the errors that submitting the batch
    would raise.
    """
    together = PanelRehearsal.of(planned, rehearsed)
    models = [{**asdict(rehearsal), "calls": rehearsal.calls} for rehearsal in together.models]
    if together.policy is None:
        return models[0] | {"max_cost": max_cost}
    sums = {"calls": together.calls, "cost": together.cost, "most_cost": together.most_cost, "max_cost": max_cost}
    return {"panel": models, "policy": together.policy, **sums}


def rehearsed(planned: Planned) -> Rehearsal:
    """Return the questions and the cost of a planned batch.

    Raises `ConfigurationError` if the extra `worker`, which renders prompts, is not installed. Also raises the errors
    that submitting the batch would raise.
    """
    with needs("worker"):
        from ..dry_run.first_questions import rehearse
    if planned.items:  # these calls raise the errors that submitting the batch would raise
        bounds = SubmissionBounds.of(ProducerSettings.load())
        parameters(planned.operation, bounds=bounds)
        rows_of(planned.items, bounds=bounds, operations=[planned.operation])
    return rehearse(planned, WorkerSettings.load())


def show(rehearsal: Rehearsal, console: Console, *, max_cost: Decimal | None = None, note: str | None = None) -> None:
    """Print the rehearsal's sample prompts, then `note`, then the expected calls, tokens, cost and time."""
    system = None  # the system message, shown again only when it changes
    for number, sample in enumerate(rehearsal.samples, 1):
        place = f"prompt {number} of {len(rehearsal.samples)}"
        name = f"{sample.title} ({sample.item_id})" if sample.title else sample.item_id
        console.rule(f"[bold]{place}[/]: {escape(printable_line(name))}", style="dim", align="left")
        for message in sample.messages:
            if message.role == "system":
                if message.content == system:
                    console.print("[dim]system: as above[/]")
                    continue
                system = message.content
            console.print(f"[dim]{message.role}[/]")
            console.print(Padding(Text(printable(message.content)), (0, 0, 1, 2), expand=False))
    console.rule("[bold]dry run: nothing was submitted[/]", style="dim")
    if note:
        console.print(f"[dim]{escape(note)}[/]")
    console.print(facts_by_name(_figures(rehearsal, max_cost).items()))


def _show_panel(panel: PanelRehearsal, max_cost: Decimal | None) -> None:
    """Print the calls and the cost of all models of a panel together."""
    rows = {"policy": str(panel.policy), "calls": f"{panel.calls:,}"}
    if panel.cost is None or panel.most_cost is None:
        rows["cost"] = "[yellow]unknown[/], because the price of a model is unknown: see above"
    else:
        rows["cost"] = f"[bold]about {dollars(panel.cost)}[/], at most {dollars(panel.most_cost)}"
        if max_cost is not None:
            rows["budget"] = _budget(max_cost, panel.cost)
    out.rule(f"[bold]the panel of {len(panel.models)} models together[/]", style="dim")
    out.print(facts_by_name(rows.items()))


def _figures(rehearsal: Rehearsal, max_cost: Decimal | None) -> dict[str, str]:
    rows = {"model": _model(rehearsal), "records": f"{rehearsal.items:,}"}
    if rehearsal.unasked:
        rows["records"] += f", {rehearsal.unasked:,} without a question"
    if rehearsal.unseen is not None:
        rows["cache"] = f"[yellow]not checked[/]: {escape(rehearsal.unseen)}"
    elif rehearsal.cached:
        rows["cache"] = f"{rehearsal.cached:,} of {rehearsal.questions:,} questions are already answered, at no cost"
    further = " in the first round; later rounds depend on the answers" if rehearsal.more_rounds else ""
    rows["calls"] = f"{rehearsal.calls:,}{further}"
    rows["tokens"] = (
        f"about {rehearsal.prompt_tokens:,} in prompts and {rehearsal.answer_tokens:,} in answers "
        f"[dim]({rehearsal.basis}; at most {rehearsal.most_answer_tokens:,})[/]"
    )
    if rehearsal.beginning is not None:
        rows["shared"] = rehearsal.beginning.words
    rows["cost"] = _cost(rehearsal)
    for tier, cost in rehearsal.other_tiers.items():
        rows[f"at {tier}"] = f"about {dollars(cost)} [dim]with --tier {tier}[/]"
    if max_cost is not None and rehearsal.cost is not None:
        rows["budget"] = _budget(max_cost, rehearsal.cost)
    seconds = rehearsal.duration.seconds
    clock = "under a second" if seconds < 1 else f"{timedelta(seconds=round(seconds))}"
    rows["time"] = f"{clock} at {rehearsal.duration.bound}"
    price = rehearsal.price
    saved = price is not None and price.cached_input is not None and price.cached_input < price.input
    prompt_cache = "; savings by the endpoint's prompt cache" if saved else ""
    rows["uncounted"] = f"[dim]retries and repairs of unusable answers{prompt_cache}[/]"
    return rows


def _model(rehearsal: Rehearsal) -> str:
    name = "[yellow]unknown here[/]" if rehearsal.model is None else escape(rehearsal.model)
    return name if rehearsal.model_note is None else f"{name} [dim]({escape(rehearsal.model_note)})[/]"


def _cost(rehearsal: Rehearsal) -> str:
    if rehearsal.cost is None or rehearsal.most_cost is None or rehearsal.price is None:
        if rehearsal.model is None:
            return "[yellow]unknown[/], because the model is unknown"
        at_tier = "" if rehearsal.tier is None else f" at the tier {escape(rehearsal.tier)}"
        return f"[yellow]price unknown[/]{at_tier}: put the model's price in a file, and set TAMIS_PRICES to that file"
    at_tier = "" if rehearsal.tier is None else f" at {escape(rehearsal.tier)}"
    return (
        f"[bold]about {dollars(rehearsal.cost)}[/]{at_tier}, at most {dollars(rehearsal.most_cost)} "
        f"[dim]({dollars(rehearsal.price.input)} for prompts and {dollars(rehearsal.price.output)} for answers, per "
        "million tokens)[/]"
    )


def _budget(max_cost: Decimal, cost: Decimal) -> str:
    if cost <= max_cost:
        return f"{dollars(max_cost)} is probably enough"
    return f"[yellow]{dollars(max_cost)} covers about {max_cost / cost:.0%} of the cost[/]; then the batch pauses"
