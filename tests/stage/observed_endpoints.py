"""Endpoints with odd habits, grouped as in docs/endpoints.md, and the end of their batches.

An endpoint without a source is known from the error messages of its maker, not from an issue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_double.personalities.observed import EVERY, When
from llm_double.personalities.personality import Personality
from tamis_schemas import ErrorKind, PauseKind

from .endpoint_table import Cell, Row

BEGINS, ENDS = "<!-- observed -->\n", "<!-- end of observed -->\n"  # of the recorded tables

ITEMS = 4  # of one batch; a habit of some records concerns the last of them
ITEMS_OF_USELESS = 30  # more than the unusable answers and the failures after which a batch is paused
CALLS = 4  # for each question, at most, with the refused calls and the probes
REFUSED = 10  # calls, at most, before a pause that needs no answer
UNUSABLE = 25  # calls, at most, before a pause for unusable answers
FAILED = 55  # calls, at most, before a pause for failed items: two for each, and those that were under way


@dataclass(frozen=True)
class End:
    """The end of a batch. Without a kind, all items are decided."""

    fails: ErrorKind | None = None  # of every fourth record
    pause: PauseKind | None = None
    calls: int = 0  # before the pause, at most

    def __str__(self) -> str:
        if self.pause is not None:
            return f"paused: `{self.pause}`"
        return "all decided" if self.fails is None else f"these fail: `{self.fails}`"


def end_of(cell: Cell, items: int) -> str:
    """Return the end of a batch in words."""
    places, kinds = sorted(cell.failures), {*cell.failures.values()}
    if cell.pause is not None:
        return str(End(pause=cell.pause))
    if not kinds and cell.decided == items:
        return str(End())
    if len(kinds) == 1 and places == [*range(EVERY - 1, items, EVERY)] and cell.decided + len(places) == items:
        return str(End(*kinds))
    return f"{cell.decided} of {items} decided; failed: {dict(cell.failures)}"


@dataclass(frozen=True)
class Group:
    """Endpoints that are alike in one way, and the end of every batch with one of them."""

    what: str
    end: End
    rows: Sequence[Row]


def _row(what: str, source: str, habit: str, when: str = When.ALWAYS) -> Row:
    return Row(what, (Personality("observed", habit=habit, when=when),), source=source)


DECIDED = End()
GROUPS = (
    Group(
        "filters some records: status 400, or a finish reason",
        End(ErrorKind.CONTENT_FILTER),
        (
            _row("Azure filters a prompt: 400", "compl-ai/compl-ai#20", "azure_filter", When.SOME),
            _row("LiteLLM wraps Azure's filter: 400", "BerriAI/litellm#16231", "litellm_filter", When.SOME),
            _row("Gemini ends with `SAFETY`, without content", "HKUDS/Vibe-Trading#308", "safety", When.SOME),
            _row(
                "Gemini ends with `RECITATION`, content null",
                "epam/ai-dial-adapter-vertexai#85",
                "recitation",
                When.SOME,
            ),
            _row("ends with `content_filter` after half", "bespokelabsai/curator#261", "filter_cuts", When.SOME),
        ),
    ),
    Group(
        "refuses some records in the field `refusal`",
        End(ErrorKind.REFUSED),
        (_row("`refusal`, content null", "", "refuses", When.SOME),),
    ),
    Group(
        "refuses some records in prose",
        End(ErrorKind.MALFORMED),
        (_row("the content is an apology", "", "refuses_in_prose", When.SOME),),
    ),
    Group(
        "has too small a context for some records, and refuses or cuts them",
        End(ErrorKind.CONTEXT_LENGTH),
        (
            _row("context exceeded: OpenAI's 400", "", "context_openai", When.SOME),
            _row("context exceeded: vLLM's 400", "", "context_vllm", When.SOME),
            _row("context exceeded: llama.cpp's 400", "", "context_llamacpp", When.SOME),
            _row("counts three prompt tokens", "ollama/ollama#17889", "reads_little", When.SOME),
        ),
    ),
    Group(
        "refuses parameters, or fails because of `logprobs`",
        DECIDED,
        (
            _row("Mistral refuses what it does not know: 422", "editor-code-assistant/eca#231", "mistral"),
            _row("the same, with a list as message", "partITech/php-mistral#76", "mistral_list"),
            _row("takes `max_completion_tokens`, no temperature, no `logprobs`", "", "reasoning_model"),
            _row("takes `max_tokens` only", "", "older_server"),
            _row("500 to every request for `logprobs`", "vllm-project/vllm#4149", "logprobs_500"),
            _row("500 to some requests for `logprobs`", "sgl-project/sglang#5984", "logprobs_500", When.SOME),
        ),
    ),
    Group(
        "fails once for some records: no choice or content, 429, 5xx, an error with status 200, a broken connection",
        DECIDED,
        (
            _row("`choices` is null, once", "pydantic/pydantic-ai#6901", "null_choices", When.ONCE),
            _row("`choices` is empty, once", "openai/openai-agents-python#2850", "no_choices", When.ONCE),
            _row("200 with error 502, once", "open-jarvis/OpenJarvis#970", "error_502_in_200", When.ONCE),
            _row("200 with error 429, once", "OpenRouterTeam/openrouter-examples#14", "error_429_in_200", When.ONCE),
            _row("200 with an error in the choice, once", "", "error_in_choice", When.ONCE),
            _row("Ollama loads the model: no content, once", "can1357/oh-my-pi#7465", "loads", When.ONCE),
            _row("content null, no tokens, once", "ollama/ollama#13371", "null_content", When.ONCE),
            _row("Groq's 400 `json_validate_failed`, once", "langchain-ai/langchain#31459", "groq_json", When.ONCE),
            _row("LiteLLM's 500 for a 429, once", "OpenHands/OpenHands#4167", "litellm_500_for_429", When.ONCE),
            _row("vLLM's engine is dead: 500, once", "", "engine_dead", When.ONCE),
            _row("503 with a page, once", "", "unavailable_page", When.ONCE),
            _row("524 with a page, once", "ollama/ollama#3694", "timeout_524", When.ONCE),
            _row("529 overloaded, once", "", "overloaded_529", When.ONCE),
            _row("breaks the connection, once", "", "breaks_the_connection", When.ONCE),
            _row("breaks off in the body, once", "", "breaks_off", When.ONCE),
            _row("429 until a date, once", "", "limited_until_date", When.ONCE),
            _row("429 until a past date, once", "", "limited_until_past_date", When.ONCE),
            _row("429 in a list, as Gemini, once", "glidea/one-balance#12", "limited_in_list", When.ONCE),
        ),
    ),
    Group(
        "cuts some answers once, or calls a whole answer cut",
        DECIDED,
        (
            _row("ends with `MAX_TOKENS` after half, once", "", "cuts", When.ONCE),
            _row("ends with `stop` after half, once", "", "cuts_silently", When.ONCE),
            _row("reasons until the budget ends, once", "omeryasirkucuk/amx#372", "thinks_too_long", When.ONCE),
            _row("ends with `length` after all", "", "calls_it_cut"),
            _row("ends with `length` after all and blanks", "", "blanks_behind"),
        ),
    ),
    Group(
        "sends an odd form: the object encoded twice, or odd bytes or headers",
        DECIDED,
        (
            _row("the object, encoded twice", "", "double_encoded"),
            _row("the content is an object", "", "object"),
            _row("`function_call`, the older field", "", "function_call"),
            _row("the object in `result`", "", "wrapped"),
            _row("a comma behind the last field", "", "trailing_comma"),
            _row("yes and no as words", "", "yes_and_no"),
            _row("an empty thought", "ollama/ollama#8837", "empty_thought"),
            _row("a thought that only closes", "vllm-project/vllm#13125", "unopened_thought"),
            _row("ends with `eos`", "", "other_finish"),
            _row("two choices", "", "two_choices"),
            _row("NaN in the body", "vllm-project/vllm#11073", "nan"),
            _row("a byte order mark", "", "byte_order_mark"),
            _row("Latin-1", "", "latin_1"),
            _row("gzip that nobody accepts", "", "gzip"),
            _row("`text/plain`", "", "plain_text"),
            _row("limits of zero, of no number, and of less than zero", "", "odd_limits"),
            Row("usage in strings", (Personality("usage_absurd", instead="17"),)),
            Row("negative usage", (Personality("usage_absurd", instead=-3),)),
        ),
    ),
    Group(
        "never sends content",
        End(pause=PauseKind.UNUSABLE_ANSWERS, calls=UNUSABLE),
        (
            _row("`choices` is always null", "openai/openai-agents-python#2850", "null_choices"),
            _row("content is always empty", "", "loads"),
            _row("the answer is in `reasoning_content`", "vllm-project/vllm#17349", "answers_in_thought"),
        ),
    ),
    Group(
        "never ends an answer",
        End(pause=PauseKind.FAILURES, calls=FAILED),
        (
            _row("reasons until any budget ends", "nikmcfly/MiroFish-Offline#26", "thinks_too_long"),
            _row("always ends with `stop` after half", "", "cuts_silently"),
        ),
    ),
    Group(
        "sends a page of HTML with status 200",
        End(pause=PauseKind.ENDPOINT, calls=REFUSED),
        (Row("a page to sign in: 200", ("html",)),),
    ),
    Group(
        "has no such model or path",
        End(pause=PauseKind.MODEL_NOT_FOUND, calls=REFUSED),
        (
            _row("no model: OpenAI's 404", "", "no_model_openai"),
            _row("no model: vLLM's 404", "", "no_model_vllm"),
            _row("no model: Ollama's 404", "", "no_model_ollama"),
            _row("no model: OpenRouter's 400", "", "no_model_openrouter"),
            _row("no path: 404 in plain text", "", "no_path"),
        ),
    ),
    Group(
        "has no credits or quota left",
        End(pause=PauseKind.PERMISSION, calls=REFUSED),
        (
            _row("no credits: 402", "", "no_credits"),
            _row("no quota: 429", "", "no_quota"),
        ),
    ),
)
END_OF = {row.what: group.end for group in GROUPS for row in group.rows}
OBSERVED = tuple(row for group in GROUPS for row in group.rows)


def items_for(row: Row) -> int:
    """Return the number of items of a batch with this endpoint."""
    return ITEMS_OF_USELESS if END_OF[row.what].calls > REFUSED else ITEMS


def calls_at_most(row: Row, questions: int = 1) -> int:
    """Return the most calls that a batch with this endpoint may need. `questions`: of each item."""
    return END_OF[row.what].calls or CALLS * items_for(row) * questions


def tables(found: Mapping[str, Mapping[str, Cell]]) -> str:
    """Return the recorded tables. An endpoint that was not asked has the end of its group."""
    lines: list[str] = []
    for group in GROUPS:
        calls = f"{group.end.calls}" if group.end.calls else f"{CALLS} for each question"
        lines += ["", f"## {group.what}", "", f"Calls, at most: {calls}.", "", "| what it does | source | result |"]
        lines.append("|---|---|---|")
        for row in group.rows:
            ends = sorted({end_of(cell, items_for(row)) for cell in found[row.what].values()} or {str(group.end)})
            lines.append(f"| {row.what} | {row.source} | {', '.join(ends)} |")
    return "\n".join(lines) + "\n\n"
