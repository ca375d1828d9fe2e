"""A missing native library is named, with the Debian package that brings it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ConfigurationError
from tamis_schemas.extras import needs
from tamis_schemas.shared_library import PACKAGES, missing_library

GLIBC = "cannot open shared object file: No such file or directory"


@pytest.mark.parametrize("library", PACKAGES)
@pytest.mark.parametrize(
    "text",
    [
        f"ImportError: {{library}}: {GLIBC}",
        f"Traceback (most recent call last):\n  File ...\nImportError: {{library}}: {GLIBC}\n",
        f"/venv/bin/postgres: error while loading shared libraries: {{library}}: {GLIBC}",
        f"OSError: /usr/lib/{{library}}: {GLIBC}",
        "Error loading shared library {library}: No such file or directory (needed by /venv/x.so)",
    ],
)
def test_a_known_library_is_named_with_its_package(text: str, library: str) -> None:
    told = missing_library(text.format(library=library))
    assert told is not None
    assert f"the library {library} is missing" in told
    assert f"apt-get install {PACKAGES[library]}`" in told


@given(name=st.from_regex(r"lib[a-z0-9_+-]{1,12}", fullmatch=True), number=st.integers(0, 99))
def test_any_other_library_is_named_with_the_search_that_finds_its_package(name: str, number: int) -> None:
    library = f"{name}.so.{number}"
    if library not in PACKAGES:
        told = missing_library(f"ImportError: {library}: {GLIBC}")
        assert told is not None
        assert f"`apt-file search {library}`" in told


@given(text=st.text())
def test_of_other_texts_nothing_is_said(text: str) -> None:
    if "cannot open shared object file" not in text and "Error loading shared library" not in text:
        assert missing_library(text) is None


def test_a_package_that_is_installed_and_lacks_a_library_is_not_called_missing() -> None:
    expected = r"'order' is installed but does not load: .*libgomp1"
    with pytest.raises(ConfigurationError, match=expected) as raised, needs("order"):
        raise ImportError(f"libgomp.so.1: {GLIBC}")
    assert "pip install" not in str(raised.value)


def test_an_import_that_fails_for_another_reason_stays_as_it_is() -> None:
    with pytest.raises(ImportError, match="cannot import name"), needs("order"):
        raise ImportError("cannot import name 'x'")
