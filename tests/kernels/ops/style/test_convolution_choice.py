"""One table chooses between our kernel and cuDNN, for the operations and for the reasons shown."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch

from kernels.ops.style.convolution import api as convolution
from kernels.ops.style.convolution import choice
from kernels.ops.style.convolution.choice import FasterCase, own_kernel_is_faster


class Case(NamedTuple):
    stride: int
    outputs: int
    kernel: int
    exact: bool
    channels_last: bool
    upsample: bool


BOTH = (False, True)
CASES = [
    Case(*numbers, *flags)
    for numbers in itertools.product((1, 2), (1, 8, 9, 64), (1, 3, 9))
    for flags in itertools.product(BOTH, BOTH, BOTH)
]


def test_ours_is_faster_where_it_was_measured_to_be():
    for case in CASES:
        few_or_interleaved = case.outputs <= 8 or (case.channels_last and case.kernel == 3)
        expected = case.stride > 1 or case.upsample or (case.exact and few_or_interleaved)
        assert own_kernel_is_faster(**case._asdict()) == expected, case


def test_the_reason_follows_the_table(monkeypatch):
    cuda = torch.device("cuda")
    assert "cuDNN" in convolution.unavailable_reason(cuda, torch.float16)
    monkeypatch.setattr(choice, "FASTER_CASES", (FasterCase(kernel=3),))
    assert convolution.unavailable_reason(cuda, torch.float16) == ""
    assert "cuDNN" in convolution.unavailable_reason(cuda, torch.float16, kernel_size=9, stride=2)
