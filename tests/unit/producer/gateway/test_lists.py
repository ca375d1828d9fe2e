"""Pages of lists: each leads to the next one, and together they are the list."""

import pytest

from tamis_producer.gateway.lists import ListPage, ListPart


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7])
def test_pages_follow_each_other_and_make_the_whole_list(limit: int) -> None:
    entries, read, after, pages = [*"abcdef"], [], 0, 0
    while True:
        page = ListPart(after=after, limit=limit).of(entries)
        read, pages = [*read, *page.items], pages + 1
        assert len(page.items) <= limit
        if page.next is None:
            break
        after = page.next
    assert (read, pages) == (entries, -(-len(entries) // limit))


def test_without_a_limit_a_page_is_the_rest_of_the_list() -> None:
    assert ListPart().of([*"abc"]) == ListPage(items=["a", "b", "c"], next=None)
    assert ListPart(after=2).of([*"abc"]) == ListPage(items=["c"], next=None)
    assert ListPart(after=9, limit=1).of([*"abc"]) == ListPage(items=[], next=None)


def test_a_page_of_named_entries_leads_on_behind_its_last_entry() -> None:
    assert ListPage.of(["first", "second", "third"], 2, str.upper) == ListPage(items=["first", "second"], next="SECOND")
    assert ListPage.of(["first", "second"], 2, str.upper).next is None
