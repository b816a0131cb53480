"""Values pass between threads in order, and no thread waits for one that has given up."""

from __future__ import annotations

import threading

import pytest

from app.export.film.threads.ahead import THREADS, mapped_ahead
from app.export.film.threads.channel import Channel


def test_a_channel_hands_values_over_in_order_and_holds_no_more_than_its_room():
    channel: Channel[int] = Channel(2)
    put: list[int] = []

    def give():
        for number in range(20):
            assert channel.put(number)
            put.append(number)
        channel.end()

    thread = threading.Thread(target=give)
    thread.start()
    taken = []
    for value in channel:
        assert len(put) <= value + 4  # two wait, one was taken, one is being put
        taken.append(value)
    thread.join()
    assert taken == list(range(20))


def test_who_waits_for_room_is_told_that_the_other_side_has_given_up():
    channel: Channel[int] = Channel(1)
    assert channel.put(1)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(channel.put(2)))
    thread.start()
    channel.give_up()
    thread.join(30)
    assert answers == [False]
    assert list(channel) == []


def test_results_keep_the_order_of_the_values():
    first = threading.Event()

    def slow_first(number: int) -> int:
        if number == 0 and THREADS > 1:
            assert first.wait(30)
        first.set()
        return number * number

    made = mapped_ahead(slow_first, range(12), "test")
    assert list(made) == [number * number for number in range(12)]


def test_a_fault_of_a_value_comes_in_its_place():
    made = mapped_ahead(lambda number: 1 // number, [2, 1, 0, 3], "test")
    assert [next(made), next(made)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(made)
