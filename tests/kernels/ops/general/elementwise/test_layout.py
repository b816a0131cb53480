"""The layout of tensors: dimensions that merge, vectors that fit, indices that need 64 bits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kernels.ops.general.elementwise.layout import Walk, walk


def walked(*inputs: Tensor, result: Tensor | None = None) -> Walk:
    shape = torch.broadcast_shapes(*(x.shape for x in inputs))
    made = torch.empty(shape) if result is None else result
    return walk(shape, made.stride(), [(x.shape, x.stride()) for x in inputs])


def test_contiguous_tensors_are_one_dimension():
    x = torch.zeros(2, 3, 4, 5)
    assert walked(x, x) == Walk(120, (120,), ((1,), (1,)))


def test_a_bias_keeps_the_dimension_it_is_of():
    x = torch.zeros(2, 3, 8)
    assert walked(x, torch.zeros(8)) == Walk(48, (8, 6), ((1, 8), (1, 0)))
    assert walked(x, torch.zeros(3, 1)) == Walk(48, (8, 3, 2), ((1, 8, 24), (0, 1, 0)))
    assert walked(x, torch.zeros(())) == Walk(48, (48,), ((1,), (0,)))


def test_the_order_is_that_of_the_results_memory():
    x = torch.zeros(2, 4, 5, 6).to(memory_format=torch.channels_last)
    assert walked(x, x, result=x) == Walk(240, (240,), ((1,), (1,)))
    bias = torch.zeros(4, 1, 1)
    assert walked(x, bias, result=x) == Walk(240, (4, 60), ((1, 4), (1, 0)))
    turned = torch.zeros(6, 4).t()
    assert walked(turned, turned) == Walk(24, (6, 4), ((4, 1), (4, 1)))


def test_a_single_element_is_a_dimension_too():
    assert walked(torch.zeros(1, 1), torch.zeros(())) == Walk(1, (1,), ((0,), (0,)))


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        (Walk(7, (7,), ((1,), (1,))), True),  # the remainder is processed one by one
        (Walk(48, (8, 6), ((1, 8), (1, 0))), True),
        (Walk(48, (8, 6), ((1, 8), (0, 3))), True),
        (Walk(42, (7, 6), ((1, 7), (1, 0))), False),
        (Walk(48, (8, 6), ((1, 9), (1, 0))), False),
        (Walk(48, (8, 6), ((2, 16), (1, 8))), False),
    ],
)
def test_vectors_fit_where_rows_are_made_of_them(found, fits):
    assert found.fits(4) is fits


@pytest.mark.parametrize(
    ("found", "is_wide"),
    [
        (Walk(2**31 - 1, (2**31 - 1,), ((1,),)), False),
        (Walk(2**31, (2**31,), ((1,),)), True),
        (Walk(6, (3, 2), ((7, 2**31 - 15), (1, 3))), False),
        (Walk(6, (3, 2), ((1, 3), (7, 2**31 - 13))), True),
    ],
)
def test_an_index_takes_64_bits_where_32_do_not_reach(found, is_wide):
    assert found.is_wide is is_wide
