"""The words for network errors, for the texts that the clients write."""

import pytest

from tamis_schemas.values.network_words import network_words

TOO_MANY = "this process has too many open files: raise its limit (`ulimit -n`)"
HERE = "no server listens at 127.0.0.1:6399"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[Errno 111] Connect call failed ('127.0.0.1', 6399)", HERE),
        ("Multiple exceptions: [Errno 111] Connect call failed ('::1', 9, 0, 0)", "no server listens at [::1]:9"),
        (
            "Cannot connect to host llm.example:443 ssl:default [Connect call failed ('10.0.0.7', 443)]",
            "no server listens at llm.example:443",
        ),
        (
            "Cannot connect to host llm.example:443 ssl:default [Name or service not known]",
            "no such host: llm.example",
        ),
        ("Error 111 connecting to 127.0.0.1:6399. Connection refused.", HERE),
        ("Error -2 connecting to redis.example:6379. Name or service not known.", "no such host: redis.example"),
        (
            'connection failed: connection to server at "127.0.0.1", port 6399 failed: Connection refused\n\tIs the '
            "server running on that host and accepting TCP/IP connections?",
            HERE,
        ),
        (
            'connection to server at "db.example" (10.0.0.7), port 5432 failed: Connection refused',
            "no server listens at db.example:5432",
        ),
        ("failed to resolve host 'db.example': [Errno -2] Name or service not known", "no such host: db.example"),
        (
            "failed to resolve host 'db.example': [Errno -3] Temporary failure in name resolution",
            "the name db.example cannot be resolved now",
        ),
        ('connection to server at "127.0.0.1", port 5432 failed: FATAL: the database system is starting up', None),
        ("connection timeout expired", None),
        ("Cannot connect to host llm.example:443 ssl:default [Too many open files]", TOO_MANY),
        ("connection is bad: could not look up local user ID 0: Too many open files", TOO_MANY),
        ("[Errno 24] Too many open files: '/etc/hosts'", TOO_MANY),
        ("Connection refused", None),  # it names no server
    ],
)
def test_an_error_of_the_network_says_which_server_is_missing(text: str, words: str | None) -> None:
    assert network_words(text) == words
