"""Operations composed of PyTorch's and others: linear layers and convolutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import kernel_fusion as kf
from kernels.ops.general.conv import api as conv
from kernels.ops.general.conv import composed as convolved
from kernels.ops.general.linear import api as linear
from kernels.table.autograd import tensors_of
from kernels.table.registry import OPS, prepare

ROWS = [op for op in OPS.values() if op.group in ("linear", "conv")]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare(["bias_gelu"]):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)


def changed(value: Any, device: str, wide: bool) -> Any:
    """Return a copy of an argument on a device, a leaf if it has a gradient."""
    if isinstance(value, list) and value and isinstance(value[0], Tensor):
        return [changed(each, device, wide) for each in value]
    if not isinstance(value, Tensor):
        return value
    if not value.is_floating_point():
        return value.to(device)
    return value.detach().to(device, torch.float64 if wide else None, copy=True)


def apart(found: Tensor, exact: Tensor) -> float:
    return float((found.double() - exact).abs().max() / exact.abs().max().clamp_min(1e-30))


def test_a_layer_is_timed_beside_pytorchs_kernel_for_it_and_exact_without(monkeypatch):
    def refuse(*_: object) -> Tensor:
        raise RuntimeError("too many resources requested for launch")

    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", refuse)
    op = OPS["transformer_layer"]
    assert op.timed is not None
    state = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).state_dict()
    given = torch.rand(1, 5, 16), list(state.values())
    with torch.inference_mode():
        with pytest.raises(RuntimeError, match="too many resources"):
            op.timed.eager(*given, 2)
        exact = op.timed.eager(given[0].double(), [x.double() for x in given[1]], 2)
    assert exact.isfinite().all()
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_it_computes_what_its_reference_computes(op, device):
    for sample in op.samples():
        arguments = [changed(value, device, wide=False) for value in sample]
        exact = op.reference(*(changed(value, device, wide=True) for value in sample))
        theirs = op.reference(*(changed(value, device, wide=False) for value in sample))
        ours = op.operation(*arguments)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        unit = 1e-5 if ours.dtype == torch.float32 else torch.finfo(ours.dtype).eps
        assert apart(ours, exact) <= max(2 * apart(theirs, exact), unit)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_its_gradients_are_its_references(op, device):
    for sample in op.samples():
        if next(tensors_of(sample)).dtype != torch.float32:
            continue
        found = []
        for run in (op.operation, op.reference):
            arguments = [changed(value, device, wide=False) for value in sample]
            lists = [value for value in arguments[3:] if isinstance(value, list)]
            leaves = list(tensors_of([*arguments[:3], *lists]))
            for x in leaves:
                x.requires_grad_()
            with torch.backends.cudnn.flags(allow_tf32=False):
                run(*arguments).square().sum().backward()
            found.append([x.grad for x in leaves])
        for ours, theirs in zip(*found, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_layer_is_pytorchs_encoders_and_decoders(norm_first):
    options: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 3, 16)
    encoder = nn.TransformerEncoderLayer(16, 4, 32, **options)
    weights = list(encoder.parameters())
    found = kf.ops.transformer_layer(x, weights, 4, "relu", norm_first)
    torch.testing.assert_close(found, encoder(x))
    decoder = nn.TransformerDecoderLayer(16, 4, 32, **options)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    weights = list(decoder.parameters())
    found = kf.ops.transformer_layer(x, weights, 4, "relu", norm_first, memory, None, True)
    torch.testing.assert_close(found, decoder(x, memory, tgt_mask=mask))


@pytest.mark.parametrize("compiled", [False, True])
def test_batch_norm_in_training_updates_the_running_statistics(compiled):
    conv, bn, x = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), torch.randn(5, 3, 8, 8)
    mean, var = bn.get_buffer("running_mean").clone(), bn.get_buffer("running_var").clone()

    def run(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        norm = bn.weight, bn.bias, mean, var
        return kf.ops.conv2d_bn_relu(x, conv.weight, conv.bias, *norm, True, stride=2)

    if compiled:
        run = torch.compile(run, fullgraph=True, backend="aot_eager")
    found = run(x, mean, var)
    torch.testing.assert_close(found, F.relu(bn(F.conv2d(x, conv.weight, conv.bias, stride=2))))
    torch.testing.assert_close(mean, bn.running_mean)
    torch.testing.assert_close(var, bn.running_var)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_layers_relu_takes_the_side_of_the_sum_that_is_rounded_once(dtype):
    generator = torch.Generator().manual_seed(0)
    shapes = (200, 512), (300, 512), (300,)
    x, weight, bias = given = [
        torch.randn(s, generator=generator).to(dtype).requires_grad_() for s in shapes
    ]
    found = [
        torch.autograd.grad(y, given, torch.ones_like(y))
        for y in (kf.ops.linear_activation(x, weight, bias), F.relu(F.linear(*given)))
    ]
    assert all(map(torch.equal, *found))


def test_the_same_seed_drops_the_same():
    x, weight = torch.randn(1, 2, 9, 9), torch.randn(4, 2, 3, 3)
    torch.manual_seed(3)
    first = kf.ops.conv2d_gelu_dropout(x, weight, p=0.5)
    torch.manual_seed(3)
    assert torch.equal(kf.ops.conv2d_gelu_dropout(x, weight, p=0.5), first)
    assert 0.3 < float((first == 0).double().mean()) < 0.7


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("linear_activation", ((2, 3), (4, 5), None), r"weight has the shape \[4, 5\]; expected"),
        ("linear_activation", ((2, 3), (4, 3), (3,)), r"bias has the shape \[3\]; expected \[4\]"),
        ("ffn", ((2, 3), (4, 3), None, (3, 5), None), r"weight has the shape \[3, 5\]; expected"),
        ("conv2d_gelu_dropout", ((1, 2, 5, 5), (4, 3, 3, 3)), r"weight has the shape \[4, 3, 3"),
        ("depthwise_pointwise_conv", ((1, 2, 5, 5), (2, 1, 3, 3), (4, 3, 1, 1)), "pointwise has"),
        ("grouped_conv_norm", ((1, 2, 5, 5), (4, 2, 3, 3), None, 3), "norm_groups is 3; expected"),
        ("grouped_conv_norm", ((2, 5, 5), (4, 2, 3, 3), None, 2), r"x has the shape \[2, 5, 5\]"),
        (
            "conv2d_bn_relu",
            ((2, 5, 5), (4, 2, 3, 3), None, None, None, (4,), (4,)),
            r"x has the shape \[2, 5, 5\]; expected \[N, channels, height, width\]",
        ),
    ],
)
def test_what_does_not_fit_is_named(name, arguments, message):
    given = [torch.zeros(each) if isinstance(each, tuple) else each for each in arguments]
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        getattr(kf.ops, name)(*given)


def test_an_unknown_activation_and_a_mixed_dtype_are_named():
    x, weight = torch.zeros(2, 3), torch.zeros(4, 3)
    with pytest.raises(ValueError, match="activation is 'swish'; expected one of 'none', 'relu'"):
        kf.ops.linear_activation(x, weight, None, "swish")
    with pytest.raises(ValueError, match=r"weight is a tensor of torch\.float64; expected"):
        kf.ops.linear_activation(x, weight.double(), None, "relu")
    with pytest.raises(
        ValueError,
        match="weights are 1 tensors; expected 12, in the order of the parameters of an encoder",
    ):
        kf.ops.transformer_layer(torch.zeros(1, 2, 4), [weight], 2)


class Largest(TorchDispatchMode):
    """Records the size of the largest new tensor, in elements."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in tensors_of(made if isinstance(made, tuple | list) else (made,)):
            self.elements = max(self.elements, x.numel())
        return made


@pytest.mark.parametrize("biases", [True, False])
def test_a_network_without_a_gradient_has_a_part_of_its_hidden_layer_at_a_time(biases, monkeypatch):
    x, weight1, weight2 = (
        linear.normal(0, 5, 6, 8),
        linear.normal(1, 64, 8),
        linear.normal(2, 4, 64),
    )
    row1, row2 = (linear.normal(3, 64), linear.normal(4, 4)) if biases else (None, None)
    given = x, weight1, row1, weight2, row2
    whole = kf.ops.ffn(*given)
    monkeypatch.setattr(linear, "_parts", lambda _: 4)
    with torch.no_grad(), Largest() as largest:
        found = kf.ops.ffn(*given)
    assert found.shape == (5, 6, 4)
    torch.testing.assert_close(found, whole)
    assert largest.elements == max(weight1.numel(), 8 * 64)  # eight of thirty rows
    with Largest() as largest:
        kf.ops.ffn(x.clone().requires_grad_(), *given[1:])
    assert largest.elements == 30 * 64


def test_a_gpu_takes_parts_of_two_thousand_rows(monkeypatch):
    class OnGpu(Tensor):
        is_cuda = True

    def parts(*shape: int) -> int:
        return linear._parts(torch.empty(shape, device="meta").as_subclass(OnGpu))

    assert [parts(100, 8), parts(4095, 8), parts(4, 1024, 8), parts(4, 2000, 8)] == [1, 1, 2, 3]
    assert linear._parts(torch.empty(8192, 8, device="meta")) == 1


@pytest.mark.gpu
def test_on_a_gpu_a_transformers_layer_needs_half_of_its_hidden_layer():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True).cuda().eval()
    x, weights = linear.normal(0, 16, 512, 512).cuda(), list(layer.parameters())

    def run() -> Tensor:
        with torch.no_grad():
            return kf.ops.transformer_layer(x, weights, 8)

    run()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    # The hidden layer needs four times the memory of x, or eight times if stored before and after
    # GELU.
    assert torch.cuda.max_memory_allocated() - before < 5 * x.numel() * x.element_size()


class Biases(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[bool] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.convolution.default:
            self.found.append(args[2] is not None)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "name", ["conv2d_bn_relu", "depthwise_pointwise_conv", "grouped_conv_norm"]
)
def test_where_a_bias_is_a_pass_of_its_own_it_is_that_of_the_activation(name, monkeypatch):
    monkeypatch.setattr(convolved, "_bias_is_apart", lambda _: True)
    op = OPS[name]
    image, channels = conv.normal(0, 2, 4, 6, 5), conv.normal(2, 6)
    norm = channels + 1, channels, channels.clone(), channels.square() + 1, False, 0.1, 1e-5
    given = {
        "conv2d_bn_relu": (image, conv.normal(1, 6, 4, 3, 3), channels, *norm),
        "depthwise_pointwise_conv": (
            *(image, conv.normal(1, 4, 1, 3, 3), conv.normal(3, 6, 4, 1, 1), None, channels),
            "relu",
        ),
        "grouped_conv_norm": (
            *(image + 20, conv.normal(1, 6, 2, 3, 3), channels * 9, 3, channels + 1, channels),
            *("relu", 1e-5, None, None, None, 2),
        ),
    }[name]
    with torch.no_grad(), Biases() as biases:
        found = op.operation(*given)
    torch.testing.assert_close(found, op.reference(*given))
    assert biases.found
    assert not any(biases.found)


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("conv2d_bn_relu", 1),
        ("depthwise_pointwise_conv", 2),
        ("conv2d_gelu_dropout", 1),
        ("grouped_conv_norm", 1),
    ],
)
def test_where_a_bias_is_a_pass_of_its_own_its_gradient_is_summed_by_ours(name, sums, monkeypatch):
    monkeypatch.setattr(convolved, "_bias_is_apart", lambda _: True)
    summed: list[torch.Size] = []

    def record(grad: Tensor) -> Tensor:
        summed.append(grad.shape)
        return grad.sum((0, 2, 3))

    monkeypatch.setattr(convolved, "channel_bias_backward", record)
    image, channels = conv.normal(0, 2, 4, 6, 5).double(), conv.normal(2, 6).double()
    kernel, grouped = conv.normal(1, 6, 4, 3, 3).double(), conv.normal(1, 6, 2, 3, 3).double()
    parts = conv.normal(1, 4, 1, 3, 3).double(), conv.normal(3, 6, 4, 1, 1).double()
    norm = channels + 1, channels, channels.clone(), channels.square() + 1, True, 0.1, 1e-5
    last = None, None, "none", 1e-5, None, None, None, 2
    bias = channels.clone().requires_grad_()
    given, of = {
        "conv2d_bn_relu": ((image, kernel, bias, *norm), [bias]),
        "depthwise_pointwise_conv": ((image, *parts, bias[:4], bias), [bias]),
        "conv2d_gelu_dropout": ((image, kernel, bias, 0.5, False), [bias, kernel]),
        "grouped_conv_norm": ((image, grouped, bias, 3, *last), [bias, grouped]),
    }[name]
    for x in of:
        x.requires_grad_()
    op, found = OPS[name], []
    for run in (op.operation, op.reference):
        result = run(*given)
        if name == "depthwise_pointwise_conv":
            result.mul_(2)  # a convolution's result may be modified in place
        first = torch.autograd.grad(result.square().sum(), of, create_graph=True)
        assert len(summed) == sums  # the reference adds none
        total = torch.stack([x.square().sum() for x in first]).sum()
        found.append([*first, *torch.autograd.grad(total, of)])
        del summed[sums:]
    for mine, right in zip(*found, strict=True):
        torch.testing.assert_close(mine, right)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("apart_from_norm", [False, True], ids=["biased", "apart"])
def test_a_group_norm_with_gradients_is_joined_with_relu(dtype, apart_from_norm, monkeypatch):
    """It also joins the bias, if PyTorch would add that in a separate pass."""
    op = OPS["grouped_conv_norm"]
    image, channels = conv.normal(0, 2, 4, 6, 5), conv.normal(2, 6)
    given = [image + 2, conv.normal(1, 6, 2, 3, 3), channels * 9, channels + 1, channels]
    leaves = [x.to(dtype).requires_grad_() for x in given]
    joined: list[Any] = []

    def record(*args: Any) -> Any:
        joined.append(args[1])
        return kf.ops.group_norm_relu(*args)

    monkeypatch.setattr(convolved, "_bias_is_apart", lambda _: apart_from_norm)
    monkeypatch.setattr(convolved, "group_norm_relu", record)
    found = []
    for run, wide in ((op.operation, False), (op.reference, False), (op.reference, True)):
        x, weight, bias, *norm = (x.double() for x in leaves) if wide else leaves
        result = run(x, weight, bias, 3, *norm, "relu", 1e-5, None, None, None, 2)
        found.append([result.detach(), *torch.autograd.grad(result.square().sum(), leaves)])
    assert len(joined) == 1
    assert joined[0] is (leaves[2] if apart_from_norm else None)
    for mine, theirs, exact in zip(*found, strict=True):
        assert mine.dtype == dtype
        assert apart(mine, exact) <= 2 * apart(theirs, exact) + 8 * torch.finfo(dtype).eps
