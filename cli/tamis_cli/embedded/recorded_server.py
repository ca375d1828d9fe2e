"""An OpenAI-compatible server of recorded answers, which asks no model.

`python -m tamis_cli.embedded.recorded_server --answers PATH --port PORT`

The server recognises a record by its title in the prompt. An unknown record gets status 400. If the file has a number
`cut_off` for a record, the first `cut_off` answers about this record are truncated. The reported usage is estimated.
"""

import argparse
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

from .ports import HOST

MODEL_NAME = "recorded-answers"
LATENCY = 0.7  # seconds per answer: progress is visible, without a long wait
CHARACTERS_OF_A_TOKEN = 4
Body: TypeAlias = dict[str, Any]
READABLE: dict[str, Body] = {  # response to GET by path
    "/health": {"status": "ok"},
    "/v1/models": {"object": "list", "data": [{"id": MODEL_NAME, "object": "model"}]},
}

_TITLE = re.compile(r"^title: (.+)$", re.MULTILINE)  # the line of a prompt with the title of the record


class Recordings:
    """The recorded answers by the title of a record, and how often each answer was given.

    `rows`: the list in `tamis_review/example/answers.json`.
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = {row["title"]: row for row in rows}
        self._given: Counter[str] = Counter()
        self._counting = threading.Lock()

    def answer(self, prompt: str) -> str | None:
        """Return the answer about the record in a prompt; None if the record is unknown.

        The first `cut_off` answers about a record are truncated.
        """
        title = match[1] if (match := _TITLE.search(prompt)) else ""
        row = self._rows.get(title)
        if row is None:
            return None
        with self._counting:
            self._given[title] += 1
            whole = self._given[title] > row.get("cut_off", 0)
        answer = json.dumps(row["answer"], ensure_ascii=False)
        return answer if whole else answer[: len(answer) // 2]


def completion(recordings: Recordings, request: Any) -> tuple[HTTPStatus, Body]:
    """Return status and body of the response to a chat completion. `request`: the decoded JSON of the request."""
    try:
        prompt = "\n".join(message["content"] for message in request["messages"])
    except (KeyError, TypeError):
        return _error("the request has no messages, or a message is not text")
    content = recordings.answer(prompt)
    if content is None:
        return _error("no answer is recorded for this record: only the records of the example have answers")
    usage = {"prompt_tokens": _tokens(prompt), "completion_tokens": _tokens(content)}
    return HTTPStatus.OK, {
        "id": "recorded",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL_NAME,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": usage | {"total_tokens": sum(usage.values())},
    }


def serve(recordings: Recordings, port: int, *, latency: float = LATENCY) -> ThreadingHTTPServer:
    """Return an HTTP server for 127.0.0.1 that does not run yet. `latency`: seconds before each answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open
        wbufsize = -1  # the headers and the body of a response are sent together

        def do_GET(self) -> None:
            body = READABLE.get(self.path)
            self._send(*(_missing(self.path) if body is None else (HTTPStatus.OK, body)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/v1/chat/completions":
                return self._send(*_missing(self.path))
            try:
                request = json.loads(body)
            except ValueError:
                return self._send(*_error("the request is not JSON"))
            time.sleep(latency)
            return self._send(*completion(recordings, request))

        def _send(self, status: HTTPStatus, body: Body) -> None:
            written = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

    return ThreadingHTTPServer((HOST, port), Handler)


def main(arguments: list[str] | None = None) -> None:
    """Serve the file of answers named in `arguments` (None: the command line) until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tamis_cli.embedded.recorded_server")
    parser.add_argument("--answers", type=Path, required=True, help="the file of the recorded answers")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    recordings = Recordings(json.loads(options.answers.read_text("utf-8")))
    with serve(recordings, options.port) as server:
        server.serve_forever()


def _missing(path: str) -> tuple[HTTPStatus, Body]:
    return _error(f"there is no {path}", HTTPStatus.NOT_FOUND)


def _error(message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> tuple[HTTPStatus, Body]:
    return status, {"error": {"message": message, "type": "invalid_request_error"}}


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_OF_A_TOKEN)


if __name__ == "__main__":
    main()
