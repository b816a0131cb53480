"""In bands the network paints the same picture as in one pass, with less memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.checkpoints import load_checkpoint
from models.inference.banded import LEAST_ROWS, memory_needed, style_in_bands
from models.network_config import FULL, LITE, NetworkConfig, network_config
from models.transformer_net import TransformerNetBaseline
from tests.helpers.daily import some_daily
from utils.tf32 import tf32_allowed

STYLES = sorted(Path("assets/styles").glob("*/*.safetensors"))
SIZES = [(16, 16), (17, 33), (64, 75), (99, 18), (131, 90), (202, 61)]
BANDS = [1, 1000, 4000, 10**7]  # pixels: the minimum of rows, several, a few, all of it


def network(shape: NetworkConfig = FULL, dtype: torch.dtype = torch.float64):
    torch.manual_seed(3)
    return TransformerNetBaseline(**asdict(shape)).requires_grad_(False).to(dtype)


def photo(height: int, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(height * 1000 + width)
    x = torch.rand(1, 3, height, width, generator=generator, dtype=torch.float64) * 255
    x[..., : width // 2] += 300  # the halves of one picture have different statistics
    return x.to(dtype)


def in_bands(net: TransformerNetBaseline, x: Tensor, band: int, progress=lambda done: None):
    out = torch.full_like(x, float("nan"))
    tops: list[int] = []

    def write(top: int, values: Tensor) -> None:
        tops.append(top)
        out[:, :, top : top + values.shape[2]] = values

    size = x.shape[2], x.shape[3]
    style_in_bands(net, lambda top, bottom: x[:, :, top:bottom], write, size, progress, band)
    assert tops == sorted(tops)
    return out, len(tops)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "shape", some_daily([FULL, LITE, NetworkConfig(2, (5, 7, 9), 3)], 2), ids=str
)
def test_bands_change_nothing_but_rounding(shape, size):
    net, x = network(shape), photo(*size)
    whole = net(x)
    for band in BANDS:
        banded, _ = in_bands(net, x, band)
        assert float((banded - whole).abs().max()) <= 1e-10 * max(1.0, float(whole.abs().max()))


@pytest.mark.parametrize(
    "path",
    some_daily(STYLES, 0, 1, 5, len(STYLES) - 1),
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_every_style_is_the_same_in_bands(path):
    state = load_checkpoint(path)
    net = network(network_config(state))
    net.load_state_dict(state)
    x = photo(61, 47)
    banded, count = in_bands(net, x, 1)
    assert count == 4
    assert float((banded - net(x)).abs().max()) <= 1e-10 * 255


def test_in_float32_bands_differ_by_rounding():
    net, x = network(dtype=torch.float32), photo(202, 61, torch.float32)
    exact = network()(x.double())
    at_once = float((net(x) - exact).abs().max())
    banded, _ = in_bands(net, x, 1)
    assert float((banded - exact).abs().max()) <= max(3 * at_once, 1e-3)


def test_two_runs_are_bit_equal():
    net, x = network(LITE, torch.float32), photo(131, 90, torch.float32)
    first, _ = in_bands(net, x, 1000)
    second, _ = in_bands(net, x, 1000)
    assert torch.equal(first, second)


def test_in_half_precision_bands_come_as_close():
    net, x = network(LITE), photo(131, 90)
    exact = net(x)
    half = network(LITE, torch.bfloat16)
    at_once = float((half(x.bfloat16()).double() - exact).square().mean())
    banded, _ = in_bands(half, x.bfloat16(), 1000)
    assert float((banded.double() - exact).square().mean()) <= 2 * at_once


def test_progress_goes_on_evenly_and_ends_at_one():
    net, x = network(LITE), photo(202, 61)
    told: list[float] = []
    _, count = in_bands(net, x, 1, told.append)
    assert count == 51 // LEAST_ROWS
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    steps = [b - a for a, b in zip([0.0, *told], told, strict=False)]
    assert max(steps) < 0.05


def test_what_progress_raises_ends_the_run():
    class Canceled(Exception):
        pass

    def cancel(done: float) -> None:
        if done > 0.3:
            raise Canceled

    net, x = network(LITE), photo(131, 90)
    with pytest.raises(Canceled):
        in_bands(net, x, 1, cancel)


def test_at_8k_memory_stays_below_four_gigabytes():
    assert memory_needed(4320, 7680, 4) < 2.6e9
    assert memory_needed(4320, 7680, 2) < 1.3e9
    assert memory_needed(4320, 7680, 4, LITE) < 1.1e9


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_on_a_gpu_bands_come_as_close(dtype):
    x = photo(202, 61)
    exact = network()(x)
    net, given = network().to("cuda", dtype), x.to("cuda", dtype)
    with tf32_allowed(False):
        at_once = float((net(given).double().cpu() - exact).square().mean())
        banded, count = in_bands(net, given, 1)
    assert count > 1
    assert float((banded.double().cpu() - exact).square().mean()) <= max(2 * at_once, 1e-8)


@pytest.mark.gpu
def test_8k_takes_less_than_three_gigabytes_of_a_gpu():
    net = network(dtype=torch.float16).cuda()
    height, width = 4320, 7680
    frame = torch.randint(0, 256, (height // 8, width // 8, 3), dtype=torch.uint8)
    frame = frame.repeat_interleave(8, 0).repeat_interleave(8, 1)
    told: list[int] = []

    def rows(top: int, bottom: int) -> Tensor:
        return frame[top:bottom].cuda().permute(2, 0, 1)[None].half()

    def write(top: int, values: Tensor) -> None:
        assert bool(values.isfinite().all())
        told.append(values.shape[2])

    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    style_in_bands(net, rows, write, (height, width))
    assert sum(told) == height
    assert torch.cuda.max_memory_allocated() - before < 3e9
