"""Losses match PyTorch's, in every dtype, with gradients, and need little memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import kernel_fusion as kf
from kernels.jit import build
from kernels.ops.general.loss import api as loss
from kernels.ops.general.loss import linear, operations, rows
from kernels.table.launcher import CpuLauncher
from kernels.table.registry import OPS, prepare

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
ON = pytest.mark.parametrize("device", DEVICES)
DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
IGNORED = 3


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare(["cross_entropy"]):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready, status


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def labels_of(classes: int, *shape: int) -> Tensor:
    return torch.randint(0, classes, shape, generator=torch.Generator().manual_seed(5))


def eager(x: Tensor, labels: Tensor, **options: Any) -> Tensor:
    found = F.cross_entropy(x.flatten(0, -2), labels.flatten(), **options)
    return found.view(labels.shape) if options.get("reduction") == "none" else found


def eager_linear(x: Tensor, w: Tensor, labels: Tensor, b: Tensor | None, **options: Any) -> Tensor:
    return eager(F.linear(x, w, b), labels, **options)


def with_gradients(run: Callable[..., Tensor], *given: Any, **options: Any) -> list[Tensor]:
    leaves = [
        x.detach().clone().requires_grad_()
        if isinstance(x, Tensor) and x.is_floating_point()
        else x
        for x in given
    ]
    found = run(*leaves, **options)
    wanted = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
    grad = normal(8, *found.shape).to(found)
    return [found.detach(), *torch.autograd.grad(found, wanted, grad)]


def assert_as_good(ours: list[Tensor], theirs: list[Tensor], exact: list[Tensor]) -> None:
    """Check that the error against float64 is at most twice PyTorch's own, plus rounding."""
    for mine, eager, right in zip(ours, theirs, exact, strict=True):
        assert mine.dtype == eager.dtype
        assert mine.shape == eager.shape
        largest = float(right.abs().max())
        allowed = 2 * float((eager.double() - right).abs().max())
        # In FP64 the reference itself rounds, differently for each vector width.
        allowed += 16 * torch.finfo(mine.dtype).eps * largest
        assert float((mine.double() - right).abs().max()) <= allowed


def wide(given: list[Any]) -> list[Any]:
    return [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x for x in given]


class Largest(TorchDispatchMode):
    """Records the size of the largest new tensor, in elements, ignoring the given ones."""

    def __init__(self, *given: Tensor | None) -> None:
        super().__init__()
        self.elements = 0
        self._given = {x.untyped_storage().data_ptr() for x in given if x is not None}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, tuple | list) else (made,):
            if isinstance(x, Tensor) and x.untyped_storage().data_ptr() not in self._given:
                self.elements = max(self.elements, x.numel())
        return made


class Written(TorchDispatchMode):
    def __init__(self, shape: torch.Size) -> None:
        super().__init__()
        self.times = 0
        self._shape = shape

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.times += func is torch.ops.aten.addmm_.default and args[0].shape == self._shape
        return func(*args, **(kwargs or {}))


def on_cpu() -> Any:
    """Return the kernel below the dispatcher, so that a mode sees the tensors created around it."""
    return rows.on_cpu(CpuLauncher(build.handle("loss")), torch.float32)


@ON
@DTYPES
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_and_its_gradient_are_pytorchs(device, dtype, reduction, smoothing):
    given = [(3 * normal(0, 4, 9, 501)).to(device, dtype), labels_of(501, 4, 9).to(device)]
    options = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": IGNORED}
    given[1][0, :3] = IGNORED
    assert_as_good(
        with_gradients(kf.ops.cross_entropy, *given, **options),
        with_gradients(eager, *given, **options),
        with_gradients(eager, *wide(given), **options),
    )


@ON
def test_classes_have_weights(device):
    x, labels, weight = normal(0, 30, 7).to(device), labels_of(7, 30).to(device), None
    weight = normal(1, 7).abs().to(device)
    for smoothing in (0.0, 0.2):
        options = {"weight": weight, "label_smoothing": smoothing, "ignore_index": IGNORED}
        ours = with_gradients(kf.ops.cross_entropy, x, labels, **options)
        torch.testing.assert_close(ours, with_gradients(eager, x, labels, **options))
    with pytest.raises(RuntimeError, match="weight requires a gradient"):
        kf.ops.cross_entropy(x, labels, weight=weight.requires_grad_()).backward()


@ON
def test_shifted_logits_are_read_where_they_lie(device):
    x, labels = normal(0, 3, 6, 40).to(device), labels_of(40, 3, 6).to(device)

    def run(loss: Callable[..., Tensor]) -> list[Tensor]:
        return with_gradients(lambda x: loss(x[:, :-1], labels[:, 1:]), x)

    torch.testing.assert_close(run(kf.ops.cross_entropy), run(eager))


def test_cross_entropy_keeps_nothing_of_the_size_of_logits():
    x, labels = normal(0, 3, 6, 400)[:, :-1], labels_of(400, 3, 5)
    with Largest(x) as seen:
        operations.cross_entropy(on_cpu(), x, labels)
    assert seen.elements == labels.numel()


@ON
def test_a_class_that_is_masked_has_no_gradient(device):
    x, labels = normal(0, 6, 40).to(device), torch.arange(6, device=device)
    x[:, 10:20] = -torch.inf
    loss, grad = with_gradients(kf.ops.cross_entropy, x, labels)
    assert not grad[:, 10:20].any()
    torch.testing.assert_close([loss, grad], with_gradients(eager, x, labels))


@ON
def test_what_all_rows_ignore_and_what_is_no_class_is_nan(device):
    x, labels = normal(0, 4, 5).to(device), torch.full((4,), -100, device=device)
    assert kf.ops.cross_entropy(x, labels).isnan()
    assert kf.ops.cross_entropy(x, labels, reduction="sum") == 0
    weight = normal(1, 5, 5).to(device)
    assert not with_gradients(kf.ops.cross_entropy, x, labels)[1].any()
    for chunk in (0, 2):  # forward computes the gradient of the logits, or the layer's
        found = with_gradients(kf.ops.linear_cross_entropy, x, weight, labels, chunk_size=chunk)
        assert found[0].isnan()
        assert not found[1].any()
        assert not found[2].any()
    labels[1], labels[2] = 5, 2
    each = kf.ops.cross_entropy(x, labels, reduction="none")
    assert each.isnan().tolist() == [False, True, False, False]


@ON
@DTYPES
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("chunk", [0, 5])
def test_the_cross_entropy_of_a_linear_layer_is_pytorchs(device, dtype, reduction, chunk):
    given = [
        normal(0, 3, 6, 32).to(device, dtype),
        (normal(1, 50, 32) / 4).to(device, dtype),
        labels_of(50, 3, 6).to(device),
        normal(2, 50).to(device, dtype),
    ]
    options = {"reduction": reduction, "label_smoothing": 0.1, "ignore_index": IGNORED}
    assert_as_good(
        with_gradients(kf.ops.linear_cross_entropy, *given, chunk_size=chunk, **options),
        with_gradients(eager_linear, *given, **options),
        with_gradients(eager_linear, *wide(given), **options),
    )


def kept_of(loss: Any) -> list[Tensor]:
    return loss.grad_fn.saved_tensors


def test_only_the_gradients_that_are_wanted_are_computed():
    hidden, weight, labels = normal(0, 9, 8).requires_grad_(), normal(1, 20, 8), labels_of(20, 9)
    loss = kf.ops.linear_cross_entropy(hidden, weight, labels)
    kept = kept_of(loss)
    assert [tuple(x.shape) for x in kept[-3:]] == [(9, 8), (0,), (0,)]
    (found,) = torch.autograd.grad(loss, hidden, retain_graph=True)
    (again,) = torch.autograd.grad(loss, hidden)
    assert torch.equal(found, again)
    (expected,) = torch.autograd.grad(eager_linear(hidden, weight, labels, None), hidden)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_second_derivatives_are_right(reduction):
    x, labels = normal(0, 3, 4).double().requires_grad_(), labels_of(4, 3)
    hidden, weight = (
        normal(seed, size, 3).double().requires_grad_() for seed, size in ((1, 3), (2, 4))
    )
    options = {"reduction": reduction, "label_smoothing": 0.1, "ignore_index": IGNORED}
    for run, given in (
        (lambda x: kf.ops.cross_entropy(x, labels, **options), (x,)),
        (lambda h, w: kf.ops.linear_cross_entropy(h, w, labels, **options), (hidden, weight)),
        (lambda x, y: kf.ops.mse_loss(x, y, reduction), (x, normal(3, 3, 4).double())),
    ):
        assert torch.autograd.gradgradcheck(run, given, atol=1e-4)


@pytest.mark.parametrize("bias", [False, True])
def test_all_logits_are_never_in_memory(monkeypatch, bias):
    monkeypatch.setattr(linear, "FEWEST_ON_CPU", 1)
    rows, classes, features = 64, 4000, 4
    hidden, weight = normal(0, rows, features), normal(1, classes, features)
    given = hidden, weight, labels_of(classes, rows), normal(2, classes) if bias else None
    with Largest(*given) as seen:
        operations.linear_cross_entropy(on_cpu(), *given, wanted=7 if bias else 3)
        operations.linear_cross_entropy_backward(
            on_cpu(), torch.ones(rows), *given, wanted=7 if bias else 3
        )
    assert seen.elements == rows * classes // linear.PARTS


def test_a_gradient_is_scaled_where_it_lies_unless_the_graph_is_kept():
    hidden, weight = normal(0, 9, 8).requires_grad_(), normal(1, 20, 8).requires_grad_()
    labels, factor = labels_of(20, 9), torch.tensor(3.0)
    loss = kf.ops.linear_cross_entropy(hidden, weight, labels)
    made = [x.data_ptr() for x in kept_of(loss)[-3:-1]]
    kept = torch.autograd.grad(loss, (hidden, weight), factor, retain_graph=True)
    assert not {x.data_ptr() for x in kept} & {*made}
    last = torch.autograd.grad(loss, (hidden, weight), factor)
    assert [x.data_ptr() for x in last] == made
    assert all(map(torch.equal, kept, last))


@pytest.mark.parametrize(("wanted", "chunk"), [(linear.WEIGHT, 32), (linear.HIDDEN, 20)])
def test_the_gradient_of_a_wide_weight_is_written_for_few_chunks(monkeypatch, wanted, chunk):
    monkeypatch.setattr(linear, "FEWEST_ON_CPU", 1)
    hidden, weight, labels = normal(0, 160, 128), normal(1, 2000, 128), labels_of(2000, 160)
    with Largest(hidden, weight, labels) as seen:
        operations.linear_cross_entropy(on_cpu(), hidden, weight, labels, wanted=wanted)
    assert seen.elements == (weight.numel() if wanted == linear.WEIGHT else chunk * 2000)
    with Written(weight.shape) as written:
        operations.linear_cross_entropy(on_cpu(), hidden, weight, labels, wanted=wanted)
    assert written.times == (160 // chunk if wanted == linear.WEIGHT else 0)


def test_of_few_rows_backward_scales_no_gradient_of_the_weight(monkeypatch):
    given = normal(0, 2, 8, 32), normal(1, 500, 32), normal(2, 500)
    hidden, weight, bias = (x.requires_grad_() for x in given)
    labels, scaled = labels_of(500, 2, 8), list[int]()
    scale = loss.linear_cross_entropy_scaled_backward

    def noted(gradients: list[Tensor], *by: Tensor) -> None:
        scaled.extend(x.numel() for x in gradients)
        scale(gradients, *by)

    monkeypatch.setattr(loss, "linear_cross_entropy_scaled_backward", noted)
    whole = kf.ops.linear_cross_entropy(hidden, weight, labels, bias)
    kept = kept_of(whole)[-4:]
    assert [tuple(x.shape) for x in kept] == [(16, 500), (0,), (0,), (0,)]
    factor = torch.tensor(3.0)
    first, again = (
        torch.autograd.grad(whole, (hidden, weight, bias), factor, retain_graph=keeps)
        for keeps in (True, False)
    )
    assert max(scaled) == hidden.numel()
    assert all(map(torch.equal, first, again))
    parts = kf.ops.linear_cross_entropy(hidden, weight, labels, bias, chunk_size=4)
    assert kept_of(parts)[-4].numel() == 0
    torch.testing.assert_close(first, torch.autograd.grad(parts, (hidden, weight, bias), factor))


def test_rows_keep_the_gradient_of_logits_where_that_is_the_smaller_one():
    head = linear.Head(normal(0, 1, 32), normal(1, 500, 32), None)
    kept = [linear.keeps_logits(head, rows, linear.WEIGHT, 0) for rows in (0, 1, 32, 33)]
    assert kept == [False, True, True, False]
    assert not linear.keeps_logits(head, 8, linear.WEIGHT, 7)
    assert not linear.keeps_logits(head, 8, linear.HIDDEN, 0)


def test_a_chunk_is_an_eighth_of_the_rows_within_bounds():
    assert linear.rows_at_a_time(8192, 128256) == 1024
    assert linear.rows_at_a_time(1024, 1000) == 512
    assert linear.rows_at_a_time(4096, 1000, on_cpu=True) == 1024
    assert linear.rows_at_a_time(2048, 1000, features=2048) == 512
    assert linear.rows_at_a_time(8192, 128256, features=8192) == (1 << 27) // 128256
    assert linear.rows_at_a_time(100000, 1 << 20) == 128
    assert linear.rows_at_a_time(5, 1 << 28) == 1


@ON
@DTYPES
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_squared_error_is_pytorchs(device, dtype, reduction):
    given = [normal(seed, 33, 70).to(device, dtype) for seed in range(2)]
    assert_as_good(
        with_gradients(kf.ops.mse_loss, *given, reduction=reduction),
        with_gradients(F.mse_loss, *given, reduction=reduction),
        with_gradients(F.mse_loss, *wide(given), reduction=reduction),
    )
    empty = torch.zeros(0, 3, device=device, dtype=dtype)
    assert kf.ops.mse_loss(empty, empty, "sum") == 0


@ON
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("is_autocast", [False, True])
def test_the_squared_error_of_mixed_dtypes_and_under_autocast_is_pytorchs(
    device, is_autocast, reduction
):
    def promoted(x: Tensor, y: Tensor, reduction: str) -> Tensor:
        """Promote; PyTorch's gradient refuses mixed dtypes on GPUs, and on CPUs before 2.12."""
        common = torch.promote_types(x.dtype, y.dtype)
        return F.mse_loss(x.to(common), y.to(common), reduction=reduction)

    def found(run: Callable[..., Tensor], on: str, *dtypes: torch.dtype) -> list[Tensor]:
        given = [normal(seed, 33, 70).to(on, dtype) for seed, dtype in enumerate(dtypes)]
        with torch.autocast(on, torch.bfloat16, enabled=is_autocast):
            return [x.to(device) for x in with_gradients(run, *given, reduction=reduction)]

    floats = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    for first, second in itertools.product(floats, floats):
        ours = found(kf.ops.mse_loss, device, first, second)
        theirs = found(promoted, "cpu", first, second)
        assert [x.dtype for x in ours] == [x.dtype for x in theirs]
        for mine, right in zip(ours, theirs, strict=True):
            unit = torch.finfo(mine.dtype).eps
            torch.testing.assert_close(mine, right, rtol=4 * unit, atol=4 * unit)
    whole = torch.ones(2, 3, dtype=torch.int64, device=device)
    assert kf.ops.mse_loss(torch.zeros(2, 3, device=device), whole) == 1


@pytest.mark.parametrize("name", ["cross_entropy", "linear_cross_entropy", "mse_loss"])
def test_the_number_of_threads_changes_no_bit(name):
    labels = labels_of(700, 40)
    given = {
        "cross_entropy": (normal(0, 40, 700), labels),
        "mse_loss": (normal(0, 300, 700), normal(1, 300, 700)),
        "linear_cross_entropy": (normal(0, 40, 1), normal(1, 700, 1), labels),
    }[name]
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append(OPS[name].operation(*given))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@ON
def test_under_autocast_a_loss_is_fp32_and_a_layer_is_multiplied_in_its_dtype(device):
    hidden, weight = normal(0, 9, 16).to(device), normal(1, 40, 16).to(device)
    labels = labels_of(40, 9).to(device)
    with torch.autocast(device, torch.bfloat16):
        ours = with_gradients(kf.ops.linear_cross_entropy, hidden, weight, labels)
        theirs = with_gradients(lambda h, w: eager(F.linear(h, w), labels), hidden, weight)
        loss = kf.ops.cross_entropy(F.linear(hidden, weight), labels)
    assert_as_good(
        ours, theirs, with_gradients(eager_linear, *wide([hidden, weight, labels, None]))
    )
    assert loss.dtype == torch.float32
    half = hidden.half() @ weight.half().t()
    assert kf.ops.cross_entropy(half, labels, dtype=torch.float32).dtype == torch.float32


def test_what_does_not_fit_is_named():
    x, labels = torch.zeros(3, 4), torch.zeros(3, dtype=torch.int64)
    weight, mse = torch.zeros(4, 4), kf.ops.mse_loss
    cases: list[tuple[str, Callable[[], Any]]] = [
        (r"logits is torch\.int64 \[3\]; exp", lambda: kf.ops.cross_entropy(labels, labels)),
        (
            r"labels is torch\.float32 \[3, 4\]; expected int64 \[3\]",
            lambda: kf.ops.cross_entropy(x, x),
        ),
        (r"weight has the shape \[4, 4\]", lambda: kf.ops.cross_entropy(x, labels, weight=weight)),
        ("reduction is 'max'", lambda: kf.ops.cross_entropy(x, labels, reduction="max")),
        (r"label_smoothing is 2\.0", lambda: kf.ops.cross_entropy(x, labels, label_smoothing=2.0)),
        (r"weight has the shape \[3\]", lambda: kf.ops.linear_cross_entropy(x, x[:, 0], labels)),
        (
            r"bias has the shape \[3\]",
            lambda: kf.ops.linear_cross_entropy(x, weight, labels, x[:, 0]),
        ),
        (
            r"weight is a tensor of torch\.float16; expected torch\.float32",
            lambda: kf.ops.linear_cross_entropy(x, weight.half(), labels),
        ),
        (
            r"dtype is torch\.int64; exp",
            lambda: kf.ops.cross_entropy(x, labels, dtype=labels.dtype),
        ),
        (
            r"gradients\[0\] is torch\.float32 of strides \(1, 4\); expected contiguous",
            lambda: kf.ops.linear_cross_entropy_scaled_backward([x.t()], x[0, 0], x[0, 0]),
        ),
        (
            r"gradients\[0\] is torch\.float64 on cpu, with a divisor of torch\.float32",
            lambda: kf.ops.linear_cross_entropy_scaled_backward([x.double()], x[0, 0], x[0, 0]),
        ),
        (
            r"grad is torch\.float32 \[4\] on cpu; expected one floating element",
            lambda: kf.ops.linear_cross_entropy_scaled_backward([x], x[0], x[0, 0]),
        ),
        (
            r"lse is torch\.float16 \[3\]; expected torch\.float32 of 3 elements",
            lambda: kf.ops.cross_entropy_backward(x[0, 0], x, labels, x[:, 0].half(), x[0, 0]),
        ),
        (
            r"divisor is torch\.float32 \[3\]; expected torch\.float32 of 1 elements",
            lambda: kf.ops.cross_entropy_backward(x[0, 0], x, labels, x[:, 0], x[:, 0]),
        ),
        ("chunk_size is -1", lambda: kf.ops.linear_cross_entropy(x, weight, labels, chunk_size=-1)),
        (
            r"target is torch\.float32 \[3\]; expected torch\.float32 \[3, 4\]",
            lambda: mse(x, x[:, 0]),
        ),
        ("mse_loss: reduction is 'max'", lambda: mse(x, x, "max")),
    ]
    for message, call in cases:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(kf.KernelUnavailable, match=r"no native CPU kernel in torch\.float64"):
        kf.kernels.loss.cross_entropy(x.double(), labels)
    assert kf.kernels.loss.cross_entropy(x, labels) == kf.ops.cross_entropy(x, labels)


@pytest.mark.slow
@ON
def test_they_compile_into_one_graph_with_their_gradients(device):
    labels, weight = labels_of(20, 6).to(device), normal(1, 20, 8).to(device)

    def run(hidden: Tensor) -> Tensor:
        logits = hidden @ weight.t()
        both = kf.ops.cross_entropy(logits, labels) + kf.ops.mse_loss(logits, logits * 2)
        whole = kf.ops.linear_cross_entropy(hidden, weight, labels)
        return both + whole + kf.ops.linear_cross_entropy(hidden, weight, labels, chunk_size=4)

    hidden = normal(0, 6, 8).to(device)
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(with_gradients(compiled, hidden), with_gradients(run, hidden))


@pytest.mark.gpu
def test_a_cuda_graph_replays_them():
    x, labels = normal(0, 64, 1000).cuda(), labels_of(1000, 64).cuda()
    kf.ops.cross_entropy(x, labels)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = kf.ops.cross_entropy(x, labels)
    x.copy_(normal(1, 64, 1000))
    graph.replay()
    assert torch.equal(loss, kf.ops.cross_entropy(x, labels))


def peak_on_gpu(run: Callable[..., Tensor], rows: int, classes: int, features: int) -> int:
    """Return the peak of bytes that a step of a head allocates, gradients included."""
    hidden, weight = normal(0, rows, features), normal(1, classes, features)
    leaves = [x.cuda().requires_grad_() for x in (hidden, weight)]
    labels = labels_of(classes, rows).cuda()
    torch.autograd.grad(run(*leaves, labels), leaves)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(run(*leaves, labels), leaves)
    return torch.cuda.max_memory_allocated() - before


def eager_head(hidden: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    return eager_linear(hidden, weight, labels, None)


@pytest.mark.gpu
def test_on_a_gpu_a_linear_layer_needs_a_fifth_of_the_memory():
    of = 2048, 32000, 64
    assert peak_on_gpu(kf.ops.linear_cross_entropy, *of) * 5 < peak_on_gpu(eager_head, *of)


@pytest.mark.gpu
def test_on_a_gpu_the_gradient_of_a_weight_is_in_memory_once():
    rows, classes, features = 1024, 8192, 1024
    gradients = 4 * features * (classes + rows)
    chunk = 4 * linear.FEWEST_ROWS * (classes + 2 * features)  # logits and their product
    peak = peak_on_gpu(kf.ops.linear_cross_entropy, rows, classes, features)
    assert peak < 1.1 * (gradients + chunk)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_squares_that_go_past_the_caches_are_pytorchs(dtype):
    generator = torch.Generator().manual_seed(0)
    x, target = (torch.randn(2051, 2049, generator=generator).to(dtype) for _ in range(2))
    for reduction, grad in (("sum", 0.3), ("mean", 3e4)):
        given = torch.tensor(grad, dtype=dtype)
        found = torch.ops.styleforge.mse_loss_backward(given, x, target, reduction)
        factor = 2 * given.double() / (x.numel() if reduction == "mean" else 1)
        expected = (factor * (x.double() - target.double())).to(dtype)
        torch.testing.assert_close(found, expected)
    with pytest.raises(ValueError, match=r"expected torch.float\d+|expected torch.bfloat16"):
        torch.ops.styleforge.mse_loss_backward(x, x, target, "sum")
