"""FP32 numbers are split into two TF32 numbers whose products are as exact as FP32."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import kernel_fusion as kf
from kernels.ops.general.linear import split
from kernels.table.registry import OPS
from tests.kernels.ops.emulated import Launcher, built_or_skipped
from utils.tf32 import tf32_allowed


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def parts_of(x: Tensor) -> Tensor:
    out = x.new_empty(x.shape[0], 3 * x.shape[1])
    kf.ops.split_tf32_out(x, out)
    return out


def truncated(total: Tensor) -> Tensor:
    """Convert FP64 to FP32, rounding toward 0 as tensor cores do."""
    y = total.float()
    beyond = y.double().abs() > total.abs()
    return torch.where(beyond, y.view(torch.int32) - 1, y.view(torch.int32)).view(torch.float32)


def on_tensor_cores(x: Tensor, weight: Tensor) -> Tensor:
    """Compute x weight.T in steps of eight, truncating the sum after each as tensor cores do."""
    total = torch.zeros(x.shape[0], weight.shape[0])
    for at in range(0, x.shape[1], 8):
        here = slice(at, at + 8)
        total = truncated(total.double() + x[:, here].double() @ weight[:, here].double().T)
    return total


def test_both_parts_are_tf32_and_their_sum_is_the_number():
    x = normal(50, 40) * 10.0 ** torch.arange(-20, 20)
    high, low, again = parts_of(x).chunk(3, 1)
    assert torch.equal(high, again)
    for part in (high, low):
        assert not (part.contiguous().view(torch.int32) & 0x1FFF).any()
    apart = (high.double() + low.double() - x.double()).abs()
    assert bool((apart <= x.double().abs() * 2.0**-23).all())
    assert bool((low.abs() <= high.abs() * 2.0**-11).all())


def test_rounding_is_to_the_nearest_and_not_a_number_stays_none():
    x = torch.tensor([1 + 2.0**-11, -(1 + 2.0**-11), 1 + 2.0**-12, 0.0, torch.inf, torch.nan])
    high, _ = split.halves(x)
    assert high[:4].tolist() == [1 + 2.0**-10, -(1 + 2.0**-10), 1.0, 0.0]
    assert not torch.isfinite(parts_of(x[None, 4:])[0, 2:4]).any()


def test_a_product_on_tensor_cores_is_of_fp32_with_small_terms_first():
    x, weight = normal(64, 768), normal(48, 768, seed=1)
    exact = x.double() @ weight.double().T
    scale = exact.abs().max()
    found = on_tensor_cores(parts_of(x), split.split_weight(weight))
    error = float((found - exact).abs().max() / scale)
    assert error < 4e-6
    (high, low), (of_weight, rest) = split.halves(x), split.halves(weight)
    large_first = torch.cat((high, high, low), 1), torch.cat((of_weight, rest, of_weight), 1)
    assert float((on_tensor_cores(*large_first) - exact).abs().max() / scale) > 2 * error
    # TF32 without the second part
    assert float((high @ of_weight.T - exact).abs().max() / scale) > 20 * error


@pytest.mark.parametrize(
    ("x", "out", "said"),
    [
        (torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, 9), "expected FP32"),
        (torch.zeros(3), torch.zeros(9), r"expected FP32 \[rows, columns\]"),
        (torch.zeros(2, 3), torch.zeros(2, 6), r"expected FP32 \[2, 9\]"),
        (torch.zeros(2, 3), torch.zeros(9, 2).t(), "out is not contiguous"),
    ],
)
def test_what_does_not_fit_is_named(x, out, said):
    with pytest.raises(ValueError, match=said):
        kf.ops.split_tf32_out(x, out)


def test_the_kernel_writes_what_the_reference_does(tmp_path):
    launch: Any = Launcher(built_or_skipped(tmp_path, "split_products.cu"))
    vectors: set[object] = set()
    for x, out in split._samples():
        out.fill_(torch.nan)
        expected = torch.zeros_like(out)
        split._reference(x, expected)
        split._launch(launch, x, out)
        assert torch.equal(out, expected)
        vectors.add(launch.launched[-1][1][-1])
    assert vectors == {False, True}
    count = len(launch.launched)
    split._launch(launch, torch.zeros(0, 4), torch.zeros(0, 12))
    assert len(launch.launched) == count


@pytest.mark.gpu
def test_on_a_gpu_products_in_tf32_are_those_of_fp32(native_kernels):
    x, weight = normal(512, 768).cuda(), normal(256, 768, seed=1).cuda()
    out = x.new_empty(512, 3 * 768)
    OPS["split_tf32_out"].native(x, out)
    assert torch.equal(out.cpu(), parts_of(x.cpu()))
    with tf32_allowed(True):
        found = out @ split.split_weight(weight).T
    exact = x.double() @ weight.double().T
    assert float((found - exact).abs().max() / exact.abs().max()) < 3e-6
