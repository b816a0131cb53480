"""Mutants of the measurement of other runtimes beside ours."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_MEASURE = "tests/benchmarks/webgpu_peers/test_measure.py::"
_TABLE = "tests/benchmarks/tables/test_webgpu.py::"
_FOLDER = "benchmarks/webgpu_peers"

MUTANTS = (
    Mutant(
        "the ways to run a network are measured one after another",
        f"{_FOLDER}/measure.py",
        "for way in orders.sample(ways, len(ways)):",
        "for way in ways:",
        (f"{_MEASURE}test_the_ways_take_turns",),
    ),
    Mutant(
        "a way that refuses a network ends the measurement",
        f"{_FOLDER}/measure.py",
        "except (RuntimeFault, torch.cuda.OutOfMemoryError) as fault:",
        "except torch.cuda.OutOfMemoryError as fault:",
        (f"{_MEASURE}test_a_way_that_does_not_run_has_a_reason_and_no_time",),
    ),
    Mutant(
        "PyTorch on another GPU is measured beside ours",
        f"{_FOLDER}/torch_eager.py",
        'return "" if found == gpu else',
        'return "" if found else',
        (f"{_MEASURE}test_peers_of_another_gpu_do_not_run",),
    ),
    Mutant(
        "a runtime's result is rounded up",
        f"{_FOLDER}/peer.py",
        "styled.clamp(0, 255).round().to(torch.uint8)",
        "styled.clamp(0, 255).ceil().to(torch.uint8)",
        (f"{_MEASURE}test_planes_round_and_clamp_to_bytes",),
    ),
    Mutant(
        "a runtime's time is compared with ours of another precision",
        "benchmarks/tables/webgpu.py",
        'row["size"], row["precision"]), wall)',
        'row["size"], ""), wall)',
        (f"{_TABLE}test_times_are_compared_with_ours_of_the_same_precision",),
    ),
    Mutant(
        "a stream waits for each picture",
        "benchmarks/webgpu.py",
        "if len(waiting) == IN_FLIGHT:",
        "if waiting:",
        (f"{_MEASURE}test_a_stream_keeps_two_pictures_in_flight",),
    ),
)
