"""TF32 is allowed or forbidden in all of PyTorch's flags, and the flags are restored."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from utils.tf32 import convolutions_use_tf32, products_use_tf32, tf32_allowed

BACKENDS: Any = torch.backends
CUDNN, PRODUCTS = BACKENDS.cudnn, BACKENDS.cuda.matmul


def _mixed(conv: str, rnn: str, legacy: bool) -> None:
    CUDNN.allow_tf32 = legacy
    CUDNN.conv.fp32_precision, CUDNN.rnn.fp32_precision = conv, rnn


def _legacy_only(precision: str) -> None:
    torch.set_float32_matmul_precision(precision)
    CUDNN.allow_tf32 = precision == "high"


# Ways in which a caller may have set the flags.
BEFORE = {
    "untouched": lambda: None,
    "convolutions alone": lambda: setattr(CUDNN.conv, "fp32_precision", "ieee"),
    "both of cuDNN": lambda: _mixed("ieee", "ieee", True),
    "both of cuDNN on": lambda: _mixed("tf32", "tf32", False),
    "recurrent alone": lambda: _mixed("tf32", "ieee", True),
    "products alone": lambda: setattr(PRODUCTS, "fp32_precision", "tf32"),
    "legacy high": lambda: _legacy_only("high"),
    "legacy medium": lambda: _legacy_only("medium"),
    "legacy highest": lambda: _legacy_only("highest"),
    "everything": lambda: setattr(BACKENDS, "fp32_precision", "tf32"),
}


@pytest.fixture(autouse=True)
def flags():
    """Reset the flags to their values at the start of a process, before and after each test."""
    torch.set_float32_matmul_precision("highest")
    yield
    BACKENDS.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    for part in (BACKENDS.mkldnn.matmul, PRODUCTS):
        part.fp32_precision = "none"
    CUDNN.allow_tf32 = True


def seen() -> list[object]:
    """Return the value of every flag, or that it cannot be read."""
    reads = [
        lambda: CUDNN.conv.fp32_precision,
        lambda: CUDNN.rnn.fp32_precision,
        lambda: PRODUCTS.fp32_precision,
        lambda: BACKENDS.mkldnn.matmul.fp32_precision,
        lambda: CUDNN.allow_tf32,
        lambda: PRODUCTS.allow_tf32,
        torch.get_float32_matmul_precision,
    ]
    found: list[object] = []
    for read in reads:
        try:
            found.append(read())
        except RuntimeError:
            found.append("cannot be read")
    return found


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("name", BEFORE)
def test_every_flag_is_set_and_put_back(name, allowed):
    BEFORE[name]()
    before = seen()
    with tf32_allowed(allowed):
        assert convolutions_use_tf32() is products_use_tf32() is allowed
        assert CUDNN.rnn.fp32_precision == CUDNN.conv.fp32_precision
        assert CUDNN.allow_tf32 is allowed
    assert seen() == before


def test_the_legacy_flag_of_products_agrees_where_it_can_be_put_back():
    for precision in ("highest", "high", "medium"):
        torch.set_float32_matmul_precision(precision)
        for allowed in (True, False):
            with tf32_allowed(allowed):
                assert PRODUCTS.allow_tf32 is allowed


def test_an_error_puts_the_flags_back():
    before = seen()
    with pytest.raises(ZeroDivisionError), tf32_allowed(False):
        raise ZeroDivisionError
    assert seen() == before
