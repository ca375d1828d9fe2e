"""A server that keeps whatever it is sent, as it came, and answers as an endpoint does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Listener:
    """Keeps whatever it is sent; points to somewhere else, once for each place that it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []  # each request: its line, its headers and its body
        self.points: list[tuple[int, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.heard.append(f"{self.command} {self.path}\n{self.headers}\n{body!r}")
                if outer.points:
                    status, place = outer.points.pop(0)
                    self.answer(status, b"", ("Location", place))
                else:
                    answer = {"choices": [{"message": {"content": "{}"}}]}
                    self.answer(200, json.dumps(answer).encode(), ("Content-Type", "application/json"))

            do_GET = do_POST  # noqa: N815 - the name is the base class's

            def answer(self, status: int, body: bytes, header: tuple[str, str]) -> None:
                self.send_response(status)
                self.send_header(*header)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
