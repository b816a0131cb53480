"""What a GPU is compiled for follows from the table of backends."""

from __future__ import annotations

import pytest

from kernels.jit import toolchain
from kernels.network.dispatch import BACKENDS


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((7, 5), "7.5"), ((8, 6), "8.6"), ((9, 0), "9.0a"), ((10, 0), "10.0"), ((12, 0), "12.0")],
)
def test_hopper_is_compiled_with_its_own_instructions(capability, expected):
    assert toolchain.arch_list(*capability) == expected


def test_a_backend_with_a_target_of_its_own_is_compiled_for_it(monkeypatch):
    monkeypatch.setattr(toolchain, "_targets", set())
    assert toolchain.arch_list(9, 0) == "9.0"
    toolchain.use_targets(backend.target for backend in BACKENDS)
    assert toolchain.arch_list(9, 0) == "9.0a"
    toolchain.use_targets(["100a"])
    assert toolchain.arch_list(10, 0) == "10.0a"
