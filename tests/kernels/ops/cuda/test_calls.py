"""The arguments that GPU calls pass to launchers yield the operation's result, on any machine."""

from __future__ import annotations

import gc
import inspect
import weakref
from types import SimpleNamespace

import pytest
import torch

from kernels.ops.style.convolution import on_cuda as convolution
from kernels.ops.style.convolution.on_cuda import PLAIN, TENSOR_CORES
from kernels.ops.style.normalization import on_cuda as norm
from kernels.table import launcher
from kernels.table.launcher import CudaLauncher, Gpu
from kernels.table.registry import OPS
from tests.helpers.daily import some_daily
from tests.kernels.ops.binding import bound
from tests.kernels.ops.cuda.emulated import EmulatedOperations

conv_forward = bound("fused_conv_reflection_pad_forward", convolution.conv_forward)
conv_norm_forward = bound("fused_conv_instancenorm_forward", convolution.conv_norm_forward)
residual_block_forward = bound("fused_residual_block_forward", convolution.residual_block_forward)
FUNCTIONS = {
    "fused_instance_norm": norm.norm,
    "fused_instance_norm_forward": norm.norm_forward,
    "fused_conv_reflection_pad_forward": conv_forward,
    "fused_conv_instancenorm_forward": conv_norm_forward,
    "fused_residual_block_forward": residual_block_forward,
}
CPU = -1  # PyTorch's GPU number for the tensors in these tests
ALLOWED = {torch.float32: 3e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float64: 1e-9}


@pytest.fixture
def library(monkeypatch):
    monkeypatch.setattr(launcher, "raw_stream", lambda index: 0x1234)
    return EmulatedOperations()


@pytest.fixture(params=some_daily([7, 8, 9], 2), ids=["Turing", "Ampere", "Hopper"])
def call(library, request):
    return CudaLauncher(library, Gpu(CPU, 132, request.param))


@pytest.fixture
def hopper(library):
    return CudaLauncher(library, Gpu(CPU, 132, 9))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_sample_becomes_what_the_reference_makes(name, call, library):
    op = OPS[name]
    for arguments in op.samples():
        got, expected = FUNCTIONS[name](call, *arguments), op.reference(*arguments)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        assert got.stride() == expected.stride()
        allowed = ALLOWED[got.dtype]
        torch.testing.assert_close(got, expected, atol=allowed, rtol=allowed)
    assert library.calls


@pytest.mark.parametrize(
    ("major", "dtype", "tf32", "math"),
    [
        (7, torch.float16, False, TENSOR_CORES),
        (7, torch.bfloat16, False, PLAIN),
        (7, torch.float32, True, PLAIN),
        (8, torch.bfloat16, False, TENSOR_CORES),
        (8, torch.float32, True, TENSOR_CORES),
        (8, torch.float32, False, PLAIN),
    ],
)
def test_tensor_cores_multiply_what_those_of_the_gpu_can(
    library, monkeypatch, major, dtype, tf32, math
):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", tf32)
    asked = []
    packed = library.styleforge_packed_bytes
    monkeypatch.setattr(
        library, "styleforge_packed_bytes", lambda p: asked.append(p.math) or packed(p)
    )
    x, weight = torch.randn(1, 8, 9, 9, dtype=dtype), torch.randn(8, 8, 3, 3, dtype=dtype)
    conv_forward(CudaLauncher(library, Gpu(CPU, 132, major)), x, weight, None, 1, own_kernel=True)
    assert set(asked) == {math}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_was_taken_down_is_repeated_with_other_tensors(name, hopper, library, monkeypatch):
    op = OPS[name]
    arguments = next(iter(op.samples()))
    FUNCTIONS[name](hopper, *arguments)
    monkeypatch.setattr(library, "recording", lambda: pytest.fail("taken down again"))
    kept = []
    for _ in range(3):
        other = tuple(x.flip(0) if isinstance(x, torch.Tensor) else x for x in arguments)
        got, expected = FUNCTIONS[name](hopper, *other), op.reference(*other)
        torch.testing.assert_close(got, expected, atol=3e-5, rtol=3e-5)
        kept.append(got)
    assert set(library.streams) == {0x1234}
    assert len({y.data_ptr() for y in kept}) == 3
    assert len(hopper.calls) == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_taken_down_keeps_no_tensor(name, hopper):
    arguments = next(iter(OPS[name].samples()))
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
    seen = [weakref.ref(x) for x in copies if isinstance(x, torch.Tensor)]
    FUNCTIONS[name](hopper, *copies)
    del copies
    gc.collect()
    assert [reference() for reference in seen] == [None] * len(seen)


def test_another_alignment_is_another_call(hopper):
    memory = torch.randn(1 * 4 * 8 * 8 + 4)
    for offset in (0, 1, 0, 1):
        x = memory[offset : offset + 256].view(1, 4, 8, 8)
        got = norm.norm_forward(hopper, x, None, None)
        expected = OPS["fused_instance_norm_forward"].reference(x, None, None)
        torch.testing.assert_close(got, expected, atol=3e-5, rtol=3e-5)
    assert len(hopper.calls) == 2


def test_tf32_is_looked_at_by_every_call(hopper, library, monkeypatch):
    x, weight = torch.randn(1, 16, 12, 12), torch.randn(8, 16, 3, 3)
    for exact in (True, False, True, False):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", not exact)
        library.calls.clear()
        conv_forward(hopper, x, weight, None, 1)
        assert library.calls == (["convolve"] if exact else [])


@pytest.mark.parametrize("name", ["fused_instance_norm", "fused_instance_norm_forward"])
def test_a_call_has_the_arguments_and_defaults_of_its_operation(name):
    ours = list(inspect.signature(FUNCTIONS[name]).parameters.values())[1:]
    theirs = inspect.signature(OPS[name].operation).parameters.values()
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


def test_the_result_is_written_where_the_caller_says(hopper):
    x = torch.randn(2, 8, 13, 22)
    out = torch.zeros(2, 8, 15, 24)
    norm.norm_out(hopper, x, None, None, None, 1e-5, True, 1, "reflect", False, out)
    expected = OPS["fused_instance_norm"].reference(x, None, None, None, 1e-5, True, 1)
    torch.testing.assert_close(out, expected, atol=3e-5, rtol=3e-5)
    with pytest.raises(ValueError, match=r"out must be a dense torch\.float32 tensor"):
        norm.norm_out(hopper, x, None, None, None, 1e-5, True, 2, "reflect", False, out)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_a_margin_of_channels_last_is_written_by_the_norm(hopper, library, monkeypatch, mode):
    x = torch.randn(2, 8, 13, 22).contiguous(memory_format=torch.channels_last)
    expected = OPS["fused_instance_norm"].reference(x, None, None, x, 1e-5, True, 3, mode)
    passes = SimpleNamespace(pad=lambda *_, **__: pytest.fail("another pass over memory"))
    monkeypatch.setattr(norm, "F", passes)
    got = norm.norm(hopper, x, None, None, x, 1e-5, True, 3, mode)
    torch.testing.assert_close(got, expected, atol=3e-5, rtol=3e-5)
    assert library.calls == ["norm"]


@pytest.mark.parametrize("last", [False, True], ids=["planes", "channels last"])
def test_an_input_of_any_strides_is_read_right(hopper, last):
    x = torch.randn(2, 13, 22, 16).permute(0, 3, 1, 2)[:, ::2, :, 1:]
    residual = torch.randn(2, 8, 21, 13).transpose(2, 3)
    if last:
        x = x.contiguous(memory_format=torch.channels_last)
    got = norm.norm_forward(hopper, x, None, None, residual=residual)
    expected = OPS["fused_instance_norm_forward"].reference(x, None, None, residual=residual)
    torch.testing.assert_close(got, expected, atol=3e-5, rtol=3e-5)
    weight = torch.randn(5, 8, 3, 3)
    got = conv_forward(hopper, x, weight, None, 1, 2, 1, own_kernel=True)
    expected = OPS["fused_conv_reflection_pad_forward"].reference(x, weight, None, 1, 2, 1)
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("gamma", "beta"),
    [
        (torch.float64, None),
        (torch.float16, torch.float32),
        (None, torch.bfloat16),
        (torch.float16, torch.float16),
    ],
    ids=str,
)
def test_parameters_of_any_type_are_read_right(hopper, gamma, beta):
    x = torch.randn(1, 4, 9, 9)
    given = [None if t is None else torch.randn(8)[::2].to(t) for t in (gamma, beta)]
    got = norm.norm_forward(hopper, x, given[0], given[1])
    expected = OPS["fused_instance_norm_forward"].reference(x, *given)
    torch.testing.assert_close(got, expected, atol=3e-5, rtol=3e-5)


def test_weights_of_another_type_are_taken_to_the_inputs(hopper):
    x, weight, bias = torch.randn(1, 4, 9, 9).half(), torch.randn(6, 4, 3, 3), torch.randn(6)
    got = conv_forward(hopper, x, weight, bias, 1, own_kernel=True)
    expected = OPS["fused_conv_reflection_pad_forward"].reference(x, weight, bias, 1)
    torch.testing.assert_close(got, expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("exact", [True, False])
def test_what_cudnn_computes_faster_is_left_to_it(hopper, library, monkeypatch, exact):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", not exact)
    x, weight = torch.randn(1, 16, 12, 12), torch.randn(64, 16, 3, 3)
    block = torch.randn(16, 16, 3, 3)
    conv_forward(hopper, x, weight, None, 1)
    assert library.calls == []
    conv_norm_forward(hopper, x, weight, None, None, None)
    residual_block_forward(hopper, x, block, None, None, None, block, None, None, None)
    assert library.calls == ["norm", "norm", "norm"]
    library.calls.clear()
    conv_forward(hopper, x, weight, None, 1, 2, 2)
    conv_norm_forward(hopper, x, weight, None, None, None, upsample=True)
    assert library.calls == ["convolve", "conv_norm_relu"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_double_precision_runs_on_pytorch(name, hopper, library):
    op = OPS[name]
    arguments = next(iter(op.samples()))
    arguments = tuple(x.double() if isinstance(x, torch.Tensor) else x for x in arguments)
    got, expected = FUNCTIONS[name](hopper, *arguments), op.reference(*arguments)
    torch.testing.assert_close(got, expected)
    assert library.calls == []


@pytest.mark.parametrize("samples", [0, 1])
def test_what_is_empty_stays_empty(hopper, library, samples):
    x, weight = torch.randn(samples, 4, 9, 9), torch.randn(0, 4, 3, 3)
    y = conv_forward(hopper, x, weight, None, 1, own_kernel=True)
    assert y.shape == (samples, 0, 9, 9)
    empty = torch.randn(0, 4, 9, 9)
    assert norm.norm(hopper, empty, None, None, None, 1e-5, False, 2).shape == (0, 4, 13, 13)
    assert library.calls == []


@pytest.mark.parametrize(
    ("shape", "weight", "pad", "stride", "upsample", "words"),
    [
        ((4, 9, 9), (6, 4, 3, 3), 1, 1, False, r"expected \[N, C, H, W\]"),
        ((1, 4, 9, 9), (6, 5, 3, 3), 1, 1, False, r"expected weights \[O, 4, k, k\]"),
        ((1, 4, 9, 9), (6, 4, 3, 3), 9, 1, False, "cannot pad 9x9 by 9"),
        ((1, 4, 9, 9), (6, 4, 3, 3), 1, 0, False, "stride must be at least 1"),
        ((1, 4, 2, 9), (6, 4, 5, 5), 1, 1, False, "is smaller than the kernel"),
        ((1, 4, 9, 9), (6, 4, 5, 5), 1, 1, True, "needs a 3x3 kernel"),
        ((1, 4, 3, 3), (6, 4, 3, 3), 0, 1, False, "one pixel has no variance"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_said_in_the_references_words(
    hopper, shape, weight, pad, stride, upsample, words
):
    arguments = torch.randn(shape), torch.randn(weight), None, None, None
    settings = {"padding": pad, "stride": stride, "upsample": upsample, "own_kernel": True}
    for run in (
        lambda: OPS["fused_conv_instancenorm_forward"].reference(*arguments, **settings),
        lambda: conv_norm_forward(hopper, *arguments, **settings),
    ):
        with pytest.raises(ValueError, match=words):
            run()


def test_a_single_pixel_can_be_enlarged(hopper):
    x, weight = torch.randn(1, 4, 1, 1), torch.randn(6, 4, 3, 3)
    y = conv_norm_forward(hopper, x, weight, None, None, None, upsample=True, own_kernel=True)
    assert y.shape == (1, 6, 2, 2)


def test_an_error_of_a_launch_is_raised(hopper, library):
    library.error = 700
    x = torch.randn(1, 4, 9, 9)
    with pytest.raises(RuntimeError, match=r"^instance norm could not .* CUDA error 700$"):
        norm.norm_forward(hopper, x, None, None)
    weight = torch.randn(3, 4, 3, 3)
    with pytest.raises(RuntimeError, match=r"^a convolution could not .* CUDA error 700$"):
        conv_forward(hopper, x, weight, None, 1, own_kernel=True)
