"""The fused operations match their references, on the CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernels.conv2d_wrapper import FusedConv2d
from kernels.conv_fusion_wrapper import FusedConvInstanceNormReLU
from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.ops import (
    fused_conv_instancenorm_forward,
    fused_conv_reflection_pad_forward,
    fused_instance_norm_forward,
    fused_residual_block_forward,
)
from kernels.ops.style.convolution.api import unavailable_reason
from kernels.residual_block_wrapper import FusedResidualBlock
from kernels.table.registry import OPS, prepare
from models.layers import ResidualBlock
from tests.helpers.daily import matrix

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
LAYOUTS = [torch.contiguous_format, torch.channels_last]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
# On a GPU, cuDNN takes over where it is faster; both ways must pass.
OWN = pytest.mark.parametrize("own", [True, False], ids=["own kernel", "as shipped"])
TF32 = 2.0**-10

pytestmark = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """Load the native kernels; without a compiler, the operations are their references.

    Running without native kernels is tested separately.
    """
    statuses = prepare(list(OPS))
    if "no C++ compiler" in statuses[0].reason:
        pytest.skip(statuses[0].reason)
    assert all(status.ready or status.by_choice for status in statuses), statuses


@pytest.fixture(autouse=True, params=[False], ids=["exact"])
def tf32(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Keep FP32 convolutions in FP32 unless a test requests TF32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = request.param
    yield request.param
    torch.backends.cudnn.allow_tf32 = before


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def kernel_of(out: int, channels: int, size: int, seed: int = 1) -> Tensor:
    return normal(out, channels, size, size, seed=seed) / (channels * size * size) ** 0.5


def worst(got: Tensor, expected: Tensor) -> float:
    return float((got.double() - expected).abs().max())


def unit(dtype: torch.dtype, expected: Tensor) -> float:
    """Return one unit in the last place, since results may round either way."""
    return torch.finfo(dtype).eps * float(expected.abs().max())


def convolved(
    x: Tensor, weight: Tensor, bias: Tensor | None, pad: int, stride: int | tuple[int, int] = 1
) -> Tensor:
    return F.conv2d(F.pad(x, (pad,) * 4, mode="reflect"), weight, bias, stride)


# Instance norm

PLANES = [
    (1, 1, 1, 2), (1, 3, 7, 13), (2, 33, 5, 2), (3, 40, 33, 17), (1, 16, 64, 64),
    (1, 4, 128, 129), (2, 3, 250, 260), (1, 2, 512, 512), (1, 1, 521, 523),
]  # fmt: skip


@matrix({"shape": PLANES, "layout": LAYOUTS, "dtype": DTYPES, "vectorized": [True, False]})
def test_the_norm_errs_at_most_twice_as_much_as_pytorch(shape, layout, dtype, vectorized, device):
    x = (normal(*shape) * 3 + 5).to(device, dtype).contiguous(memory_format=layout)
    gamma, beta = normal(shape[1], seed=1).to(device), normal(shape[1], seed=2).to(device)
    expected = F.instance_norm(x.double(), weight=gamma.double(), bias=beta.double())
    pytorch = F.instance_norm(x, weight=gamma.to(dtype), bias=beta.to(dtype))
    got = fused_instance_norm_forward(x, gamma, beta, 1e-5, vectorized)
    assert got.dtype == dtype
    assert got.stride() == x.stride()
    assert worst(got, expected) <= 2 * worst(pytorch, expected) + unit(dtype, expected)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("shape", [(2, 24, 30, 33), (1, 3, 300, 301), (1, 1, 600, 601)], ids=str)
def test_the_norm_adds_a_residual_before_its_relu(shape, layout, device):
    x, residual = (normal(*shape, seed=s).to(device) for s in (0, 1))
    x = x.contiguous(memory_format=layout)
    gamma, beta = normal(shape[1], seed=2).to(device), normal(shape[1], seed=3).to(device)
    expected = F.instance_norm(x.double(), weight=gamma.double(), bias=beta.double()) + residual
    got = fused_instance_norm_forward(x, gamma, beta, residual=residual, relu=True)
    assert worst(got, expected.relu()) < 1e-5
    half = fused_instance_norm_forward(
        x.half(), gamma.half(), beta.half(), residual=residual.half()
    )
    assert worst(half, expected) < 0.02


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("shape", [(1, 8, 64, 80), (1, 2, 256, 250), (1, 1, 700, 520)], ids=str)
def test_a_mean_a_thousand_times_the_deviation_costs_no_accuracy(shape, layout, device):
    x = (normal(*shape) + 1000).to(device).contiguous(memory_format=layout)
    expected = F.instance_norm(x.double())
    got = fused_instance_norm_forward(x, None, None)
    assert worst(got, expected) <= 2 * worst(F.instance_norm(x), expected)
    assert worst(got, expected) < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("side", [40, 200, 600])
def test_a_constant_channel_becomes_its_bias(side, layout, device):
    x, beta = normal(1, 4, side, 30).to(device), normal(4, seed=1).to(device)
    x[:, 3] = 42.7
    got = fused_instance_norm_forward(x.contiguous(memory_format=layout), None, beta)
    assert torch.equal(got[:, 3], beta[3].expand(1, side, 30))


def test_strides_of_any_kind_are_normalized_rightly(device):
    base = normal(2, 24, 18, 20).to(device)
    for x in (base[:, ::2], base.transpose(2, 3), base[..., 3:9, ::3], base[:, :, 1:], base[1:]):
        expected = F.instance_norm(x.double())
        assert worst(fused_instance_norm_forward(x, None, None), expected) < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("side", [6, 300, 600])
def test_a_broken_number_spoils_its_own_channel_only(side, layout, device):
    x = normal(2, 8, side, 300).to(device).contiguous(memory_format=layout)
    x[1, 2, 3, 3] = float("nan")
    got = fused_instance_norm_forward(x, None, None, relu=True)
    assert bool(got[1, 2].isnan().all())
    got[1, 2] = 0
    assert bool(got.isfinite().all())


# Convolutions

CONVOLUTIONS = [  # N, Cin, H, W, Cout, kernel, stride, pad
    (1, 3, 33, 41, 32, 9, 1, 4),
    (1, 32, 21, 30, 3, 9, 1, 4),
    (2, 32, 24, 26, 64, 3, 2, 1),
    (1, 64, 17, 35, 128, 3, 2, 1),
    (2, 128, 16, 24, 128, 3, 1, 1),
    (1, 40, 7, 13, 72, 3, 1, 1),
    (1, 5, 7, 13, 7, 3, 1, 1),
    (1, 16, 2, 2, 16, 3, 1, 1),  # height and width exceed the padding by one
    (1, 4, 5, 5, 130, 9, 2, 4),
    (1, 48, 9, 11, 20, 1, 1, 0),
    (1, 24, 9, 11, 40, 5, 3, 2),
]


def case(shape, dtype, device, layout=torch.contiguous_format):
    n, cin, h, w, cout, size, stride, pad = shape
    x = normal(n, cin, h, w).to(device, dtype).contiguous(memory_format=layout)
    weight = kernel_of(cout, cin, size).to(device, dtype)
    bias = normal(cout, seed=2).to(device, dtype)
    return x, weight, bias, pad, stride


@pytest.mark.parametrize("tf32", [False, True], indirect=True, ids=["exact", "tf32"])
@matrix({"shape": CONVOLUTIONS, "layout": LAYOUTS, "dtype": DTYPES})
@OWN
def test_a_convolution_errs_at_most_twice_as_much_as_pytorch(
    own, shape, layout, dtype, tf32, device
):
    if device == "cpu" and own:
        pytest.skip("convolutions on the CPU run on PyTorch")
    if tf32 and (device == "cpu" or dtype is not torch.float32):
        pytest.skip("TF32 is a way of computing FP32 on a GPU")
    x, weight, bias, pad, stride = case(shape, dtype, device, layout)
    expected = convolved(x.double(), weight.double(), bias.double(), pad, stride)
    pytorch = convolved(x, weight, bias, pad, stride)
    got = fused_conv_reflection_pad_forward(x, weight, bias, pad, stride, stride, own)
    assert got.dtype == dtype
    assert got.shape == expected.shape
    if got.numel() > got.shape[1]:
        assert got.is_contiguous(memory_format=layout)
    # cuDNN decides whether to use TF32; ours is then compared with TF32's own rounding.
    rounding = TF32 * 4 if tf32 else 2 * worst(pytorch, expected)
    assert worst(got, expected) <= rounding + 2 * unit(dtype, expected)


@pytest.mark.parametrize("strides", [(1, 2), (2, 1)])
def test_a_convolution_has_a_stride_for_each_direction(strides, device):
    x, weight, bias, pad, _ = case(CONVOLUTIONS[4], torch.float32, device)
    got = fused_conv_reflection_pad_forward(x, weight, bias, pad, strides[0], strides[1], True)
    expected = convolved(x.double(), weight.double(), bias.double(), pad, strides)
    assert worst(got, expected) < 2e-5


def test_strides_of_any_kind_are_convolved_rightly(device):
    base = normal(2, 48, 18, 20).to(device)
    for x in (base[:, ::2], base.transpose(2, 3), base[..., 3:9, ::3], base[1:, 3:20]):
        weight = kernel_of(9, x.shape[1], 3).to(device)
        got = fused_conv_reflection_pad_forward(x, weight, None, 1, own_kernel=True)
        assert worst(got, convolved(x.double(), weight.double(), None, 1)) < 1e-5


@matrix({"shape": CONVOLUTIONS, "layout": LAYOUTS, "dtype": DTYPES, "upsample": [False, True]})
@OWN
def test_a_normalized_convolution_errs_at_most_twice_as_much_as_pytorch(
    own, shape, layout, dtype, upsample, device
):
    if device == "cpu" and own:
        pytest.skip("convolutions on the CPU run on PyTorch")
    x, weight, bias, pad, stride = case(shape, dtype, device, layout)
    if upsample and (weight.shape[-1], stride) != (3, 1):
        pytest.skip("upsampling needs a 3x3 kernel with stride 1")
    out = weight.shape[0]
    gamma, beta = normal(out, seed=3).to(device), normal(out, seed=4).to(device)

    def layers(x: Tensor, weight: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        x = F.interpolate(x, scale_factor=2) if upsample else x
        y = convolved(x, weight, bias, pad, stride)
        return F.instance_norm(y, weight=gamma, bias=beta).relu()

    expected = layers(*(t.double() for t in (x, weight, bias, gamma, beta)))
    pytorch = layers(x, weight, bias, gamma.to(dtype), beta.to(dtype))
    got = fused_conv_instancenorm_forward(
        x, weight, bias, gamma, beta, 1e-5, pad, stride, True, upsample, own
    )
    assert got.dtype == dtype
    assert got.is_contiguous(memory_format=layout)
    assert worst(got, expected) <= 2 * worst(pytorch, expected) + 2 * unit(dtype, expected)


def block(channels: int, dtype: torch.dtype, device: str) -> tuple[Tensor, ...]:
    parameters = []
    for seed in (1, 5):
        weight = kernel_of(channels, channels, 3, seed)
        rest = [normal(channels, seed=seed + k) for k in (1, 2, 3)]
        parameters += [t.to(device, dtype) for t in (weight, *rest)]
    return tuple(parameters)


def block_of_layers(x: Tensor, p: tuple[Tensor, ...]) -> Tensor:
    y = convolved(x, p[0], p[1], 1)
    y = F.instance_norm(y, weight=p[2], bias=p[3]).relu()
    y = convolved(y, p[4], p[5], 1)
    return F.instance_norm(y, weight=p[6], bias=p[7]) + x


@matrix(
    {
        "shape": [(1, 128, 24, 40), (2, 24, 7, 13), (1, 3, 2, 5), (3, 72, 17, 9)],
        "layout": LAYOUTS,
        "dtype": DTYPES,
    }
)
@OWN
def test_a_residual_block_errs_at_most_twice_as_much_as_pytorch(own, shape, layout, dtype, device):
    if device == "cpu" and own:
        pytest.skip("convolutions on the CPU run on PyTorch")
    x = normal(*shape).to(device, dtype).contiguous(memory_format=layout)
    parameters = block(shape[1], dtype, device)
    expected = block_of_layers(x.double(), tuple(p.double() for p in parameters))
    pytorch = block_of_layers(x, parameters)
    got = OPS["fused_residual_block_forward"].overload(x, *parameters, 1e-5, own)
    assert got.is_contiguous(memory_format=layout)
    assert worst(got, expected) <= 2 * worst(pytorch, expected) + 2 * unit(dtype, expected)


# All operations

X = (2, 8, 12, 10)


def parameters_of(channels: int) -> tuple[Tensor, ...]:
    weight = kernel_of(channels, channels, 3)
    return weight, *(normal(channels, seed=seed) for seed in (2, 3, 4))


def of_norm(x: Tensor, _weight: Tensor, *vectors: Tensor) -> tuple[Any, ...]:
    return x, *vectors[:2], 1e-5, True, x.clone(), True


def of_convolution(x: Tensor, weight: Tensor, *vectors: Tensor) -> tuple[Any, ...]:
    return x, weight, vectors[0], 1, 1, 1, True


def of_normalized(x: Tensor, weight: Tensor, *vectors: Tensor) -> tuple[Any, ...]:
    return x, weight, *vectors, 1e-5, 1, 1, False, False, True


def of_block(x: Tensor, *_: Tensor) -> tuple[Any, ...]:
    return x, *block(x.shape[1], x.dtype, str(x.device)), 1e-5, True


# The operations whose shapes, layouts and borders are varied below. test_every_operation.py tests
# the properties of every operation.
ARGUMENTS = {
    "fused_instance_norm_forward": of_norm,
    "fused_conv_reflection_pad_forward": of_convolution,
    "fused_conv_instancenorm_forward": of_normalized,
    "fused_residual_block_forward": of_block,
}
NAMES = list(ARGUMENTS)


def arguments(name: str, x: Tensor) -> tuple[Any, ...]:
    parameters = (t.to(x.device, x.dtype) for t in parameters_of(x.shape[1]))
    return ARGUMENTS[name](x, *parameters)


# PyTorch 2.15 itself reads the gradients of non-leaf tensors, and warns about it.
@pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize(
    "name",
    [
        "fused_conv_reflection_pad_forward",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in NAMES
            if name != "fused_conv_reflection_pad_forward"
        ),
    ],
)
def test_operations_on_channels_last_are_registered_as_pytorch_wants_them(name, device):
    x = normal(*X).to(device).contiguous(memory_format=torch.channels_last)
    given = arguments(name, x)
    for tensor in given:
        if isinstance(tensor, Tensor):
            tensor.requires_grad_()
    # cuDNN may choose another algorithm the second time, so gradients differ by rounding.
    torch.library.opcheck(OPS[name].overload, given, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_right(name, device):
    x = normal(1, 2, 4, 3).to(device).double()
    given = arguments(name, x)
    tensors = [t.detach().requires_grad_() for t in given if isinstance(t, Tensor)]

    def run(*tensors: Tensor) -> Tensor:
        rest = iter(tensors)
        return OPS[name].overload(*(next(rest) if isinstance(t, Tensor) else t for t in given))

    assert torch.autograd.gradcheck(run, tensors, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_no_pictures_give_no_pictures(name, device):
    given = arguments(name, torch.empty(0, *X[1:], device=device))
    assert OPS[name].overload(*given).shape == (0, *X[1:])


@matrix({"name": NAMES, "dtype": [torch.float32, torch.float16], "layout": LAYOUTS}, meeting=1)
def test_two_runs_are_bit_equal(name, dtype, layout, device):
    x = normal(2, 72, 61, 83).to(device, dtype).contiguous(memory_format=layout)
    given = arguments(name, x)
    first = OPS[name].overload(*given)
    assert all(torch.equal(OPS[name].overload(*given), first) for _ in range(5))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_outside_the_arguments_is_read(name, layout, device):
    """The input is surrounded by NaNs; reading one spoils a whole channel."""
    x = normal(2, 12, 7, 13).to(device).contiguous(memory_format=layout)
    memory = torch.full((x.numel() + 2048,), float("nan"), device=device)
    guarded = memory[1024:-1024].as_strided(x.shape, x.stride()).copy_(x)
    expected = OPS[name].overload(*arguments(name, x))
    got = OPS[name].overload(guarded, *arguments(name, x)[1:])
    assert torch.equal(got, expected)
    assert bool(memory[:1024].isnan().all())
    assert bool(memory[-1024:].isnan().all())


WRONG = {
    "expected [N, C, H, W]": (fused_instance_norm_forward, (torch.zeros(3, 4, 4), None, None)),
    "one pixel has no variance": (
        fused_instance_norm_forward,
        (torch.zeros(1, 3, 1, 1), None, None),
    ),
    "expected 3 weights": (
        fused_instance_norm_forward,
        (torch.zeros(1, 3, 4, 4), torch.ones(4), None),
    ),
    "expected weights [O, 3, k, k]": (
        fused_conv_reflection_pad_forward,
        (torch.zeros(1, 3, 4, 4), torch.zeros(2, 4, 3, 3), None, 1),
    ),
    "cannot pad 4x5 by 4": (
        fused_conv_reflection_pad_forward,
        (torch.zeros(1, 3, 4, 5), torch.zeros(2, 3, 9, 9), None, 4),
    ),
    "is smaller than the kernel": (
        fused_conv_reflection_pad_forward,
        (torch.zeros(1, 3, 4, 5), torch.zeros(2, 3, 9, 9), None, 1),
    ),
    "stride must be at least 1, not 0": (
        fused_conv_reflection_pad_forward,
        (torch.zeros(1, 3, 4, 5), torch.zeros(2, 3, 3, 3), None, 1, 0, 1),
    ),
    "upsampling needs": (
        fused_conv_instancenorm_forward,
        (torch.zeros(1, 3, 8, 8), torch.zeros(2, 3, 5, 5), None, None, None, 1e-5, 2, 1, 1, True),
    ),
    "that lead back to": (
        fused_residual_block_forward,
        (
            torch.zeros(1, 3, 4, 4), torch.zeros(5, 3, 3, 3), None, None, None,
            torch.zeros(4, 5, 3, 3), None, None, None,
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_a_value_error(message, device):
    run, given = WRONG[message]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is checked next)
        run(*(t.to(device) if isinstance(t, Tensor) else t for t in given))
    assert message in str(caught.value)


MODULES = {
    "norm": (lambda: FusedInstanceNorm2d(8), lambda: nn.InstanceNorm2d(8, affine=True)),
    "convolution": (
        lambda: FusedConv2d(8, 12, 3, 2),
        lambda: nn.Conv2d(8, 12, 3, 2, 1, padding_mode="reflect"),
    ),
    "residual block": (
        lambda: FusedResidualBlock(8),
        lambda: ResidualBlock(8, nn.InstanceNorm2d),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_a_drop_in_and_learns_like_its_model(name, device):
    ours, theirs = (make().to(device) for make in MODULES[name])
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    for half in (False, True):
        if half:
            ours, theirs = ours.half(), theirs.half()
        dtype = torch.float16 if half else torch.float32
        x = normal(2, 8, 12, 10).to(device, dtype)
        got, expected = ours(x), theirs(x)
        torch.testing.assert_close(got, expected, atol=0.02 if half else 1e-5, rtol=1e-2)
        if half:
            continue
        for y in (got, expected):
            y.mul(normal(*y.shape, seed=3).to(y)).sum().backward()
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"upsample": 2}, {"stride": 2}, {"kernel_size": 1}])
def test_the_unit_is_its_parts(options, device):
    unit = FusedConvInstanceNormReLU(8, 12, **options).to(device)
    x = normal(2, 8, 9, 11).to(device)
    y = F.interpolate(x, scale_factor=2) if "upsample" in options else x
    pad = options.get("kernel_size", 3) // 2
    y = F.conv2d(F.pad(y, (pad,) * 4, mode="reflect"), unit.conv.weight, unit.conv.bias,
                 options.get("stride", 1))  # fmt: skip
    torch.testing.assert_close(unit(x), unit.norm(y).relu(), atol=1e-5, rtol=1e-5)


def test_the_unit_refuses_what_it_cannot_be(device):
    with pytest.raises(ValueError, match="upsample must be 1 or 2"):
        FusedConvInstanceNormReLU(8, 12, upsample=3).to(device)
    with pytest.raises(ValueError, match="needs a 3x3 kernel"):
        FusedConvInstanceNormReLU(8, 12, kernel_size=5, upsample=2).to(device)
    with pytest.raises(ValueError, match="kernel_size must be at least 1"):
        FusedConv2d(8, 12, 0).to(device)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # from PyTorch 2.11 itself
@pytest.mark.parametrize("name", MODULES)
def test_a_module_compiles_into_one_graph_and_only_once(name, device):
    module = MODULES[name][0]().to(device)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    torch._dynamo.config.error_on_recompile = True
    try:
        for seed in (0, 1):
            x = normal(1, 8, 12, 10, seed=seed).to(device)
            torch.testing.assert_close(compiled(x), module(x))
    finally:
        torch._dynamo.config.error_on_recompile = False
        torch._dynamo.reset()


def test_where_it_is_no_faster_it_says_why(device):
    assert "float64" in unavailable_reason(torch.device("cuda"), torch.float64)
    layers = {
        FusedConv2d(64, 128, 3): "cuDNN",
        FusedConv2d(64, 128, 3, 2): "",
        FusedConv2d(32, 3, 9): "",
        FusedConvInstanceNormReLU(64, 128): "cuDNN",
        FusedConvInstanceNormReLU(64, 128, upsample=2): "",
        FusedResidualBlock(16): "cuDNN",
    }
    for layer, reason in layers.items():
        told = layer.remark(torch.device(device), torch.float32)
        assert ("oneDNN" if device == "cpu" else reason) in told
        assert bool(told) == (device == "cpu" or bool(reason))
    assert "cuDNN" in FusedConv2d(32, 3, 9).remark(torch.device("cuda"), torch.float16)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_operations_can_be_captured_in_a_graph(name, layout, device):
    if device == "cpu":
        pytest.skip("graphs are a GPU's")
    x = normal(1, 64, 61, 83).to(device).contiguous(memory_format=layout)
    given = arguments(name, x)
    with torch.inference_mode():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            OPS[name].overload(*given)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = OPS[name].overload(*given)
        x.copy_(normal(1, 64, 61, 83, seed=9))
        for _ in range(3):
            graph.replay()
        assert torch.equal(got, OPS[name].overload(*given))
