"""HTTP clients that ask a gateway without TLS: to read the system's certificates is most of what making one takes."""

import ssl

import httpx2 as httpx

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
PATIENCE = 60.0  # s


def http_client(base: str, key: str | None = None, **headers: str) -> httpx.Client:
    """Whoever asks a gateway at its base URL, with a key."""
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.Client(base_url=base, headers=headers, timeout=PATIENCE, verify=NO_TLS)
