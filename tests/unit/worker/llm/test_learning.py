"""What the client learns from answers: its way down the rungs, over the real `openai` client and a scripted server."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx2
import pytest

from tamis_schemas import ErrorKind
from tamis_worker.llm.chat import LOWEST, CallError, ChatAnswer, ChatRequest, Message, Reply, Rung
from tamis_worker.llm.dialect import FEW, RungState
from tamis_worker.llm.dialect_store import MemoryDialects
from tamis_worker.llm.lean_client import LeanClient
from tamis_worker.llm.llm import LearnResult, LlmClient
from tamis_worker.llm.shared_dialects import SharedDialects

URL, KEY = "http://llm/v1", "sk-secret-1234567890"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"confidence": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["confidence"],
    "additionalProperties": False,
}
GOOD, OUT = '{"confidence": 0.5}', '{"confidence": 95}'
Body: TypeAlias = dict[str, Any]


def question(schema_name: str = "filter") -> ChatRequest:
    return ChatRequest("m", (Message("user", "Is it?"),), schema_name, SCHEMA, 0.0, 100)


def rung_of(body: Body) -> Rung:
    """The rung on which a request was made."""
    told = body.get("response_format", {"type": None})
    match told["type"]:
        case "json_schema":
            return Rung.BOUNDED if "enum" in json.dumps(told) else Rung.STRICT
        case "json_object":
            return Rung.JSON_OBJECT
    return Rung.REMINDED if "Answer now" in body["messages"][-1]["content"] else Rung.TEXT


@dataclass
class Server:
    """Answers with a content, or with a status that is none of success."""

    answer: Callable[[Rung, Body], str | int | None]
    name: str = "uvicorn"
    refused: str = "response_format"
    asked: list[Rung] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        rung = rung_of(body)
        self.asked.append(rung)
        answer = self.answer(rung, body)
        if isinstance(answer, int):
            return httpx2.Response(answer, json={"error": {"message": f"{self.refused} is not supported"}})
        message = {"role": "assistant", "content": answer}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return httpx2.Response(200, json={"model": "m", "choices": choices}, headers={"Server": self.name})


def client(server: Server, store: MemoryDialects | None = None, dialects: SharedDialects | None = None) -> LlmClient:
    dialects = dialects or SharedDialects(store or MemoryDialects(), hopeless_after=3)
    llm = LlmClient(URL, KEY, timeout=5.0, connections=1, dialects=dialects)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(server))
    llm._client = LeanClient(base_url=URL, api_key=KEY, timeout=httpx2.Timeout(5.0), http=http, max_bytes=10_000)
    return llm


async def asked(llm: LlmClient, request: ChatRequest | None = None) -> tuple[Reply, LearnResult]:
    """One call, and what was learned from it; the operation takes nothing but a confidence from 0 to 1."""
    request = request or question()
    reply = await llm.ask(request)
    usable = isinstance(reply, ChatAnswer) and reply.content == GOOD
    return reply, await llm.learn(request, reply, usable=usable)


async def test_an_answer_says_on_which_rung_it_was_asked_for() -> None:
    llm = client(Server(lambda rung, _: GOOD if rung is Rung.TEXT else 400))
    reply, learnt = await asked(llm)
    assert isinstance(reply, ChatAnswer)
    assert (reply.rung, learnt) == (Rung.TEXT, LearnResult())


@pytest.mark.parametrize("content", ["Sure: yes.", "{}", '{"confidence": "high"}', "", None])
async def test_another_shape_or_nothing_at_all_is_asked_for_anew_one_rung_down(content: str | None) -> None:
    server = Server(lambda rung, _: content if rung is Rung.STRICT else GOOD)
    llm = client(server)
    assert (await asked(llm))[1] == LearnResult(ask_again=True)
    assert (await asked(llm))[1] == LearnResult()
    assert server.asked == [Rung.STRICT, Rung.JSON_OBJECT]


async def test_a_value_out_of_bounds_is_asked_for_with_the_long_form() -> None:
    server = Server(lambda rung, _: OUT if rung is Rung.STRICT else GOOD)
    llm = client(server)
    assert (await asked(llm))[1] == LearnResult(ask_again=True)
    await asked(llm)
    assert server.asked == [Rung.STRICT, Rung.BOUNDED]


async def test_where_the_long_form_is_refused_the_short_one_stays_and_the_repair_has_to_do() -> None:
    server = Server(lambda rung, _: 400 if rung is Rung.BOUNDED else OUT)
    llm = client(server)
    for _ in range(3):
        await asked(llm)
    assert server.asked == [Rung.STRICT, Rung.BOUNDED, Rung.STRICT, Rung.STRICT]
    assert (await asked(llm))[1] == LearnResult()


async def test_a_server_that_compiles_grammars_gets_the_long_form_after_its_first_answer() -> None:
    server = Server(lambda *_: GOOD, name="llama.cpp")
    llm = client(server)
    for _ in range(3):
        await asked(llm)
    assert server.asked == [Rung.STRICT, Rung.BOUNDED, Rung.BOUNDED]


async def test_once_proven_an_answer_without_content_teaches_nothing() -> None:
    replies = iter([GOOD, "", "", "", GOOD])
    server = Server(lambda *_: next(replies))
    llm = client(server)
    for _ in range(5):
        assert (await asked(llm))[1] == LearnResult()
    assert set(server.asked) == {Rung.STRICT}


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_an_error_teaches_nothing(status: int) -> None:
    server = Server(lambda *_: status)
    llm = client(server)
    reply, learnt = await asked(llm)
    assert isinstance(reply, CallError)
    await asked(llm)
    assert (learnt, server.asked) == (LearnResult(), [Rung.STRICT] * 2)


async def test_a_schema_that_is_refused_where_others_are_answered_goes_down_alone() -> None:
    def answer(rung: Rung, body: Body) -> str | int:
        name = body.get("response_format", {}).get("json_schema", {}).get("name")
        if name == "odd":
            return 400
        return GOOD if rung in (Rung.STRICT, Rung.TEXT) else "no JSON"

    store = MemoryDialects()
    server = Server(answer)
    llm = client(server, store)
    await asked(llm)
    for _ in range(FEW + 1):
        await asked(llm, question("odd"))
    await asked(llm)
    # refused; bad so often that it is no glitch; then for itself on the next rung
    odd = [Rung.STRICT, *[Rung.JSON_OBJECT] * FEW, Rung.TEXT]
    assert server.asked == [Rung.STRICT, *odd, Rung.STRICT]
    assert await store.look("m") == RungState(Rung.STRICT, proven=True)


async def test_what_answers_have_taught_is_not_kept_with_what_was_refused() -> None:
    """Else the rung could never rise again."""
    store = MemoryDialects()
    server = Server(lambda _, body: 400 if "temperature" in body else GOOD, refused="temperature")
    low, high = RungState(Rung.TEXT, proven=True), RungState(proven=True)
    await store.exchange("m", RungState(), low)
    dialects = SharedDialects(store)
    llm = client(server, dialects=dialects)
    for _ in range(2):
        with llm.dialect_turn(question()) as turn:
            await turn.wait()
            await asked(llm)
        await dialects.change("m", high)
    assert server.asked == [Rung.TEXT, Rung.TEXT, Rung.STRICT]


async def test_a_model_of_no_use_is_told_with_an_answer_that_is_short_printable_and_without_secrets() -> None:
    store = MemoryDialects()
    await store.exchange("m", RungState(), RungState(LOWEST))
    llm = client(Server(lambda *_: f"No\x1b[2J: {KEY} " + "x" * 1_000), store)
    with llm.dialect_turn(question()) as turn:
        await turn.wait()  # the ledger is looked at
    told = [(await asked(llm))[1].hopeless for _ in range(3)]
    assert told[:2] == [None, None]
    assert told[2] is not None
    assert told[2].startswith("3 answers of m in a row were unusable, and none before was usable; the last: 'No")
    assert KEY not in told[2]
    assert "\x1b" not in told[2]
    assert len(told[2]) < 300


async def test_a_step_is_taken_by_every_client_of_the_endpoint() -> None:
    store = MemoryDialects()
    server = Server(lambda rung, _: GOOD if rung is LOWEST else "talk")
    one, other = client(server, store), client(server, store)

    async def decided(llm: LlmClient) -> None:
        for _ in range(5):
            with llm.dialect_turn(question()) as turn:
                await turn.wait()
                reply, _ = await asked(llm)
            if isinstance(reply, ChatAnswer) and reply.content == GOOD:
                return
        raise AssertionError("not decided")

    await asyncio.gather(*(decided(llm) for llm in (one, other) for _ in range(20)))
    assert server.asked == [Rung.STRICT, Rung.JSON_OBJECT, Rung.TEXT, *[LOWEST] * 40]


@pytest.mark.parametrize(("compiles_grammars", "rung"), [(True, Rung.BOUNDED), (False, Rung.STRICT)])
async def test_a_server_that_compiles_grammars_is_told_of_every_bound_once_an_answer_was_cut_off(
    compiles_grammars: bool, rung: Rung
) -> None:
    """Its model rambles where the grammar sets no longest length; with any other server the budget may be too small."""
    dialects = SharedDialects()
    llm = LlmClient(URL, KEY, timeout=1.0, connections=1, dialects=dialects, compiles_grammars=compiles_grammars)
    cut = CallError(ErrorKind.TRUNCATED, "cut off", 200, rung=Rung.STRICT)
    assert (await llm.learn(question(), cut, usable=False)).ask_again is compiles_grammars
    assert dialects.rung_state("m").rung is rung
    await llm.close()


async def test_a_record_that_the_model_refuses_in_prose_lowers_no_proven_rung() -> None:
    prose = iter([GOOD, *["I cannot judge this record."] * 40, GOOD])
    server = Server(lambda rung, body: next(prose))
    llm = client(server)
    for _ in range(42):
        await asked(llm)
    assert server.asked == [Rung.STRICT] * 42
