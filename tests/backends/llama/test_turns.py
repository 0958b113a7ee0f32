from __future__ import annotations

import threading

from react_text.backends.llama.turns import Turns


def test_turns_come_in_the_order_of_asking() -> None:
    turns = Turns()
    order: list[int] = []
    turns.acquire()

    def take(number: int) -> None:
        turns.acquire()
        order.append(number)
        turns.release()

    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=take, args=(number,)))
        threads[-1].start()
        while len(turns._waiting) <= number:
            pass
    turns.release()
    for thread in threads:
        thread.join(10)
    assert order == list(range(8))


def test_whoever_asks_again_at_once_comes_after_those_who_wait() -> None:
    turns = Turns()
    order: list[str] = []
    turns.acquire()

    def wait() -> None:
        turns.acquire()
        order.append("waiting")
        turns.release()

    thread = threading.Thread(target=wait)
    thread.start()
    while not turns._waiting:
        pass
    turns.release()
    turns.acquire()
    order.append("again")
    turns.release()
    thread.join(10)
    assert order == ["waiting", "again"]
