"""Findings about the answers to the doctor's questions: their usability, their request format, and their cost."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from statistics import median
from typing import TypeVar

from tamis_schemas import ErrorKind, Prices, Usage, dollars
from tamis_worker.engine.call_accounting import cost_of
from tamis_worker.llm.chat import WITH_SCHEMA, CallError, ChatAnswer, Rung
from tamis_worker.llm.dialect import NEWER_BUDGET, OLDER_BUDGET
from tamis_worker.llm.prompt_cache import KEY
from tamis_worker.llm.token_probability import PARAMETERS as OF_TOKENS

from .endpoint import ExaminedEndpoint, judge_error
from .finding import Finding, failure, ok, warning
from .interview import AskedQuestion, Call

Key = TypeVar("Key", bound=Hashable)
LONGEST_SHOWN = 120  # characters of an answer
ANY_TIER = frozenset({"auto"})  # names that request no particular tier

# Rung (a kind of request format) -> how requests describe the shape of the answer.
SHAPE_BY_RUNG = {
    Rung.STRICT: "as a strict schema",
    Rung.BOUNDED: "as a strict schema with every bound written out",
    Rung.JSON_OBJECT: "in the messages, with JSON mode",
    Rung.TEXT: "in the messages only",
    Rung.REMINDED: "in the messages, with a reminder at the end",
}

# Parameters sent by default -> how answers change if the parameter is omitted (words for a finding).
OWN = {"temperature": " (the model's default applies, so answers vary)", KEY: "", **dict.fromkeys(OF_TOKENS, "")}

# Errors that even a harmless question can get -> the severity, and the remedy.
OF_ONE_QUESTION = {
    ErrorKind.TRUNCATED: (
        warning,
        "raise TAMIS_MAX_OUTPUT_TOKENS: reasoning counts towards it. Workers ask once more with twice as much",
    ),
    ErrorKind.EMPTY: (failure, "raise TAMIS_MAX_OUTPUT_TOKENS, or name another model in TAMIS_MODEL"),
    ErrorKind.REFUSED: (warning, "the record is harmless: name another model in TAMIS_MODEL"),
    ErrorKind.CONTENT_FILTER: (warning, "the record is harmless: relax the endpoint's filter"),
    ErrorKind.CONTEXT_LENGTH: (failure, "then run `tamis doctor --endpoint` again: records of this length would fail"),
    ErrorKind.TIMEOUT: (
        warning,
        "the endpoint is slow or busy: raise TAMIS_CALL_TIMEOUT, or lower TAMIS_LIMIT_CONCURRENCY",
    ),
}


def judge_answers(endpoint: ExaminedEndpoint, questions: Sequence[AskedQuestion]) -> list[Finding]:
    """Return the findings about the answers, and about the questions without an answer."""
    findings = [*_used(questions), *_unusable(questions), *_unanswered(endpoint, questions)]
    answers = [call for question in questions for call in question.calls if isinstance(call.reply, ChatAnswer)]
    if not answers:
        return findings
    return [
        *findings,
        *_shape(questions),
        *_parameters(questions, answers),
        *_probabilities(questions),
        _model(endpoint, answers),
        _limits(questions),
    ]


def _used(questions: Iterable[AskedQuestion]) -> Iterator[Finding]:
    read = [question for question in questions if question.last.read]
    if read:
        took = median(question.last.reply.latency_ms for question in read)
        which = "the answer is" if len(read) == 1 else "the answers are"
        seconds = f"{took / 1000:.1f} s" if took >= 100 else f"{took:.0f} ms"
        yield ok("answers", f"{_named(read)}: {which} usable; {seconds} per call")


def _unusable(questions: Iterable[AskedQuestion]) -> Iterator[Finding]:
    """Yield a finding for each reason why answers are unusable, with the first answer as an example."""
    for problem, same in _alike(questions, lambda call: call.problem).items():
        first = same[0].last.reply
        content = " ".join(first.content.split()) if isinstance(first, ChatAnswer) else ""
        shown = content if len(content) <= LONGEST_SHOWN else f"{content[: LONGEST_SHOWN - 3]}..."
        what = f"{_named(same)}: unusable answer: {problem}; the answer to {same[0].operation}: {shown!r}"
        mend = "name another model in TAMIS_MODEL: this one does not follow the schema in any form"
        yield failure("answers", what, mend)


def _unanswered(endpoint: ExaminedEndpoint, questions: Sequence[AskedQuestion]) -> Iterator[Finding]:
    """Yield a finding for each kind of error that ended questions."""
    alike = _alike(questions, lambda call: call.reply.kind if isinstance(call.reply, CallError) else None)
    answers = any(isinstance(question.last.reply, ChatAnswer) for question in questions)
    for kind, same in alike.items():
        error = same[0].last.reply
        assert isinstance(error, CallError)  # noqa: S101 - only errors have a kind
        if kind in OF_ONE_QUESTION and (answers or kind is not ErrorKind.TIMEOUT):
            level, mend = OF_ONE_QUESTION[kind]
            yield level("answers", f"{_named(same)}: {error.message}", mend)
        else:
            yield judge_error(endpoint, error)


def _alike(questions: Iterable[AskedQuestion], key: Callable[[Call], Key | None]) -> dict[Key, list[AskedQuestion]]:
    """Return the questions, grouped by the `key` of their last call. Omit questions whose key is None."""
    groups: dict[Key, list[AskedQuestion]] = defaultdict(list)
    for question in questions:
        if (value := key(question.last)) is not None:
            groups[value].append(question)
    return groups


def _shape(questions: Sequence[AskedQuestion]) -> Iterator[Finding]:
    by_rung = _alike(questions, lambda call: call.dialect.rung if call.read else None)
    for rung, same in by_rung.items():
        text = f"requests describe the answer {SHAPE_BY_RUNG[rung]} ({rung})"
        if len(by_rung) > 1:
            text = f"{_named(same)}: {text}"
        wasted = [call for question in same for call in question.calls[:-1]]
        finding_out = f"; learning this took {len(wasted)} call{'' if len(wasted) == 1 else 's'}" if wasted else ""
        if rung in WITH_SCHEMA:
            yield ok("shape", f"{text}, and answers follow it{finding_out}")
        elif any(call.dialect.rung in WITH_SCHEMA for call in wasted):
            mend = "no action needed: workers do the same. With an enforced schema, fewer answers are unusable"
            yield warning("shape", f"the endpoint accepts a schema but does not enforce it: {text}{finding_out}", mend)
        else:
            yield ok("shape", f"{text}: the endpoint refuses strict schemas, at no cost{finding_out}")


def _parameters(questions: Iterable[AskedQuestion], answers: Sequence[Call]) -> Iterator[Finding]:
    budget = answers[-1].dialect.budget
    refused = {name for call in answers for name in call.dialect.left_out}
    taken = sorted({name for question in questions for name in question.optional} - refused)
    text = f"accepted: {', '.join((budget, *taken))}"
    without = [*([OLDER_BUDGET] if budget == NEWER_BUDGET else []), *sorted(refused & set(OWN))]
    if without:
        text += f"; refused, so omitted: {', '.join(name + OWN.get(name, '') for name in without)}"
    yield ok("parameters", text)
    for name in sorted(refused - set(OWN)):
        mend = "remove it from the settings, or name an endpoint and a model that accept it"
        yield warning("parameters", f"the endpoint refuses {name}: it is omitted and has no effect", mend)


def _probabilities(questions: Iterable[AskedQuestion]) -> Iterator[Finding]:
    """Yield the finding about token probabilities, if a usable decision was requested with token probabilities."""
    deciding = [entry for entry in questions if entry.last.read and entry.decision and OF_TOKENS[0] in entry.optional]
    if not deciding:
        return
    weighed = [entry for entry in deciding if entry.probability is not None]
    if weighed:
        yield ok("probability", f"{_named(weighed)}: the answer's tokens give the probability of the decision")
        return
    refused = any(OF_TOKENS[0] in entry.last.dialect.left_out for entry in deciding)
    came = any(isinstance(entry.last.reply, ChatAnswer) and entry.last.reply.tokens for entry in deciding)
    why = "the endpoint refuses them" if refused else "they are unusable" if came else "the endpoint sends none"
    yield ok("probability", f"no token probabilities: {why}; records are ordered by confidence or grade (--graded)")


def _model(endpoint: ExaminedEndpoint, answers: Sequence[Call]) -> Finding:
    names = sorted({call.reply.model for call in answers if isinstance(call.reply, ChatAnswer)})
    if names == [""]:
        return warning("model", "the answers name no model", "no action needed; results cannot name the model")
    others = [name for name in names if not _is_of(endpoint.model, name)]
    if others:
        what = f"{endpoint.model} was requested, but {', '.join(others)} answers"
        return warning("model", what, "check the endpoint's model names: costs use the price of the requested model")
    under = "under this name" if names == [endpoint.model] else f"as {', '.join(names)}"
    return ok("model", f"{endpoint.model} answers {under}")


def _is_of(model: str, answering: str) -> bool:
    """Return whether the names `model` and `answering` can mean the same model.

    In both names, a provider or folder before the last `/` is ignored, and so is a tag or date at the end.
    """
    short, named = model.rpartition("/")[2].lower(), answering.rpartition("/")[2].lower()
    return named == short or named.startswith((f"{short}-", f"{short}:", f"{short}@")) or short.startswith(f"{named}:")


def _limits(questions: Iterable[AskedQuestion]) -> Finding:
    rates = [call.reply.rate for question in questions for call in question.calls if call.reply.rate is not None]
    if not rates:
        return ok("limits", "the endpoint reports no limits: TAMIS_LIMIT_* apply")
    latest = rates[-1]
    parts = [
        f"{limit:,} {of}"
        for limit, of in ((latest.limit_requests, "requests"), (latest.limit_tokens, "tokens"))
        if limit is not None
    ]
    return ok("limits", f"workers obey the endpoint's limits: {' and '.join(parts) or 'it reports only the rest'}")


def _named(questions: Iterable[AskedQuestion]) -> str:
    return ", ".join(question.operation for question in questions)


def judge_bill(model: str, questions: Sequence[AskedQuestion], prices: Prices) -> list[Finding]:
    """Return the findings about the cost of these questions; empty if no call is billed."""
    calls = [call for question in questions for call in question.calls]
    paid = [call for call in calls if isinstance(call.reply, ChatAnswer) or call.reply.usage != Usage()]
    return [*_bill(model, questions, paid, prices), *_uncounted(paid), *_other_tier(questions)] if paid else []


def _bill(model: str, questions: Sequence[AskedQuestion], paid: Sequence[Call], prices: Prices) -> Iterator[Finding]:
    counted = _counted(paid)
    calls = f"{len(paid)} call{'' if len(paid) == 1 else 's'}"
    cost = _sum(model, paid, prices)
    if cost is not None:
        lost = _sum(model, [call for question in questions for call in question.calls[:-1] if call in paid], prices)
        finding_out = f", {dollars(lost)} of it to learn the format" if lost else ""
        yield ok("bill", f"{calls} cost {dollars(cost)}{finding_out}: {counted}")
    elif prices.knows(model):
        yield ok("bill", f"{calls}: {counted}")
    else:
        mend = "put its price in a file, and name the file in TAMIS_PRICES: bills and budgets need a price"
        yield warning("bill", f"{calls}: {counted}; the price of {model} is unknown", mend)


def _counted(paid: Sequence[Call]) -> str:
    usage = sum((call.reply.usage for call in paid), Usage())
    tiers = sorted({call.reply.tier for call in paid if call.reply.tier})
    counts = (
        (usage.prompt_tokens, "tokens in"),
        (usage.cached_tokens, "of them read from a prefix cache"),
        (usage.cache_write_tokens, "written to it"),
        (usage.completion_tokens, "tokens out"),
        (usage.reasoning_tokens, "of them reasoning"),
    )
    parts = [f"{tokens:,} {of}" for tokens, of in counts if tokens] + [f"tier {tier}" for tier in tiers]
    return ", ".join(parts) or "no token counts"


def _uncounted(paid: Sequence[Call]) -> Iterator[Finding]:
    blank = [call for call in paid if not call.reply.usage.total_tokens]
    if blank:
        what = f"{len(blank)} of {len(paid)} answers report no token counts"
        yield warning("bill", what, "make the endpoint report `usage`: otherwise costs and token limits are estimates")


def _other_tier(questions: Sequence[AskedQuestion]) -> Iterator[Finding]:
    wanted = {
        str(question.optional["service_tier"]) for question in questions if "service_tier" in question.optional
    } - ANY_TIER
    others = {call.reply.tier for question in questions for call in question.calls if call.reply.tier} - wanted
    if wanted and others:
        what = f"tier {', '.join(sorted(wanted))} was requested, but {', '.join(sorted(others))} is billed"
        yield warning("bill", what, "check if the model and the account have the tier: the answer's tier is billed")


def _sum(model: str, calls: Sequence[Call], prices: Prices) -> Decimal | None:
    costs = [cost_of(prices, model, call.reply) for call in calls]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))
