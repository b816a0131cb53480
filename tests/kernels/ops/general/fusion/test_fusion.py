"""Properties of every norm and every reduction in the library, from one table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import kernel_fusion as kf
from kernels.table.registry import OPS, Operation, prepare

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
GROUPS = ("fusion", "reduction")


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, ROW, IMAGE = (33, 136), (136,), (5, 4, 9, 8)


class Case(NamedTuple):
    op: str
    given: Callable[[], list[Any]]

    @property
    def row(self) -> Operation:
        return OPS[self.op]

    def eager(self, *given: Any) -> Any:
        timed = self.row.timed
        assert timed is not None
        return timed.eager(*given)


def rows() -> list[Any]:
    return [normal(0, *X), [136], normal(1, *ROW), normal(2, *ROW), 1e-5]


def channels(training: bool, change: Callable[[Tensor], Tensor] = Tensor.contiguous) -> list[Any]:
    x = change(normal(0, *IMAGE) + 3)
    of = [normal(seed, 4) for seed in (1, 2, 3)]
    return [x, *of, normal(4, 4).square() + 0.5, training, 0.3, 1e-5]


def grouped(groups: int) -> list[Any]:
    x, *of, _, _, _, eps = channels(True)
    return [x, of[0], groups, *of[1:], eps]


def with_residual(kind: str) -> list[Any]:
    x, *rest = rows()
    return [x, normal(3, *X), *rest, kind]


last = partial(Tensor.to, memory_format=torch.channels_last)
CASES = {
    "layer norm, ReLU": Case("layer_norm_relu", rows),
    "layer norm, GELU": Case("layer_norm_gelu", rows),
    "RMS norm, GELU": Case("rms_norm_gelu", lambda: [*rows()[:3], 1e-6]),
    "sum and layer norm": Case("add_norm", lambda: with_residual("layer")),
    "sum and RMS norm": Case("add_norm", lambda: with_residual("rms")),
    "batch norm": Case("batch_norm_relu", lambda: channels(True)),
    "batch norm, last": Case("batch_norm_relu", lambda: channels(True, last)),
    "kept statistics": Case("batch_norm_relu", lambda: channels(False)),
    "group norm": Case("group_norm_relu", lambda: grouped(2)),
    "group norm of one": Case("group_norm_relu", lambda: grouped(1)),
    "squares of rows": Case("sum_squared", lambda: [normal(0, *X), [1]]),
    "squares of columns": Case("sum_squared", lambda: [normal(0, *X), [0]]),
    "magnitudes": Case("mean_abs", lambda: [normal(0, *X), None]),
    "magnitudes between": Case("mean_abs", lambda: [normal(0, *IMAGE), [1, 2]]),
}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
NATIVE = {name: case for name, case in CASES.items() if not case.row.is_composite}  # on the CPU
EVERY_NATIVE = pytest.mark.parametrize("case", NATIVE.values(), ids=NATIVE)
ON = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    found = prepare([op.name for op in OPS.values() if op.group in GROUPS])
    for status in found:
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready or status.by_choice, status


def moved(given: list[Any], device: str, dtype: torch.dtype) -> list[Any]:
    return [x.to(device, dtype) if isinstance(x, Tensor) else x for x in given]


def results(found: Any) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else tuple(found)


def followed(case: Case, given: list[Any]) -> list[Tensor]:
    """Replace the given tensors by copies and return the ones with a gradient."""
    statistics = (3, 4) if case.op == "batch_norm_relu" else ()
    for at, x in enumerate(given):
        if isinstance(x, Tensor):
            given[at] = x.detach().clone().requires_grad_(at not in statistics)
    return [x for x in given if isinstance(x, Tensor) and x.requires_grad]


def gradients(case: Case, run: Callable[..., Any], given: list[Any]) -> tuple[Tensor, ...]:
    given = list(given)
    leaves = followed(case, given)
    found = results(run(*given))
    grads = [normal(9 + at, *y.shape).to(y) for at, y in enumerate(found)]
    return torch.autograd.grad(found, leaves, grads)


def apart(found: Tensor, exact: Tensor) -> float:
    return float((found.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-30))


def test_every_operation_is_in_the_table():
    listed = {op.name for op in OPS.values() if op.group in GROUPS}
    assert {case.op for case in CASES.values()} == {n for n in listed if "_backward" not in n}


@ON
@EVERY
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_and_gradients_are_pytorchs(case, device, dtype):
    given = moved(case.given(), device, dtype)
    exact = moved(given, device, torch.float64)
    run = case.row.operation
    outputs = [
        results(way(*moved(args, device, args[0].dtype)))
        for way, args in ((case.eager, exact), (run, given), (case.eager, given))
    ]
    grads = [
        gradients(case, way, args)
        for way, args in ((case.eager, exact), (run, given), (case.eager, given))
    ]
    allowed = {torch.float32: 1e-5, torch.float64: 1e-13}.get(dtype, 2 * torch.finfo(dtype).eps)
    for found in (outputs, grads):
        for right, mine, theirs in zip(*found, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, right.shape)
            assert apart(mine, right) <= max(2 * apart(theirs, right), allowed)
    assert all(mine.stride() == theirs.stride() for mine, theirs in zip(*outputs[1:], strict=True))


@ON
@EVERY
def test_second_derivatives_are_right(case, device):
    given = moved(case.given(), device, torch.float64)
    given[0] = given[0][:2, ..., :2] if case.op in ("sum_squared", "mean_abs") else given[0]
    run = case.row.operation
    leaves = followed(case, given)

    def of(*tensors: Tensor) -> tuple[Tensor, ...]:
        each = iter(tensors)
        return results(
            run(*(next(each) if isinstance(x, Tensor) and x.requires_grad else x for x in given))
        )

    assert torch.autograd.gradgradcheck(of, leaves, atol=1e-4, fast_mode=True)


@EVERY_NATIVE
def test_the_number_of_threads_changes_no_bit(case, monkeypatch):
    """The tensors are large enough for several threads."""
    monkeypatch.setattr(sys.modules[__name__], "X", (330, 136))
    monkeypatch.setattr(sys.modules[__name__], "IMAGE", (5, 4, 90, 80))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            given = case.given()
            found.append(
                [
                    *results(case.row.operation(*given)),
                    *gradients(case, case.row.operation, given),
                ]
            )
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


@ON
def test_running_statistics_move_as_pytorchs(device):
    for dtype in (torch.float32, torch.bfloat16):
        x = (normal(0, *IMAGE) * 2 + 5).to(device, dtype)
        mine, theirs = ([torch.zeros(4, device=device), torch.ones(4, device=device)] for _ in "ab")
        for _ in range(2):
            kf.ops.batch_norm_relu(x, None, None, mine[0], mine[1], True, momentum=0.3)
            F.batch_norm(x, *theirs, training=True, momentum=0.3)
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
        before = [each.clone() for each in mine]
        kf.ops.batch_norm_relu(x, None, None, mine[0], mine[1])
        assert all(map(torch.equal, mine, before))


@pytest.mark.slow
@ON
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(CASES["sum and RMS norm"], marks=pytest.mark.full),
        CASES["batch norm"],
        pytest.param(CASES["magnitudes"], marks=pytest.mark.full),
    ],
)
def test_it_compiles_into_one_graph_with_its_gradient(case, device):
    given = moved(case.given(), device, torch.float32)
    torch._dynamo.reset()
    operation = case.row.operation
    compiled = torch.compile(lambda *args: operation(*args), fullgraph=True, backend="aot_eager")
    copies = [[x.clone() if isinstance(x, Tensor) else x for x in given] for _ in range(2)]
    found, expected = (
        results(run(*copy)) for run, copy in zip((compiled, operation), copies, strict=True)
    )
    assert all(map(torch.equal, found, expected))
    for mine, theirs in zip(*copies, strict=True):  # running statistics too
        assert not isinstance(mine, Tensor) or torch.equal(mine, theirs)
    for mine, theirs in zip(
        gradients(case, compiled, given), gradients(case, operation, given), strict=True
    ):
        assert torch.equal(mine, theirs)


@pytest.mark.gpu
@EVERY
def test_a_cuda_graph_replays_it(case):
    given = moved(case.given(), "cuda", torch.float32)
    operation = case.row.operation
    operation(*given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = results(operation(*given))
    given[0].copy_(normal(7, *given[0].shape))
    graph.replay()
    assert all(map(torch.equal, found, results(operation(*given))))


@EVERY
def test_autocast_leaves_it_to_the_dtypes_that_come(case):
    given = moved(case.given(), "cpu", torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = results(case.row.operation(*given))
    assert all(y.dtype == torch.float32 for y in found)


@EVERY_NATIVE
def test_a_kernel_by_name_never_runs_pytorchs_in_silence(case):
    given = case.given()
    found = results(case.row.native(*given))
    assert all(map(torch.equal, found, results(case.row.operation(*case.given()))))
    with pytest.raises(kf.KernelUnavailable, match=r"no native CPU kernel in torch\.float64"):
        case.row.native(*moved(given, "cpu", torch.float64))


@EVERY
def test_what_does_not_fit_is_named(case):
    run, given = case.row.operation, case.given()
    with pytest.raises(ValueError, match=rf"{case.op}: x is a tensor of torch\.int64; expected fl"):
        run(given[0].long(), *given[1:])
    if case.op in ("sum_squared", "mean_abs"):
        with pytest.raises(ValueError, match=rf"{case.op}: dim is \[7\]; expected different dim"):
            run(given[0], 7)
        return
    at = {"add_norm": 3, "group_norm_relu": 1}.get(case.op, 2)
    with pytest.raises(ValueError, match=rf"{case.op}: \w+ has the shape \[7\]; expected \["):
        run(*given[:at], torch.zeros(7), *given[at + 1 :])
    with pytest.raises(ValueError, match=rf"{case.op}: \w+ is on meta; expected cpu, where x is"):
        run(*given[:at], given[at].to("meta"), *given[at + 1 :])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: kf.ops.layer_norm_relu(x, [5]), r"normalized_shape is \[5\]; expected the last"),
        (lambda x: kf.ops.add_norm(x, x, 8, kind="batch"), "kind is 'batch'; expected 'layer' or"),
        (lambda x: kf.ops.add_norm(x, x[:1], 8), r"residual has the shape \[1, 3, 8\]; expected"),
        (lambda x: kf.ops.batch_norm_relu(x), r"running_mean is None; expected \[3\]"),
        (lambda x: kf.ops.batch_norm_relu(x[0, 0]), r"x has the shape \[8\]; expected \[N, C, "),
        (lambda x: kf.ops.batch_norm_relu(x[:1, :, :1], training=True), "more than one value per"),
        (
            lambda x: kf.ops.batch_norm_relu(x, running_mean=x[0, :, 0]),
            "expected both running_mean and running_var",
        ),
        (
            lambda x: kf.ops.group_norm_relu(x, None, 2),
            r"x has the shape \[2, 3, 8\]; expected .* 2",
        ),
        (
            lambda x: kf.ops.channel_bias_backward(x[0, 0]),
            r"channel_bias_backward: x has the shape \[8\]; expected \[N, C, ",
        ),
        (lambda x: kf.ops.sum_squared(x, (1, -2)), r"dim is \[1, -2\]; expected different"),
        (
            lambda x: kf.ops.row_norm_backward(x, x, [8], None, None, x, None, "elu", True, 1.0),
            "activation is 'elu'; expected none, relu, gelu",
        ),
        (
            lambda x: kf.ops.row_norm_backward(x, x, [8], None, None, x, None, "relu", True, 1.0),
            r"statistics has the shape \[2, 3, 8\]; expected \[6, 2\]",
        ),
        (lambda x: kf.ops.reduction_backward(x, x, "sum", None), "function is 'sum'; expected"),
    ],
)
def test_options_that_do_not_fit_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call(torch.zeros(2, 3, 8))


def test_aliases_are_the_operations_themselves():
    assert kf.kernels.fused_layer_norm_relu is kf.kernels.fusion.layer_norm_relu
    for name in ("layer_norm_relu", "layer_norm_gelu", "add_norm"):
        assert getattr(kf.ops, f"fused_{name}") is getattr(kf.ops, name)
    assert kf.ops.reduce_sum_squared is kf.ops.sum_squared
    assert kf.ops.reduce_mean_abs is kf.ops.mean_abs


def test_a_size_or_a_dimension_may_be_given_alone():
    x = normal(0, 3, 8)
    assert torch.equal(kf.ops.layer_norm_relu(x, 8), kf.ops.layer_norm_relu(x, [8]))
    assert torch.equal(kf.ops.mean_abs(x, dim=-1), kf.ops.mean_abs(x, [1]))
    assert kf.ops.sum_squared(x, 0, keepdim=True).shape == (1, 8)


@ON
def test_tensors_of_several_dtypes_are_promoted_and_gradients_go_back(device):
    x = normal(0, 4, 16).to(device, torch.bfloat16).requires_grad_()
    weight = normal(1, 16).to(device).requires_grad_()
    _, normed = kf.ops.add_norm(x, x.detach(), 16, weight)
    exact = F.layer_norm(x.float() + x.detach().float(), [16], weight)
    torch.testing.assert_close(normed, exact)
    mine, theirs = (torch.autograd.grad(y.sum(), (x, weight)) for y in (normed, exact))
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-2)


@ON
def test_a_large_mean_loses_no_digits(device):
    x = (normal(0, 4, 2048) + 1000).to(device)
    torch.testing.assert_close(
        kf.ops.layer_norm_relu(x, 2048).double(),
        F.layer_norm(x.double(), (2048,)).relu(),
        atol=1e-4,
        rtol=1e-4,
    )
    planes = x.view(4, 8, 16, 16)
    exact = F.batch_norm(planes.double(), None, None, training=True).relu()
    found = kf.ops.batch_norm_relu(planes, training=True).double()
    torch.testing.assert_close(found, exact, atol=1e-3, rtol=1e-3)
    shift = normal(1, 8).to(device)
    exact = F.group_norm((planes + shift[:, None, None]).double(), 4).relu()
    found = kf.ops.group_norm_relu(planes, shift, 4).double()
    torch.testing.assert_close(found, exact, atol=1e-3, rtol=1e-3)


@ON
def test_tensors_without_elements_have_results(device):
    x = torch.zeros(0, 8, device=device)
    assert kf.ops.layer_norm_relu(x, 8).shape == (0, 8)
    assert torch.equal(kf.ops.sum_squared(x, 0).cpu(), torch.zeros(8))
    assert kf.ops.mean_abs(x).isnan()


@ON
@pytest.mark.parametrize("shape", [(0, 4, 3, 3), (2, 4, 0, 3)], ids=str)
def test_norms_of_channels_without_elements_have_gradients_and_move_no_statistics(device, shape):
    x = torch.zeros(shape, device=device, requires_grad=True)
    weight, bias = (torch.ones(4, device=device, requires_grad=True) for _ in range(2))
    mean, var = torch.zeros(4, device=device), torch.ones(4, device=device)
    for y in (
        kf.ops.group_norm_relu(x, None, 2, weight, bias),
        kf.ops.batch_norm_relu(x, weight, bias, mean, var, training=True),
    ):
        found = torch.autograd.grad(y.sum(), (x, weight, bias))
        assert y.shape == x.shape
        assert [each.tolist() for each in found[1:]] == [[0.0] * 4] * 2
    assert (mean.tolist(), var.tolist()) == ([0.0] * 4, [1.0] * 4)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(3001, 1024), (3001, 1023), (1777, 4096), (5003, 96)], ids=str)
@pytest.mark.parametrize("name", ["layer_norm_relu", "layer_norm_gelu"])
def test_norms_of_many_rows_are_those_of_pytorch(name, shape, dtype):
    x, grad = (normal(seed, *shape).to("cuda", dtype) for seed in (0, 1))
    leaves = [x, *(normal(seed, shape[1]).to("cuda", dtype) for seed in (2, 3))]
    for leaf in leaves:
        leaf.requires_grad_()
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    op = OPS[name]
    assert op.timed is not None
    y = op.operation(leaves[0], [shape[1]], *leaves[1:])
    exact = op.timed.eager(wide[0], [shape[1]], *wide[1:])
    unit = torch.finfo(dtype).eps
    found = torch.autograd.grad(y, leaves, grad, retain_graph=True)
    # A ReLU's gradient jumps at 0, and a rounded norm may be on either side of it. So single
    # differences may be large, but few elements are far apart.
    expected = torch.autograd.grad(exact, wide, grad.double())
    for mine, right in zip((y.detach(), *found), (exact.detach(), *expected), strict=True):
        difference = (mine.double() - right).abs() / right.abs().max()
        assert float((difference > 16 * unit).double().mean()) < 1e-3
    assert all(map(torch.equal, found, torch.autograd.grad(y, leaves, grad)))


# Slabs of few and of many blocks, more of them than run at once, with short last parts.
LARGE_PLANES = [(16, 64, 64, 64), (16, 24, 256, 128), (3, 40, 96, 100), (2, 320, 64, 64)]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", LARGE_PLANES, ids=str)
@pytest.mark.parametrize("name", ["batch_norm_relu", "group_norm_relu"])
def test_norms_of_large_planes_are_those_of_pytorch(name, shape, dtype):
    x = (normal(0, *shape) + 1).to("cuda", dtype)
    grad = (normal(1, *shape) / 64).to("cuda", dtype)  # keeps sums in the range of FP16
    leaves = [x, *(normal(seed, shape[1]).to("cuda", dtype) for seed in (2, 3, 4))]
    for leaf in leaves:
        leaf.requires_grad_()
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    op = OPS[name]
    assert op.timed is not None

    def of(run: Callable[..., Any], given: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        x, shift, weight, bias = given
        if name == "group_norm_relu":
            return given, results(run(x, shift, 8, weight, bias))[0]
        return [x, weight, bias], results(run(x, weight, bias, None, None, True))[0]

    leaves, y = of(op.operation, leaves)
    wide, exact = of(op.timed.eager, wide)
    unit = torch.finfo(dtype).eps
    found = torch.autograd.grad(y, leaves, grad, retain_graph=True)
    # A ReLU's gradient jumps at 0, as in the test above.
    expected = torch.autograd.grad(exact, wide, grad.double())
    for mine, right in zip((y.detach(), *found), (exact.detach(), *expected), strict=True):
        difference = (mine.double() - right).abs() / right.abs().max()
        assert float((difference > 32 * unit).double().mean()) < 1e-3
    assert all(map(torch.equal, found, torch.autograd.grad(y, leaves, grad)))


@pytest.mark.gpu
def test_norms_of_two_streams_do_not_meet():
    x = normal(0, 16, 64, 64, 64).cuda()
    expected = results(kf.ops.batch_norm_relu(x, None, None, None, None, True))[0]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    found: list[Tensor] = []
    for _ in range(20):
        for stream in streams:
            with torch.cuda.stream(stream):
                found.append(results(kf.ops.batch_norm_relu(x, None, None, None, None, True))[0])
    torch.cuda.synchronize()
    assert all(torch.equal(y, expected) for y in found)


@pytest.mark.gpu
def test_wider_rows_than_a_block_holds_are_pytorchs_and_say_so():
    x = normal(0, 2, 9000).cuda()
    torch.testing.assert_close(kf.ops.layer_norm_relu(x, 9000), F.layer_norm(x, (9000,)).relu())
    with pytest.raises(kf.KernelUnavailable, match="a row has 9000 elements; the native CUDA"):
        kf.kernels.fusion.layer_norm_relu(x, 9000)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_sums_and_norms_that_go_past_the_caches_are_the_same(kind):
    x, residual, weight = normal(0, 2050, 1024), normal(1, 2050, 1024), normal(2, 1024)
    total, y = kf.ops.add_norm(x, residual, [1024], weight, kind=kind)
    assert torch.equal(total, x + residual)
    for rows in (slice(0, 3), slice(2047, 2050)):
        alone = kf.ops.add_norm(x[rows], residual[rows], [1024], weight, kind=kind)
        assert torch.equal(total[rows], alone[0])
        assert torch.equal(y[rows], alone[1])


@pytest.mark.parametrize("name", ["layer_norm_relu", "layer_norm_gelu"])
def test_norms_that_go_past_the_caches_are_the_same(name):
    x, weight, bias = normal(0, 3050, 1024), normal(1, 1024), normal(2, 1024)
    run = getattr(kf.ops, name)
    y = run(x, [1024], weight, bias)
    for rows in (slice(0, 3), slice(3047, 3050)):
        assert torch.equal(y[rows], run(x[rows], [1024], weight, bias))


def test_groups_that_go_past_the_caches_are_the_same():
    x, grad = normal(0, 3, 64, 160, 128), normal(1, 3, 64, 160, 128)

    def of(samples: slice) -> tuple[Tensor, ...]:
        leaf = x[samples].clone().requires_grad_()
        y = results(kf.ops.group_norm_relu(leaf, None, 8, normal(2, 64), normal(3, 64)))[0]
        return y.detach(), *torch.autograd.grad(y, leaf, grad[samples])

    together, alone = of(slice(0, 3)), of(slice(1, 2))
    assert all(torch.equal(y[1:2], each) for y, each in zip(together, alone, strict=True))


def test_gradients_that_go_past_the_caches_are_the_same():
    x, residual, grad = (normal(seed, 2050, 1088) for seed in (0, 1, 2))
    weight, bias = normal(3, 1088), normal(4, 1088)

    def gradients(rows: slice) -> tuple[Tensor, ...]:
        leaf = x[rows].clone().requires_grad_()
        total, y = kf.ops.add_norm(leaf, residual[rows], [1088], weight, bias)
        return torch.autograd.grad((total, y), leaf, (grad[rows], grad[rows].flip(1)))

    (whole,) = gradients(slice(None))
    for rows in (slice(0, 3), slice(2047, 2050)):
        assert torch.equal(whole[rows], gradients(rows)[0])


def test_gradients_of_channels_that_go_past_the_caches_are_the_same():
    x, grad = (normal(seed, 5, 64, 128, 64) for seed in (0, 1))
    weight, bias, mean = (normal(seed, 64) for seed in (2, 3, 4))
    run = torch.ops.styleforge.batch_norm_relu_backward
    of = weight, bias, mean, mean.square() + 0.5, False, 1e-5
    whole = run(grad, x, *of)[0]
    for at in range(5):
        assert torch.equal(whole[at : at + 1], run(grad[at : at + 1], x[at : at + 1], *of)[0])


@pytest.mark.parametrize("name", ["sum_squared", "mean_abs"])
@pytest.mark.parametrize(("dim", "shape"), [([0, 1], (1, 1)), ([0], (1, 1088)), ([1], (3001, 1))])
def test_gradients_of_reductions_that_go_past_the_caches_are_the_same(name, dim, shape):
    x, grad = normal(0, 3001, 1088), normal(1, *shape)
    backward = OPS["reduction_backward"]
    expected = backward.reference(grad, x, name, dim)
    torch.testing.assert_close(backward.operation(grad, x, name, dim), expected)


@ON
def test_the_gradient_of_a_bias_has_derivatives_of_its_own(device):
    x = normal(0, *IMAGE).to(device, torch.float64).requires_grad_()
    run = kf.ops.channel_bias_backward
    torch.testing.assert_close(run(x), x.sum((0, 2, 3)))
    assert torch.autograd.gradcheck(run, (x,), fast_mode=True)
    assert torch.autograd.gradgradcheck(run, (x,), fast_mode=True)
