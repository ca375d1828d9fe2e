"""The mailbox between two threads: nothing is lost, and its reader is woken once for many items."""

import select
import threading

from tamis_worker.event_loop.loop import Mailbox, ThreadMailbox


def test_its_reader_is_woken_once_for_everything_until_it_is_taken() -> None:
    wakeups: list[None] = []
    mailbox: Mailbox[int] = Mailbox(lambda: wakeups.append(None))
    for item in range(5):
        mailbox.put(item)
    assert len(wakeups) == 1
    assert mailbox.take() == [0, 1, 2, 3, 4]
    mailbox.put(5)
    assert len(wakeups) == 2
    assert mailbox.take() == [5]
    assert mailbox.take() == []


def test_a_mailbox_with_a_socket_is_readable_exactly_while_something_is_in() -> None:
    mailbox: ThreadMailbox[str] = ThreadMailbox()
    assert not select.select([mailbox], [], [], 0)[0]
    mailbox.put("a")
    mailbox.put("b")
    assert select.select([mailbox], [], [], 10)[0]
    assert mailbox.take() == ["a", "b"]
    assert not select.select([mailbox], [], [], 0)[0]
    mailbox.close()


def test_waiting_ends_with_the_first_item() -> None:
    mailbox: ThreadMailbox[str] = ThreadMailbox()
    thread = threading.Thread(target=mailbox.put, args=("a",))
    thread.start()
    mailbox.wait(30)
    thread.join()
    assert mailbox.take() == ["a"]
    mailbox.wait(0.001)  # nothing comes: the time is over
    assert mailbox.take() == []
    mailbox.close()


def test_nothing_is_lost_between_two_threads() -> None:
    mailbox: ThreadMailbox[int] = ThreadMailbox()
    many = 20_000
    thread = threading.Thread(target=lambda: [mailbox.put(n) for n in range(many)])
    thread.start()
    taken: list[int] = []
    while len(taken) < many:
        assert select.select([mailbox], [], [], 10)[0], f"silent after {len(taken)}"
        taken += mailbox.take()
    thread.join()
    assert taken == list(range(many))
    mailbox.close()
