"""Native libraries that a loader did not find, and the Debian package of each."""

import re

PACKAGES = {
    "libgomp.so.1": "libgomp1",
    "libstdc++.so.6": "libstdc++6",
    "libgcc_s.so.1": "libgcc-s1",
    "libatomic.so.1": "libatomic1",
    "libz.so.1": "zlib1g",
    "libcrypt.so.1": "libcrypt1",
    "libssl.so.3": "libssl3",
    "libcrypto.so.3": "libssl3",
}

# Messages of glibc's loader about a program and a module, and of musl's.
_MISSING = re.compile(
    r"(?P<glibc>[\w.+-]+\.so[.\d]*): cannot open shared object file"
    r"|Error loading shared library (?P<musl>[\w.+-]+\.so[.\d]*):"
)


def missing_library(text: str) -> str | None:
    """Return which native library `text` reports as missing, and how to install it; None if it reports none."""
    match = _MISSING.search(text)
    if match is None:
        return None
    library = match["glibc"] or match["musl"]
    package = PACKAGES.get(library)
    if package is None:
        return f"the library {library} is missing: `apt-file search {library}` shows the Debian package with it"
    return f"the library {library} is missing: install Debian's package {package} (`apt-get install {package}`)"
