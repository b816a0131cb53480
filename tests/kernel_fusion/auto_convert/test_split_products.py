"""Products of three times the depth are as exact as FP32, and are used only where they pay off."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernel_fusion.auto_convert import split_products as splitting
from kernel_fusion.auto_convert.comparison import difference
from kernel_fusion.auto_convert.graphs import exported
from kernel_fusion.auto_convert.inputs import inputs_of
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.rewrites import REWRITES
from tests.helpers.daily import some_daily
from utils.tf32 import convolutions_use_tf32, products_use_tf32

CPU = torch.device("cpu")


def program_of(model: nn.Module, shape: tuple[int, ...], **options: bool) -> tuple[Program, Any]:
    inputs = inputs_of(model, shape, CPU)
    return Program(exported(model, inputs), list(REWRITES), Execution(**options)), inputs


def nodes_of(program: Program) -> list[str]:
    run: Any = program._parts.run
    return [getattr(node.target, "__name__", "") for node in run.graph.nodes]


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "silu"])
@pytest.mark.parametrize(("depth", "products"), [(30, 1), (768, 3), (300, 2), (1031, 1)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_a_linear_layer_of_any_depth_is_that_of_fp32(depth, products, activation, has_bias):
    layer = nn.Linear(depth, 40, bias=has_bias)
    x = torch.randn(2, 5, depth, generator=torch.Generator().manual_seed(0))
    assert splitting.products_of(depth) == products
    weight = splitting._split_matrix(layer.weight.detach())
    assert weight.shape == (products, 40, 3 * depth // products)
    with torch.no_grad():
        found = splitting._linear(splitting._split_depths(x), weight, layer.bias, activation)
        expected = splitting.ACTIVATIONS[activation](layer(x))
    assert difference(found, expected) <= 2e-6


class Two(nn.Module):
    """Two convolutions of the same input, one of them grouped or with few channels."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(channels, 8, 1, groups=groups)
        self.other = nn.Conv2d(channels, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.one(x) + F.relu(self.other(x))


@pytest.mark.parametrize(
    ("channels", "groups", "pointwise", "every", "last"),
    some_daily(
        [
            (*counts, last)
            for last in (False, True)
            for counts in [(8, 1, 1, 2), (8, 2, 0, 1), (4, 1, 0, 0)]
        ],
        *(0, 2, 4),
    ),
)
def test_convolutions_are_split_that_tensor_cores_take(channels, groups, pointwise, every, last):
    torch.manual_seed(0)
    model = Two(channels, groups).eval()
    for option, count in (("split_pointwise", pointwise), ("split_convolutions", every)):
        options = {option: True, "channels_last": last}
        program, inputs = program_of(model, (2, channels, 6, 5), **options)
        assert program.changed[option] == count
        assert nodes_of(program).count("_split_channels") == min(count, 1), "once for both"
        with torch.no_grad():
            assert difference(program(inputs), model(*inputs.args)) <= 2e-6


@pytest.mark.parametrize("last", [False, True])
def test_split_pictures_keep_their_memory_format(last):
    form = torch.channels_last if last else torch.contiguous_format
    x = torch.randn(2, 8, 4, 3).contiguous(memory_format=form)
    parts = splitting._split_channels(x)
    assert parts.shape == (2, 24, 4, 3)
    assert parts.is_contiguous(memory_format=form)
    assert torch.equal(parts[:, :8], parts[:, 16:])
    assert float((parts[:, :8] + parts[:, 8:16] - x).abs().max()) < 1e-6


def test_tf32_is_allowed_for_the_products_alone(monkeypatch):
    seen: list[bool] = []

    def watched(*args: Any) -> Tensor:
        seen.append(convolutions_use_tf32() and products_use_tf32())
        return args[0]

    before = convolutions_use_tf32(), products_use_tf32()
    splitting._in_tf32(watched)(torch.ones(1))
    assert seen == [True]
    assert (convolutions_use_tf32(), products_use_tf32()) == before


def test_an_execution_with_split_products_says_that_it_allows_tf32():
    ways = "split_products", "split_pointwise", "split_convolutions"
    assert all(Execution(**{way: True}).allows_tf32 for way in ways)
    assert not Execution(channels_last=True, cuda_graph=True).allows_tf32
