"""Whether a call that brought no answer may have been charged: told by the real client against real sockets."""

import socket

import pytest

from llm_double import Double, Fault, Kind
from tamis_schemas import ErrorKind, Usage
from tamis_worker.engine.call_accounting import usage_of
from tamis_worker.llm.llm import CallError, ChatRequest, LlmClient, Message, Reply

QUESTION = ChatRequest("m", (Message("user", "Is it?"),), "filter", {"type": "object", "properties": {}}, None, 100)


async def asked(base_url: str, patience: float = 10.0) -> Reply:
    llm = LlmClient(base_url, "sk-test-1234567890", timeout=patience, connections=4)
    try:
        return await llm.ask(QUESTION)
    finally:
        await llm.close()


async def test_where_nobody_listens_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    reply = await asked(f"http://127.0.0.1:{port}/v1")
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.sent) == (ErrorKind.CONNECTION, False)
    assert usage_of(reply) == Usage()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(Kind.DROPPED), ErrorKind.CONNECTION),
        (Fault(Kind.CUT), ErrorKind.CONNECTION),
        (Fault(Kind.SLOW, delay=20.0), ErrorKind.TIMEOUT),
        (Fault(Kind.NOT_JSON), ErrorKind.SERVER),
    ],
    ids=lambda value: str(value.kind) if isinstance(value, Fault) else "",
)
async def test_a_request_that_got_no_readable_answer_may_be_charged(
    double: Double, fault: Fault, kind: ErrorKind
) -> None:
    double.script(faults=[fault])
    reply = await asked(double.base_url, patience=1.0 if fault.kind is Kind.SLOW else 10.0)
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.sent) == (kind, True)
    assert usage_of(reply) is None


@pytest.mark.parametrize("kind", [Kind.SERVER_ERROR, Kind.RATE_LIMITED, Kind.UNAUTHORIZED, Kind.BAD_GATEWAY])
async def test_an_error_answer_is_not_charged(double: Double, kind: Kind) -> None:
    double.script(faults=[Fault(kind)])
    assert usage_of(await asked(double.base_url)) == Usage()
