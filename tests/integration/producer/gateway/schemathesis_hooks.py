"""What Schemathesis has to be told of the gateway: how NDJSON is sent."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def ndjson(_: object, value: object) -> bytes:
    """The description gives it as a text."""
    return str(value).encode("utf-8", "surrogatepass")
