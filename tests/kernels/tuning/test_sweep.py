"""The fastest candidates win if they beat the library's layers by more than the scatter."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.driver.images import Image
from kernels.jit.nvrtc import CompilationError
from kernels.network.gpu import Gpu
from kernels.network.tuned import Tuning
from kernels.tuning import sweep
from kernels.tuning.batch import Case
from kernels.tuning.compiling import DoesNotFit, Made, Request
from kernels.tuning.measuring import Times
from kernels.tuning.sweep import Measured, Sweep, Wanted, limited_gpu, report, winners
from kernels.tuning.tuner import joined
from tests.kernels.network.tunings import layer, tuning

SIZES = ((512, 512), (1280, 720))
CASE = Case("lite", False)
PENDING = "still being compiled"


def measured(traits: str, *ratios: float, spread: float = 0.0) -> Measured:
    times = {size: Times(ratio, 1.0, spread) for size, ratio in zip(SIZES, ratios, strict=True)}
    return Measured(CASE, "down1", traits, times)


def test_each_size_has_a_winner_of_its_own():
    found = winners([measured("a", 0.9, 0.8), measured("b", 0.7, 0.9)], SIZES)
    assert [(one.size, one.traits) for one in found] == [((512, 512), "b"), ((1280, 720), "a")]
    assert found[0].times.ratio == 0.7


def test_what_is_hardly_faster_does_not_win():
    assert winners([measured("a", 0.985, 1.2)], SIZES) == []
    assert len(winners([measured("a", 0.975, 1.2)], SIZES)) == 1


def test_what_is_faster_by_less_than_the_scatter_does_not_win():
    assert winners([measured("a", 0.95, 1.0, spread=0.06)], SIZES) == []
    assert len(winners([measured("a", 0.93, 1.0, spread=0.06)], SIZES)) == 1


def test_nothing_wins_where_nothing_was_measured():
    assert winners([], SIZES) == []


def test_a_gpu_with_a_limit_has_as_much_shared_memory_as_a_smaller_one():
    h200 = Gpu((9, 0), 232_448, 233_472, 132)
    assert limited_gpu(h200, 0) is h200
    assert limited_gpu(h200, 100) == Gpu((9, 0), 101_376, 102_400, 132)


@pytest.fixture
def progress() -> list[str]:
    return []


@pytest.fixture
def swept(monkeypatch, description, progress) -> Callable[..., Sweep]:
    """Return a function that runs a sweep whose compiler and clock are functions of the traits."""

    def make(outcome: Callable[[str], Any], clock: Callable[[str], float]) -> Sweep:
        class Pool:
            def submit(self, request: Request) -> Future[Made]:
                future: Future[Made] = Future()
                result = outcome(request.traits)
                if result == PENDING:
                    return future
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(Made(request.traits, {}, b"", {}))
                return future

        def network_with(made, case, *_):
            sets = [SimpleNamespace(layers=one.traits) for one in made]
            sm80 = SimpleNamespace(networks={case.network: "shipped"}, tuned=sets)
            return SimpleNamespace(abi=SimpleNamespace(sm80=sm80))

        def plan(role, layers, _weights, _network, shape, *_):
            return SimpleNamespace(layers=layers, shape=shape)

        properties = SimpleNamespace(max_threads_per_multi_processor=1536)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
        monkeypatch.setattr(Gpu, "of", lambda _: Gpu((8, 6), 101_376, 102_400, 28))
        monkeypatch.setattr(sweep, "Driver", lambda: None)
        monkeypatch.setattr(sweep, "local_bytes", lambda made, *_: 8 * made.traits.endswith("4>"))
        monkeypatch.setattr(sweep, "network_with", network_with)
        monkeypatch.setattr(sweep, "LayerPlan", plan)
        monkeypatch.setattr(sweep, "difference", lambda *_, **__: "")
        monkeypatch.setattr(
            sweep, "time_both", lambda ours, *_: Times(clock(ours.layers), 1.0, 0.0)
        )
        networks = description["sm80"]["networks"]
        pool: Any = Pool()
        return Sweep(pool, "sm_86", networks, progress.append)

    return make


def test_every_candidate_is_measured_or_skipped_for_a_reason(swept, progress):
    def outcome(traits: str) -> Any:
        if " 4, 2>" in traits:
            return CompilationError("x.cu(3): error: static assertion failed\n  detected during")
        return DoesNotFit("needs 5 bytes") if " 8, 1>" in traits else None

    found = swept(outcome, lambda traits: 1.0).run(Wanted((CASE,), ("first",), SIZES))
    reasons = {one.reason for one in found.skipped}
    assert reasons == {
        "does not compile: static assertion failed",
        "needs 5 bytes",
        "spills 8 bytes of a thread's registers",
    }
    again = {one.traits for one in found.measured}
    assert len(again) + len(found.skipped) == 27
    assert len(progress) == len(found.measured) + len(found.skipped)
    assert found.winners == []
    assert (found.stopped, found.done) == ("", [(CASE, "first")])


def test_the_fastest_are_measured_again_and_decide(swept):
    calls: dict[str, int] = {}

    def clock(traits: str) -> float:
        calls[traits] = calls.get(traits, 0) + 1
        return 0.5 if calls[traits] <= len(SIZES) and "16, 32, 8, 2" in traits else 0.8

    found = swept(lambda _: None, clock).run(Wanted((CASE,), ("first",), SIZES))
    assert {one.times.ratio for one in found.winners} == {0.8}
    assert max(calls.values()) == 2 * len(SIZES)


def test_stopping_keeps_what_was_found(swept):
    def clock(traits: str) -> float:
        if traits.startswith("LastConv"):
            signal.raise_signal(signal.SIGINT)
        return 0.5

    before = signal.getsignal(signal.SIGINT)  # a background process ignores the signal by default
    found = swept(lambda _: None, clock).run(Wanted((CASE,), ("first", "last"), SIZES))
    assert found.stopped == "it was stopped by Ctrl+C"
    assert found.done[0] == (CASE, "first")
    assert sum(one.role == "last" for one in found.measured) == 2, "once, and once more"
    assert [one.role for one in found.winners][:2] == ["first", "first"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_cuda_ends_it_and_keeps_what_was_found(swept):
    def clock(traits: str) -> float:
        if traits.startswith("LastConv"):
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")
        return 0.5

    found = swept(lambda _: None, clock).run(Wanted((CASE,), ("first", "last"), SIZES))
    assert found.stopped == "CUDA error: an illegal memory access was encountered"
    assert [one.role for one in found.winners] == ["first", "first"]


def test_the_end_of_its_time_is_told(swept, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(sweep.time, "monotonic", lambda: now[0])

    def clock(traits: str) -> float:
        now[0] += 1.0
        return 0.5

    found = swept(lambda _: None, clock).run(Wanted((CASE,), ("first", "last"), SIZES, seconds=8))
    assert found.stopped == "the time ran out before every candidate was measured"
    assert [role for _, role in found.done] == ["first", "last"]
    assert len(found.winners) == 4


def test_the_compiler_is_not_waited_for_when_time_is_over(swept, monkeypatch):
    monkeypatch.setattr(sweep, "LEAST_SECONDS", 0.01)
    made = swept(lambda _: PENDING, lambda _: 0.5)
    found = made.run(Wanted((CASE,), ("first", "last"), SIZES, seconds=0.02))
    assert found.stopped == "the time ran out before every candidate was measured"
    assert (found.measured, found.winners, found.done) == ([], [], [])


def test_a_candidate_that_stores_other_values_is_skipped(swept, monkeypatch):
    made = swept(lambda _: None, lambda _: 0.5)
    monkeypatch.setattr(
        sweep,
        "difference",
        lambda ours, _, **__: "stores different values of y" * ("4, 2>" in ours.layers),
    )
    found = made.run(Wanted((CASE,), ("first",), SIZES))
    wrong = [one for one in found.skipped if one.reason == "stores different values of y"]
    assert wrong
    assert not {one.traits for one in wrong} & {one.traits for one in found.measured}


def test_a_report_has_every_candidate(swept):
    found = swept(lambda _: None, lambda traits: 0.5).run(Wanted((CASE,), ("first",), SIZES))
    told = report(found)
    assert len(told["measured"]) == len(found.measured)
    assert len(told["skipped"]) == len(found.skipped)
    assert told["winners"][0] == {
        **{"network": "lite", "small": False, "shared_kb": 0, "role": "first"},
        **{"traits": found.winners[0].traits, "width": 512, "height": 512},
        **{"ms": 0.5, "shipped_ms": 1.0, "spread": 0.0},
    }


def test_what_was_tuned_before_stays_but_for_what_was_tuned_now(description):
    down1, same = layer(description), layer(description, "same")
    before: Tuning = tuning(down1, same)
    fresh = tuning(layer(description, traits="Traits<new>"))
    whole = joined(before, fresh, [("lite", False, "down1")])
    assert whole.layers == (same, *fresh.layers)
    assert set(whole.kernels) == {same.traits, "Traits<new>"} == {i.source for i in whole.images}
    assert all(isinstance(image, Image) for image in whole.images)
    assert joined(None, fresh, []) is fresh
    other = tuning(down1, same, digest="older")
    assert joined(other, fresh, [("lite", False, "down1")]) is fresh
