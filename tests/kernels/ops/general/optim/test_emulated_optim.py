"""The multi-tensor kernels, run on the CPU thread by thread, against PyTorch in float64."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.general.optim import norms, steps, tensors
from kernels.table.registry import OPS
from tests.kernels.ops.emulated import Launcher, built_or_skipped

RUNS: dict[str, Any] = {
    "adam_step": steps.adam,
    "sgd_step": steps.sgd,
    "total_norm": norms.total_norm,
    "clip_grads_with_norm": norms.clip,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("optim"), "optim.cu")


def on_cuda(launch: Any) -> tensors.Submit:
    return tensors.on_cuda(launch)


def copied(sample: tuple[Any, ...], dtype: torch.dtype | None = None) -> list[Any]:
    """Copy the arguments, preserving the layout of lists' tensors, optionally in another dtype."""
    return [
        [each.to(dtype or each.dtype, copy=True) for each in x] if isinstance(x, list) else x
        for x in sample
    ]


def lists_of(arguments: list[Any]) -> list[Tensor]:
    return [each for x in arguments if isinstance(x, list) for each in x]


@pytest.mark.parametrize("name", RUNS)
def test_a_kernel_means_what_pytorch_computes_in_float64(library, name):
    launch, seen = Launcher(library), set[torch.dtype]()
    samples = list(OPS[name].samples())
    for number, sample in enumerate((*samples, *samples[:3])):
        mine = copied(sample, torch.float64 if number >= len(samples) else None)
        if name == "adam_step":
            mine[4] = sample[4]  # steps are in FP32
        exact = copied(tuple(mine), torch.float64)
        exact[4:5] = mine[4:5]
        found = RUNS[name](on_cuda(launch), *mine)
        right = RUNS[name](None, *exact)
        pairs = zip(lists_of(mine), lists_of(exact), strict=True)
        for got, expected in [(found, right)] if name == "total_norm" else pairs:
            unit = torch.finfo(got.dtype).eps
            near = (got.double() - expected).abs() <= 4 * max(unit, 1e-8) * (expected.abs() + 1)
            assert bool(near.all())
            seen.add(got.dtype)
    assert seen >= {torch.float32, torch.float64}
    kernels = {kernel for kernel, _ in launch.launched}
    assert len(kernels) == {"sgd_step": 2, "total_norm": 3}.get(name, 1)


def test_tensors_of_any_number_size_and_place_are_each_updated_once(library):
    launch = Launcher(library)
    sizes = [*range(1, 66), tensors.CHUNK - 1, tensors.CHUNK, 2 * tensors.CHUNK + 3, 0]
    whole = torch.ones(sum(sizes) + len(sizes))
    params, at = [], 0
    for size in sizes:  # views that start at any address, followed by a gap
        params.append(whole[at : at + size])
        at += size + 1
    grads = [torch.full_like(x, number) for number, x in enumerate(params)]
    steps.sgd(on_cuda(launch), params, grads, [], 1.0, 0.0, 0.0, 0.0, False, False)
    for number, x in enumerate(params):
        assert torch.equal(x, torch.full_like(x, 1 - number))
    assert int((whole == 1).sum()) == len(sizes) + 1  # the gaps, and the gradient that is 0
    assert len(launch.launched) == 2


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("kind", [2.0, 1.0, torch.inf])
def test_a_norm_is_not_finite_where_an_element_is_not(library, bad, kind):
    submit = on_cuda(Launcher(library))
    given = [torch.ones(5), torch.ones(5000)]
    given[1][4321] = bad
    assert not norms.total_norm(submit, given, kind).isfinite()
    norms.clip(submit, given, torch.tensor(bad), 1.0)
    assert given[1].isnan().any()


@pytest.mark.parametrize("kind", [1.0, 2.0, torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_norm_has_all_chunks(library, kind, dtype):
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(n, generator=generator).to(dtype) for n in (3, 300 * tensors.CHUNK, 7, 0)]
    given[2][:] = -9.0  # in the last chunk
    launch = Launcher(library)
    found = norms.total_norm(on_cuda(launch), given, kind)
    assert found.dtype == dtype
    exact = torch.linalg.vector_norm(torch.cat([x.double() for x in given]), kind)
    torch.testing.assert_close(found.double(), exact, atol=0, rtol=1e-6)
    assert [name for name, _ in launch.launched[:1]] == ["styleforge_norm_parts"]
    assert norms.total_norm(on_cuda(launch), [torch.empty(0, dtype=dtype)], kind) == 0
