"""A layer under way ends at once when another thread wants it to, and never as if it were whole."""

from __future__ import annotations

import threading

import pytest

from kernels.network.cpu.plan import CpuPlan
from kernels.network.cpu.work import finished_shares
from kernels.network.shapes import FULL, LITE
from tests.kernels.network.cpu.native import LEVELS, network
from tests.kernels.network.cpu.test_plan import SHAPES, Painter, frame, picture
from utils.stop_flag import StopFlag, Stopped, stopped_by


@pytest.fixture(params=LEVELS)
def native(request):
    return network(request.param)


def test_a_stopped_layer_computes_nothing_more(native):
    painter, flag = Painter(native, SHAPES["lite"]), StopFlag()
    frames = frame(64, 64)
    whole, _ = painter.in_bytes(frames)
    painter.marked.clear()
    buffers = painter._plan._buffers
    buffers.fill_(7)
    flag.set()
    with stopped_by(flag), pytest.raises(Stopped):
        painter.in_bytes(frames)
    assert painter.marked == []
    assert (buffers == 7).all()
    flag.clear()
    with stopped_by(flag):
        again, _ = painter.in_bytes(frames)
    assert (again == whole).all()
    flag.set()
    again, _ = painter.in_bytes(frames)  # no flag is in force
    assert (again == whole).all()


class StoppingAfter(list):
    """Marks of layers; sets a flag when there are `count`."""

    def __init__(self, flag: StopFlag, count: int) -> None:
        self._flag, self._count = flag, count

    def append(self, name: str) -> None:
        super().append(name)
        if len(self) == self._count:
            self._flag.set()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_layer_stops(shape, native):
    painter = Painter(native, SHAPES[shape])
    for count in range(1, len(CpuPlan(native, SHAPES[shape]).layers)):
        flag = StopFlag()
        painter.marked = StoppingAfter(flag, count)
        with stopped_by(flag), pytest.raises(Stopped):
            painter(picture(32, 36))
        assert len(painter.marked) == count


def test_another_thread_stops_a_layer_under_way(native):
    painter, flag = Painter(native, SHAPES["full"]), StopFlag()
    frames, ended = frame(512, 512), threading.Event()

    def paint() -> None:
        with stopped_by(flag):
            while True:
                try:
                    painter.in_bytes(frames)
                except Stopped:
                    ended.set()
                    return

    thread = threading.Thread(target=paint)
    thread.start()
    flag.set()
    thread.join(60)
    assert ended.is_set()


@pytest.mark.parametrize("shape", [FULL, LITE], ids=["full", "lite"])
def test_the_share_that_is_done_grows_to_one_over_all_layers(shape, native):
    shares = finished_shares(shape)
    layers = CpuPlan(native, shape).layers
    done = [shares[name] for name in layers]
    assert done == sorted(set(done))
    assert done[-1] == pytest.approx(1)
    blocks = [f"residual blocks/res{n}" for n in range(1, shape.num_residual_blocks + 1)]
    assert [shares[block] for block in blocks] == [shares[f"{block}.conv2"] for block in blocks]
