"""The CUDA kernels around attention's products, run on the CPU thread by thread."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.attention_parts import rope, scores
from tests.kernels.ops.emulated import Launcher, built_or_skipped

UNIT = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("attention_parts"), "attention_parts.cu")


@pytest.fixture
def launch(library: ctypes.CDLL) -> Any:
    return Launcher(library)


def assert_close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, atol=UNIT[found.dtype], rtol=4 * UNIT[found.dtype])


def test_the_softmax_and_its_gradient_are_those_of_the_reference(launch):
    for sample in scores.samples():
        weights = scores.launch_cuda(launch, *sample)
        assert_close(weights, scores.reference(*sample))
    for grad, weights in scores.samples_of_backward():
        found = scores.backward_on_cuda(launch, grad, weights)
        assert_close(found, scores.backward_reference(grad, weights))
    vectors = {arguments[-1] for _, arguments in launch.launched}
    assert vectors == {True, False}


def test_a_row_is_held_by_as_many_threads_as_it_needs(launch):
    found: list[tuple[int, int]] = []

    def record(_kernel: str, rows: int, threads: int, *arguments: Any) -> None:
        found.append((rows, threads))
        launch(_kernel, rows, threads, *arguments)

    for keys in (3, 300, 1030, scores.MOST_KEYS):
        q, k = torch.ones(1, 2, 4), torch.linspace(-1, 1, 4 * keys).view(1, keys, 4)
        assert_close(scores.launch_cuda(record, q, k), scores.reference(q, k))  # type: ignore[arg-type]
    assert found == [(2, 32), (2, 64), (2, 256), (2, 512)]
    longer = torch.ones(1, scores.MOST_KEYS + 1, 4)
    scores.launch_cuda(record, torch.ones(1, 2, 4), longer)  # type: ignore[arg-type]
    assert len(found) == 4
    refused = scores.refuses(
        q=SimpleNamespace(dtype=torch.float32, device=torch.device("cuda")), k=longer
    )
    assert refused == "the native CUDA kernel takes 8192 keys at most, got 8193"


def test_pairs_are_turned_as_the_reference_turns_them(launch):
    for sample in rope.samples():
        assert_close(rope.launch_cuda(launch, *sample), rope.reference(*sample))
    assert {arguments[-1] for _, arguments in launch.launched} == {True, False}
