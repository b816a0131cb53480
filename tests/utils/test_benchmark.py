"""The stopwatch counts its runs, alternates fairly and refuses nonsense."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import pytest
import torch
from torch import nn

from utils.benchmark import Benchmark, benchmark_model, in_graph, interleave


def test_the_model_runs_warm_up_plus_iterations_on_the_asked_input():
    seen: list[tuple[torch.Size, torch.dtype, bool]] = []

    class Probe(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append((x.shape, x.dtype, torch.is_inference_mode_enabled()))
            assert 0 <= float(x.min()) <= float(x.max()) <= 255
            return x

    result = benchmark_model(Probe(), (2, 3, 16, 20), num_warmup=2, num_iterations=5)
    assert result.iterations == 5
    assert seen == [(torch.Size((2, 3, 16, 20)), torch.float32, True)] * 7


def test_input_follows_the_dtype_of_the_model_and_training_mode_is_kept():
    model = nn.Conv2d(3, 4, 3).double().train()
    benchmark_model(model, (1, 3, 16, 16), num_warmup=0, num_iterations=1)
    assert model.training


def test_figures_read_as_attributes_and_as_a_mapping():
    result = Benchmark.of([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (result.min_ms, result.median_ms, result.mean_ms) == (1.0, 3.0, 4.0)
    assert result.p20_ms <= result.median_ms <= result.p80_ms <= result.p95_ms <= 10.0
    assert result["fps"] == result.fps == 250.0
    assert {"mean_ms", "median_ms", "p95_ms", "fps"} <= set(dict(result))
    assert all(result[name] == getattr(result, name) for name in result.keys())  # noqa: SIM118
    with pytest.raises(KeyError, match="no 'avg_ms'"):
        result["avg_ms"]


def test_times_are_milliseconds():
    result = interleave({"nap": lambda: time.sleep(0.01)}, warmup=0, runs=3)["nap"]
    assert 10 <= result.min_ms < 1000


def test_candidates_alternate_and_each_follows_all_others_as_often():
    order: list[str] = []
    rounds: list[int] = []
    results = interleave(
        {name: lambda name=name: order.append(name) for name in "abc"},
        warmup=1,
        runs=899,
        round_done=rounds.append,
    )
    assert all(set(order[n : n + 3]) == set("abc") for n in range(0, len(order), 3))
    followed = Counter(pair for pair in itertools.pairwise(order) if len(set(pair)) == 2)
    assert len(followed) == 6
    assert max(followed.values()) < 1.25 * min(followed.values())
    assert rounds == list(range(1, 901))
    assert {name: r.iterations for name, r in results.items()} == dict.fromkeys("abc", 899)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"input_size": ()}, "input_size must be positive"),
        ({"input_size": (1, 3, 0, 16)}, "input_size must be positive"),
        ({"input_size": (1, 3, 16.5, 16)}, "input_size must be positive"),
        ({"num_iterations": 0}, "timed runs must be at least 1, not 0"),
        ({"num_iterations": True}, "timed runs"),
        ({"num_warmup": -1}, "warm-up runs must be 0 or more, not -1"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(arguments, says):
    with pytest.raises(ValueError, match=says):
        benchmark_model(nn.Identity(), **arguments)


def test_nothing_to_time_is_refused():
    with pytest.raises(ValueError, match="at least one candidate"):
        interleave({}, warmup=0, runs=1)


@pytest.mark.gpu
def test_cuda_work_is_timed_to_its_end():
    x = torch.rand(4096, 4096, device="cuda")
    small = torch.rand(64, 64, device="cuda")
    results = interleave(
        {"large": lambda: x @ x, "small": lambda: small @ small}, 2, 10, device="cuda"
    )
    assert results["large"].median_ms > 3 * results["small"].median_ms


@pytest.mark.gpu
def test_what_a_launch_takes_to_reach_the_gpu_is_not_the_kernels_time():
    x = torch.zeros(1, device="cuda")
    result = interleave({"nothing": lambda: x.add_(1)}, 5, 50, device="cuda")["nothing"]
    assert result.median_ms < 0.02


@pytest.mark.gpu
def test_a_graph_replays_as_many_calls_as_it_was_given():
    x = torch.zeros(8, device="cuda")
    replay = in_graph(lambda: x.add_(1), 3)
    before = float(x[0])
    replay()
    assert float(x[0]) == before + 3


@pytest.mark.gpu
def test_a_call_that_waits_for_the_gpu_is_not_captured():
    with pytest.raises(RuntimeError, match="synchroniz"):
        in_graph(torch.ones(8, device="cuda").nonzero)
