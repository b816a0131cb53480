"""No encoder raises itself or the program to real-time priority."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from fractions import Fraction

import pytest

from app.export.film.codecs import CODECS, encoder_fault
from app.export.film.segment import Encoding, SegmentWriter
from app.film_frames.color import Colors
from utils.scheduling import TASKS, usual_scheduling

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's scheduler")
root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may take this priority"
)


def policies() -> Counter[int]:
    return Counter(os.sched_getscheduler(int(task.name)) for task in TASKS.iterdir())


@linux
@pytest.mark.parametrize("name", ["libsvtav1", "libx265"])
def test_a_film_is_encoded_without_taking_priority(name, tmp_path):
    codec = next(c for c in CODECS.values() if any(e.name == name for e in c.encoders))
    encoder = next(encoder for encoder in codec.encoders if encoder.name == name)
    size, base = (64, 48), Fraction(1, 25)
    colors = Colors(matrix=6, full=False)
    encoding = Encoding(codec, encoder, "small", *size, 1 / base, base, Fraction(1), colors)
    before = policies()
    writer = SegmentWriter(tmp_path / "part", encoding)
    assert policies().keys() == before.keys()
    assert policies().total() > before.total() + 1, "it encodes in threads of its own"
    writer.discard()


@linux
def test_the_look_at_whether_an_encoder_works_takes_no_priority():
    before = policies()
    (encoder,) = (e for e in CODECS["av1"].encoders if e.name == "libsvtav1")
    assert encoder_fault(encoder, (64, 48)) == ""
    assert policies().keys() == before.keys()


@linux
@root
def test_threads_that_took_priority_in_the_block_give_it_back():
    ready, done = threading.Event(), threading.Event()

    def take() -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        ready.set()
        done.wait()

    before = policies()
    thread = threading.Thread(target=take, daemon=True)
    try:
        with usual_scheduling():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
            thread.start()
            assert ready.wait(10)
            assert policies()[os.SCHED_FIFO] == before[os.SCHED_FIFO] + 2
        assert policies().keys() == before.keys()
    finally:
        done.set()
        thread.join()
