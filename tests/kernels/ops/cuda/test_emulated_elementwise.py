"""The elementwise kernels, run on the CPU thread by thread, against the reference in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.cuda import elementwise
from kernels.ops.elements import reference
from kernels.ops.elements.functions import FUNCTIONS, TYPES
from kernels.ops.launcher import Calls, Gpu
from tests.helpers.cases import cases
from tests.kernels.ops.cuda.emulated_library import EmulatedLibrary, built_or_skipped

STATE = torch.tensor([987654321 << 20, 42])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> EmulatedLibrary:
    return built_or_skipped(tmp_path_factory.mktemp("emulated"))


@pytest.fixture
def launch(library: EmulatedLibrary) -> Any:
    """In place of a CudaLauncher."""
    calls = Calls()
    return SimpleNamespace(
        library=library, gpu=Gpu(-1, 2, 8), stream=None, calls=calls.calls, keep=calls.keep
    )


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# By name, the shapes of x and the others and what is done to x.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "contiguous": ((13, 40), (13, 40), lambda x: x),
    "odd": ((7, 5), (7, 5), lambda x: x),
    "bias": ((6, 40), (40,), lambda x: x),
    "column": ((6, 40), (6, 1), lambda x: x),
    "number": ((5, 24), (), lambda x: x),
    "transposed": ((24, 16), (16, 24), lambda x: x.t()),
    "sliced": ((9, 30), (9, 15), lambda x: x[:, ::2]),
    "offset": ((9, 33), (9, 32), lambda x: x[:, 1:]),
    "expanded": ((3, 1), (3, 16), lambda x: x.expand(3, 16)),
    "outer": ((4, 1), (1, 24), lambda x: x),
    "channels last": ((2, 4, 3, 5), (4, 1, 1), lambda x: x.to(memory_format=torch.channels_last)),
    "empty": ((0, 3), (3,), lambda x: x),
    "many dimensions": ((2,) * 10, (1, 2) * 5, lambda x: x.permute(*range(9, -1, -1))),
}


def given(function: str, layout: str, dtype: torch.dtype) -> list[Tensor]:
    first, second, adapt = LAYOUTS[layout]
    inputs = [adapt(normal(0, *first).to(dtype)), normal(1, *second).to(dtype)]
    inputs.append(normal(2, *second).to(dtype))
    return inputs[: len(FUNCTIONS[function].inputs)]


def assert_close(got: Tensor, exact: Tensor, units: float = 4) -> None:
    """As far apart as rounding to the dtype explains, of which the largest of many is larger."""
    unit = torch.finfo(got.dtype).eps
    assert got.shape == exact.shape
    if got.numel():
        allowed = units * unit * (exact.abs() + 1)
        assert bool(((got.double() - exact).abs() <= allowed).all())


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_and_gradients_are_those_of_the_reference(launch, function, layout, dtype):
    inputs = given(function, layout, dtype)
    state = STATE if FUNCTIONS[function].drops else None
    p = 0.3 if state is not None else 0.0
    y = elementwise.forward(launch, function, inputs, p, state)
    expected = reference.forward(function, inputs, p, state)
    assert y.stride() == expected.stride()
    wide = [x.double() for x in inputs]
    assert_close(y, reference.forward(function, wide, p, state))
    grad = normal(3, *y.shape).to(dtype)
    row = FUNCTIONS[function]
    wanted = [True] * len(row.gradients)
    kept, exactly = ([y], [y.double()]) if row.of_result else (inputs, wide)
    found = elementwise.backward(launch, grad, kept, function, wanted, p, state)
    exact = reference.backward(grad.double(), exactly, function, wanted, p, state)
    for mine, theirs in zip(found, exact, strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("rest", [(111, 200), (200,), ()], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_blocks_take_several_tiles_and_leave_no_element(launch, function, rest, dtype):
    launch.gpu = Gpu(-1, 1, 8)
    row = FUNCTIONS[function]
    inputs = [normal(0, 111, 200).to(dtype)]
    if len(row.inputs) > 1:
        inputs.append(normal(1, *(rest or (200,))).to(dtype))
    if len(row.inputs) > 2:
        inputs.append(normal(2, *rest).to(dtype))
    state = STATE if row.drops else None
    p = 0.3 if row.drops else 0.0
    wide = [x.double() for x in inputs]
    y = elementwise.forward(launch, function, inputs, p, state)
    assert_close(y, reference.forward(function, wide, p, state), 12)
    grad, wanted = normal(3, 111, 200).to(dtype), [True] * len(row.gradients)
    if row.of_result:
        inputs, wide = [y], [y.double()]
    found = elementwise.backward(launch, grad, inputs, function, wanted, p, state)
    exact = reference.backward(grad.double(), wide, function, wanted, p, state)
    for mine, theirs in zip(found, exact, strict=True):
        assert_close(mine, theirs, 12)


@pytest.mark.parametrize("wanted", [[True, False], [False, True], [False, False]])
def test_a_gradient_that_is_not_wanted_is_not_written(launch, wanted):
    inputs = given("swish_multiply", "contiguous", torch.float32)
    grad = normal(3, 13, 40)
    found = elementwise.backward(launch, grad, inputs, "swish_multiply", wanted)
    both = elementwise.backward(launch, grad, inputs, "swish_multiply", [True, True])
    expected = [each for each, want in zip(both, wanted, strict=True) if want]
    assert len(found) == len(expected)
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_indices_beyond_32_bits_reach_their_elements(launch, dtype):
    # Only the pages of the six elements are ever touched.
    x = torch.empty(2**31 + 64, dtype=dtype).as_strided((2, 3), (2**31, 7))
    x.copy_(normal(0, 2, 3))
    y = normal(1, 2, 3).to(dtype)
    got = elementwise.forward(launch, "add_relu", (x, y))
    assert torch.equal(got, reference.forward("add_relu", (x, y)))


def test_tensors_of_several_dtypes_are_promoted(launch):
    x, y = normal(0, 4, 8).half(), normal(1, 8)
    got = elementwise.forward(launch, "add_relu", (x, y))
    assert got.dtype == torch.float32
    assert torch.equal(got, torch.relu(x + y))


def test_every_kernel_ran(library, launch):
    kernels = library.kernels
    for case in cases(test_results_and_gradients_are_those_of_the_reference):
        if not kernels.names - kernels.launched:
            break
        if case["layout"] in ("contiguous", "sliced", "offset"):
            test_results_and_gradients_are_those_of_the_reference(launch, **case)
    missing = kernels.names - kernels.launched
    assert not missing, sorted(missing)
