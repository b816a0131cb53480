"""The elementwise kernels, run on the CPU thread by thread, against the reference in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels.ops.general.elementwise import on_cuda as elementwise
from kernels.ops.general.elementwise import reference, sums
from kernels.ops.general.elementwise.functions import FUNCTIONS, TYPES
from kernels.table.launcher import Calls, Gpu
from tests.helpers.daily import combinations, matrix
from tests.kernels.ops.cuda.emulated_library import EmulatedLibrary, built_or_skipped
from tests.kernels.ops.general.elementwise.far import assert_as_pytorch, far_numbers

STATE = torch.tensor([987654321 << 20, 42])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> EmulatedLibrary:
    return built_or_skipped(tmp_path_factory.mktemp("emulated"))


@pytest.fixture
def launch(library: EmulatedLibrary) -> Any:
    calls = Calls()
    return SimpleNamespace(
        library=library, gpu=Gpu(-1, 2, 8), stream=None, calls=calls.calls, keep=calls.keep
    )


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# By name: the shapes of x and the others, and a function applied to x.
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
    """Check that rounding to the dtype explains the difference, even the largest of many."""
    unit = torch.finfo(got.dtype).eps
    assert got.shape == exact.shape
    if got.numel():
        allowed = units * unit * (exact.abs() + 1)
        assert bool(((got.double() - exact).abs() <= allowed).all())


RESULTS = {"function": FUNCTIONS, "layout": LAYOUTS, "dtype": TYPES}


@matrix(RESULTS)
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
@pytest.mark.parametrize("rest", [(223, 200), (200,), ()], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_blocks_take_several_tiles_and_leave_no_element(launch, function, rest, dtype):
    launch.gpu = Gpu(-1, 1, 8)
    row = FUNCTIONS[function]
    inputs = [normal(0, 223, 200).to(dtype)]
    if len(row.inputs) > 1:
        inputs.append(normal(1, *(rest or (200,))).to(dtype))
    if len(row.inputs) > 2:
        inputs.append(normal(2, *rest).to(dtype))
    state = STATE if row.drops else None
    p = 0.3 if row.drops else 0.0
    wide = [x.double() for x in inputs]
    y = elementwise.forward(launch, function, inputs, p, state)
    assert_close(y, reference.forward(function, wide, p, state), 12)
    grad, wanted = normal(3, 223, 200).to(dtype), [True] * len(row.gradients)
    if row.of_result:
        inputs, wide = [y], [y.double()]
    found = elementwise.backward(launch, grad, inputs, function, wanted, p, state)
    exact = reference.backward(grad.double(), wide, function, wanted, p, state)
    for mine, theirs in zip(found, exact, strict=True):
        assert_close(mine, theirs, 12)


def test_gelu_is_that_of_float64_wherever_it_is_read(launch):
    x = torch.cat([torch.linspace(-12, 12, 24001), torch.linspace(-1e4, 1e4, 2001)])
    bias, grad = torch.zeros(()), torch.ones_like(x)
    wide = [x.double(), bias.double()]
    y = elementwise.forward(launch, "bias_gelu", (x, bias))
    (slope,) = elementwise.backward(launch, grad, [x, bias], "bias_gelu", [True])
    exact = reference.forward("bias_gelu", wide)
    (steep,) = reference.backward(grad.double(), wide, "bias_gelu", [True])
    near = x.abs() <= 12
    assert float((y - exact)[near].abs().max()) < 6e-7  # one unit at 12 is 9.5e-7
    assert float(((y - exact) / exact.abs().clamp(min=1e-3)).abs().max()) < 1e-4
    assert float((slope - steep).abs().max()) < 3e-7
    positive = x >= 0
    assert float(((y - exact)[positive] / exact[positive].clamp(min=1e-9)).max()) < 3e-7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gelu_in_16_bits_is_rounded_once(launch, dtype):
    x = torch.linspace(-12, 12, 24001).to(dtype)
    bias, grad = torch.zeros((), dtype=dtype), torch.ones_like(x)
    wide = [x.double(), bias.double()]
    y = elementwise.forward(launch, "bias_gelu", (x, bias))
    (slope,) = elementwise.backward(launch, grad, [x, bias], "bias_gelu", [True])
    (steep,) = reference.backward(grad.double(), wide, "bias_gelu", [True])
    half = torch.finfo(dtype).eps / 2
    for got, exact in ((y, reference.forward("bias_gelu", wide)), (slope, steep)):
        assert bool(((got - exact).abs() <= half * exact.abs() + 4e-6).all())


def test_sigmoid_and_mish_err_by_less_than_a_millionth(launch):
    x = torch.cat([torch.linspace(-30, 30, 24001), torch.tensor([-1e30, -200.0, 200.0])])
    zero, one, grad = torch.zeros(()), torch.ones(()), torch.ones_like(x)
    y = elementwise.forward(launch, "add_sigmoid", (x, zero))
    assert float((y - x.double().sigmoid()).abs().max()) < 2e-7
    near = x.abs() <= 30
    for function in ("swish_multiply", "mish_scale"):
        inputs, wide = [x, one], [x.double(), one.double()]
        y = elementwise.forward(launch, function, inputs)
        error = (y - reference.forward(function, wide)).abs() / x.abs().clamp(min=1)
        assert float(error[near].max()) < 5e-7
        found = elementwise.backward(launch, grad, inputs, function, [True, True])
        exact = reference.backward(grad.double(), wide, function, [True, True])
        assert float((found[0] - exact[0]).abs().max()) < 1e-6


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_far_numbers_infinities_and_nan_give_what_pytorch_gives(launch, function, dtype):
    row, x = FUNCTIONS[function], far_numbers(dtype, operation=function)
    others = [torch.zeros_like(x) if "bias" in name else torch.ones_like(x) for name in row.inputs]
    inputs = [x, *others[1:]]
    y = elementwise.forward(launch, function, inputs)
    kept, wanted = [y] if row.of_result else inputs, [True] * len(row.gradients)
    found = elementwise.backward(launch, torch.ones_like(y), kept, function, wanted)
    # On a CPU, test_elementwise.py compares these with PyTorch's own.
    right = reference.backward(torch.ones_like(y), kept, function, wanted)
    assert_as_pytorch([y, *found], [reference.forward(function, inputs), *right])


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


# Rows and columns, some not a multiple of a block's share, and the number of multiprocessors that
# share them.
SUMMED = [((70, 96), 1), ((37, 264), 2), ((129, 64), 16), ((8, 1024), 2)]
SUMMING = [name for name, row in FUNCTIONS.items() if len(row.inputs) > 1 and not row.drops]


def summed_in_the_pass(library: EmulatedLibrary) -> bool:
    names = [name.split("::")[2].split("<")[0] for name in library.kernels.launched]
    return sorted(names) == ["elementwise_columns", "elementwise_totals"]


ROWS_SUMMED = {
    "function": SUMMING,
    "shape, multiprocessors": SUMMED,
    "dtype": [torch.float32, torch.float16, torch.bfloat16],
}


@matrix(ROWS_SUMMED)
def test_gradients_of_rows_are_summed_in_the_pass(
    library, launch, function, shape, multiprocessors, dtype
):
    launch.gpu = Gpu(-1, multiprocessors, 8)
    row = FUNCTIONS[function]
    bias, number = normal(1, shape[1]).to(dtype), normal(2).to(dtype)
    inputs = [normal(0, *shape).to(dtype), bias, number][: len(row.kept)]
    like, of = ([bias, number], [0, 1]) if len(inputs) == 3 else ([bias], [len(row.gradients) - 1])
    grad, wanted = normal(3, *shape).to(dtype), [True] + [False] * (len(row.gradients) - 1)
    library.kernels.launched.clear()
    found = elementwise.backward_sums(launch, grad, inputs, function, wanted, like, of)
    assert summed_in_the_pass(library)
    wide = [[x.double() for x in given] for given in (inputs, like)]
    exact = sums.reference_sums(grad.double(), wide[0], function, wanted, wide[1], of)
    assert_close(found[0], exact[0], 8)
    for mine, theirs in zip(found[1:], exact[1:], strict=True):
        assert mine.dtype == dtype
        assert_close(mine, theirs, 64)
    again = elementwise.backward_sums(launch, grad, inputs, function, wanted, like, of)
    assert all(map(torch.equal, found, again))


def test_a_sum_without_its_whole_gradient_writes_nothing_else(library, launch):
    x, scale, grad = normal(0, 20, 64), normal(1, 64), normal(2, 20, 64)
    library.kernels.launched.clear()
    given = (grad, [x, scale], "mish_scale", [False, False], [scale], [1])
    (found,) = elementwise.backward_sums(launch, *given)
    assert summed_in_the_pass(library)
    (exact,) = sums.reference_sums(*given)
    assert_close(found, exact.double(), 64)


@pytest.mark.parametrize(
    ("x", "y", "grad"),
    [
        (normal(0, 20, 32), normal(1, 32), normal(2, 20, 32)),
        (normal(0, 20, 66), normal(1, 66), normal(2, 20, 66)),
        (normal(0, 20, 64), normal(1, 20, 1), normal(2, 20, 64)),
        (normal(0, 64), normal(1, 20, 64), normal(2, 20, 64)),
        (normal(0, 20, 64), normal(1, 64), normal(2).expand(20, 64)),
        (normal(0, 20, 65)[:, 1:], normal(1, 64), normal(2, 20, 64)),
        (normal(0, 2, 20, 64), normal(1, 2, 1, 64), normal(2, 2, 20, 64)),
        (normal(0, 20, 64).double(), normal(1, 64).double(), normal(2, 20, 64).double()),
    ],
    ids=["few", "odd", "column", "first", "expanded", "offset", "three", "double"],
)
def test_what_lies_otherwise_is_summed_by_pytorch(library, launch, x, y, grad):
    library.kernels.launched.clear()
    small, of = (x, 0) if x.numel() < y.numel() else (y, 1)
    given = (grad, [x, y], "mish_scale", [of == 1, of == 0], [small], [of])
    found = elementwise.backward_sums(launch, *given)
    assert all("elementwise_pass" in name for name in library.kernels.launched)
    for mine, theirs in zip(found, sums.reference_sums(*given), strict=True):
        assert mine.shape == theirs.shape
        assert_close(mine, theirs.double(), 64)


def test_channels_that_lie_last_are_columns(library, launch):
    x = normal(0, 2, 64, 5, 3).to(memory_format=torch.channels_last)
    bias, alpha = normal(1, 64, 1, 1), normal(2, 64, 1, 1)
    grad = normal(3, 2, 64, 5, 3).to(memory_format=torch.channels_last)
    library.kernels.launched.clear()
    given = (grad, [x, bias, alpha], "prelu_bias", [True, False], [bias, alpha], [0, 1])
    found = elementwise.backward_sums(launch, *given)
    assert summed_in_the_pass(library)
    for mine, theirs in zip(found, sums.reference_sums(*given), strict=True):
        assert mine.stride() == theirs.stride()
        assert_close(mine, theirs.double(), 64)


@pytest.mark.parametrize(
    ("of", "message"),
    [([], "of has 0 values; expected 1"), ([1], r"of is \[1\]; expected numbers")],
)
def test_sums_that_do_not_exist_are_named(launch, of, message):
    x, bias = normal(0, 20, 64), normal(1, 64)
    with pytest.raises(ValueError, match=message):
        elementwise.backward_sums(launch, x, [x, bias], "bias_gelu", [True], [bias], of)


@pytest.mark.full
def test_every_kernel_ran(library, launch):
    kernels = library.kernels
    for case in combinations(RESULTS):
        if not kernels.names - kernels.launched:
            break
        if case["layout"] in ("contiguous", "sliced", "offset", "transposed"):
            test_results_and_gradients_are_those_of_the_reference(launch, **case)
    for case in combinations(ROWS_SUMMED):
        if case["shape"] == SUMMED[0][0]:
            names = {*kernels.launched}
            test_gradients_of_rows_are_summed_in_the_pass(library, launch, **case)
            kernels.launched |= names
    missing = kernels.names - kernels.launched
    assert not missing, sorted(missing)
