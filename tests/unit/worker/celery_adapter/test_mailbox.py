"""The post box between two threads: nothing is lost, and the bell rings once for many things."""

import select
import threading

from tamis_worker.celery_adapter.mailbox import Mailbox, ThreadMailbox


def test_one_ring_for_everything_until_it_is_taken() -> None:
    rings: list[None] = []
    post: Mailbox[int] = Mailbox(lambda: rings.append(None))
    for thing in range(5):
        post.put(thing)
    assert len(rings) == 1
    assert post.take() == [0, 1, 2, 3, 4]
    post.put(5)
    assert len(rings) == 2
    assert post.take() == [5]
    assert post.take() == []


def test_a_socket_post_is_readable_exactly_while_something_is_in() -> None:
    post: ThreadMailbox[str] = ThreadMailbox()
    assert not select.select([post], [], [], 0)[0]
    post.put("a")
    post.put("b")
    assert select.select([post], [], [], 10)[0]
    assert post.take() == ["a", "b"]
    assert not select.select([post], [], [], 0)[0]
    post.close()


def test_waiting_ends_with_the_first_thing() -> None:
    post: ThreadMailbox[str] = ThreadMailbox()
    thread = threading.Thread(target=post.put, args=("a",))
    thread.start()
    post.wait(30)
    thread.join()
    assert post.take() == ["a"]
    post.wait(0.001)  # nothing comes: the time is over
    assert post.take() == []
    post.close()


def test_nothing_is_lost_between_two_threads() -> None:
    post: ThreadMailbox[int] = ThreadMailbox()
    many = 20_000
    thread = threading.Thread(target=lambda: [post.put(n) for n in range(many)])
    thread.start()
    taken: list[int] = []
    while len(taken) < many:
        assert select.select([post], [], [], 10)[0], f"silent after {len(taken)}"
        taken += post.take()
    thread.join()
    assert taken == list(range(many))
    post.close()
