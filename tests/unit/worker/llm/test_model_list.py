"""Lists of models as endpoints give them."""

import pytest

from tamis_worker.llm.model_list import names_in


def test_the_names_are_given_in_the_lists_order() -> None:
    assert names_in(b'{"object": "list", "data": [{"id": "b"}, {"id": "a", "owned_by": "x"}]}') == ("b", "a")
    assert names_in(b'{"data": []}') == ()


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b"null", b'{"data": null}', b'{"data": [1]}', b'{"data": [{}]}', b"\xff"]
)
def test_what_is_no_list_of_models_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        names_in(body)
