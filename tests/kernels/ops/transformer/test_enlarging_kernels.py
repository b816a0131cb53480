"""The kernels around an enlarging convolution match their references, emulated on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.transformer.enlarging import api as enlarging
from kernels.ops.transformer.enlarging.reference import interleave_reference, pad_reference
from tests.kernels.ops.emulated import Launcher, built_or_skipped

TOLERANCE = {torch.float32: 1e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("enlarging"), "enlarging.cu")


@pytest.fixture
def launch(library) -> Launcher:
    return Launcher(library)


def vectors(launch: Launcher) -> set[bool]:
    """Return whether the launches load 16 bytes at once."""
    given = (value for _, arguments in launch.launched for value in arguments)
    return {value for value in given if isinstance(value, bool)}


def holds(
    launched: Callable[..., None], meant: Callable[..., None], samples: Iterator[tuple[Any, ...]]
) -> int:
    """Compare on every sample and return the number of samples."""
    count = 0
    for *given, out in samples:
        out.fill_(float("nan"))
        wanted = torch.zeros_like(out)
        meant(*given, wanted)
        launched(*given, out)
        tolerance = TOLERANCE[out.dtype]
        torch.testing.assert_close(out, wanted, atol=tolerance, rtol=tolerance)
        count += 1
    return count


def test_the_margin_is_that_of_the_reference(launch):
    def pad(x: Tensor, out: Tensor) -> None:
        enlarging._launch_pad(launch, x, out)

    assert holds(pad, pad_reference, enlarging._samples_pad()) == 12
    assert vectors(launch) == {False, True}


def test_phases_are_joined_as_by_the_reference(launch):
    def interleave(z: Tensor, skip: Tensor | None, out: Tensor) -> None:
        enlarging._launch_interleave(launch, z, skip, out)

    assert holds(interleave, interleave_reference, enlarging._samples_interleave()) == 36
    assert vectors(launch) == {False, True}


@pytest.mark.parametrize("at", [0, 1, 2, -1])
def test_what_is_not_finite_reaches_only_what_is_made_of_it(launch, at):
    x = torch.zeros(1, 8, 6, 6, dtype=torch.float16).contiguous(memory_format=torch.channels_last)
    x[..., at, 3] = torch.inf
    out = torch.zeros(1, 8, 14, 14, dtype=torch.float16)
    out = out.contiguous(memory_format=torch.channels_last)
    enlarging._launch_pad(launch, x, out)
    rows = (~out[0, 0, :, 7].isfinite()).nonzero().flatten().tolist()
    assert rows == {0: [0, 1, 2, 3, 4], 1: [0, 1, 2, 5], 2: [6], -1: [9, 10, 11, 12, 13]}[at]
    assert bool(out[..., 4:10].isfinite()[..., [0, 1, 2, 4, 5]].all())
