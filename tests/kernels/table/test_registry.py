from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import kernel_fusion as kf
from kernels import weight_transforms
from kernels.instance_norm_wrapper import FusedInstanceNorm2d
from kernels.jit import build
from kernels.ops import fused_instance_norm, fused_instance_norm_out
from kernels.ops.style.normalization import on_cpu as cpu_norm
from kernels.table.launcher import CpuLauncher
from kernels.table.registry import (
    OPS,
    STYLE,
    TRANSFORMER,
    KernelStatus,
    KernelUnavailable,
    prepare,
    statuses,
    use_native,
)
from kernels.weight_transforms import can_write_into, column_weights, convolve, phase_weight

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = [(1, 1, 1, 2), (1, 3, 7, 13), (2, 32, 5, 2), (3, 40, 33, 17), (1, 128, 40, 52)]
LAYOUTS = [torch.contiguous_format, torch.channels_last]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
RUNS = {
    "native": fused_instance_norm,
    "reference": OPS["fused_instance_norm"].reference,
}


@pytest.fixture(autouse=True)
def loaded(native_kernels: tuple[KernelStatus, ...]) -> None:
    """Load the native kernels; without a compiler, the operations are their references.

    Running without native kernels is tested separately.
    """
    if "no C++ compiler" in native_kernels[0].reason:
        pytest.skip(native_kernels[0].reason)
    assert all(status.ready or status.by_choice for status in native_kernels), native_kernels


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def exact(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
) -> Tensor:
    """Return the operation's result in FP64, from an independent definition."""
    x = x.double()
    if interleave:
        n, c, h, w = x.shape
        y = x.new_empty(n, c // 4, 2 * (h - 1), 2 * (w - 1))
        for a in (0, 1):
            for b in (0, 1):
                phase = x[:, (2 * a + b) * (c // 4) :][:, : c // 4]
                y[:, :, a::2, b::2] = phase[:, :, a : a + h - 1, b : b + w - 1]
        x = y
    weight, bias = (p.double() if p is not None else None for p in (weight, bias))
    y = F.instance_norm(x, weight=weight, bias=bias) if x.numel() else x
    y = y if residual is None else y + residual.double()
    y = y.relu() if relu else y
    return F.pad(y, (pad,) * 4, mode=pad_mode) if pad else y


def error(got: Tensor, expected: Tensor) -> float:
    return float((got.double() - expected).abs().max())


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("shape", CONFIGS, ids=str)
def test_it_errs_at_most_twice_as_much_as_pytorch(shape, layout, dtype, run):
    x = (normal(*shape) * 3 + 5).to(dtype).contiguous(memory_format=layout)
    weight, bias = normal(shape[1], seed=1), normal(shape[1], seed=2)
    expected = exact(x, weight, bias)
    pytorch = F.instance_norm(x, weight=weight, bias=bias)
    got = run(x, weight, bias)
    assert got.dtype == dtype
    assert got.is_contiguous(memory_format=layout)
    # A result may round either way, even if PyTorch is lucky.
    unit = torch.finfo(dtype).eps * float(expected.abs().max())
    assert error(got, expected) <= 2 * error(pytorch, expected) + unit


CASES = {
    "relu": {"relu": True},
    "padded by reflection": {"relu": True, "pad": 4},
    "padded by replication": {"pad": 9, "pad_mode": "replicate"},
    "the largest reflection": {"pad": 7},
    "interleaved": {"interleave": True, "relu": True, "pad": 4},
    "interleaved, replicated": {"interleave": True, "pad": 1, "pad_mode": "replicate"},
    "residual": {"residual": True},
    "everything": {"interleave": True, "residual": True, "relu": True, "pad": 1},
}


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every_option_means_what_it_says(case, layout, run):
    case = dict(case)
    x = (normal(2, 48, 8, 11) * 2 - 1).contiguous(memory_format=layout)
    channels, height, width = (12, 14, 20) if case.get("interleave") else (48, 8, 11)
    weight, bias = normal(channels, seed=1), normal(channels, seed=2)
    if case.pop("residual", False):
        # The interior of a padded tensor, as the network passes it.
        padded = normal(2, channels, height + 2, width + 2, seed=3)
        case["residual"] = padded.contiguous(memory_format=layout)[..., 1:-1, 1:-1]
    got = run(x, weight, bias, **case)
    torch.testing.assert_close(got.double(), exact(x, weight, bias, **case), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_mean_a_thousand_times_the_deviation_costs_no_accuracy(layout, run):
    x = (normal(1, 32, 64, 80) + 1000).contiguous(memory_format=layout)
    expected = exact(x)
    assert error(run(x), expected) <= 2 * error(F.instance_norm(x), expected)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_constant_channel_becomes_its_bias(layout, run):
    x, bias = normal(1, 8, 40, 30), normal(8, seed=1)
    x[:, 3] = 42.7
    x = x.contiguous(memory_format=layout)
    expected = bias[3].expand(1, 40, 30)
    pytorch = F.instance_norm(x, bias=bias)[:, 3]
    assert error(run(x, None, bias)[:, 3], expected) <= 2 * error(pytorch, expected)
    assert torch.equal(fused_instance_norm(x, None, bias)[:, 3], expected)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_strides_of_any_kind_are_read_rightly(run):
    base = normal(2, 24, 18, 20)
    for x in (base[:, ::2], base.transpose(2, 3), base[..., 3:9, ::3], base.flip(1)[:, :, 1:]):
        torch.testing.assert_close(run(x), exact(x).float(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_no_pictures_give_no_pictures(layout, run):
    x = torch.empty(0, 8, 6, 6).contiguous(memory_format=layout)
    assert run(x, pad=2).shape == (0, 8, 10, 10)
    assert run(x, interleave=True).shape == (0, 2, 10, 10)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_broken_number_spoils_its_own_channel_only(layout, run):
    x = normal(2, 8, 6, 6).contiguous(memory_format=layout)
    x[1, 2, 3, 3] = float("nan")
    got = run(x, relu=True)
    assert bool(got[1, 2].isnan().all())
    got[1, 2] = 0
    assert bool(got.isfinite().all())


WRONG = {
    "expected [N, C, H, W]": ((torch.zeros(3, 4, 4),), {}),
    "one pixel has no variance": ((torch.zeros(1, 3, 1, 1),), {}),
    "to interleave": ((torch.zeros(1, 6, 4, 4),), {"interleave": True}),
    "cannot pad 4x5 by 4": ((torch.zeros(1, 3, 4, 5),), {"pad": 4}),
    "not 'mirror'": ((torch.zeros(1, 3, 4, 4),), {"pad_mode": "mirror"}),
    "expected 3 weights": ((torch.zeros(1, 3, 4, 4), torch.ones(4)), {}),
    "the residual has the shape": (
        (torch.zeros(1, 3, 4, 4), None, None, torch.zeros(1, 3, 4, 5)),
        {},
    ),
    "the residual is": (
        (torch.zeros(1, 3, 4, 4), None, None, torch.zeros(1, 3, 4, 4).double()),
        {},
    ),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_a_value_error(message, run):
    args, kwargs = WRONG[message]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is checked next)
        run(*args, **kwargs)
    assert message in str(caught.value)


@pytest.mark.parametrize("interleave", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_two_runs_are_bit_equal_whatever_the_number_of_threads(layout, interleave):
    x = normal(1, 64, 97, 131).contiguous(memory_format=layout)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 2, 3, 1):
            torch.set_num_threads(count)
            results.append(fused_instance_norm(x, relu=True, pad=1, interleave=interleave))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(result, results[0]) for result in results[1:])


def options(interleave: bool) -> tuple[float, bool, int, str, bool]:
    return (1e-5, True, 1, "reflect", interleave)


@pytest.mark.parametrize("interleave", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_buffer_is_filled_to_its_edges_and_not_beyond(layout, interleave):
    x = normal(2, 16, 6, 9).contiguous(memory_format=layout)
    expected = fused_instance_norm(x, None, None, None, *options(interleave))
    guard = 4096
    memory = torch.full((expected.numel() + 2 * guard,), float("nan"))
    out = memory[guard:-guard].as_strided(expected.shape, expected.stride())
    fused_instance_norm_out(x, None, None, None, *options(interleave), out)
    assert torch.equal(out, expected)
    assert bool(memory[:guard].isnan().all())
    assert bool(memory[-guard:].isnan().all())


def test_a_buffer_that_does_not_fit_is_refused():
    x = normal(1, 16, 6, 9)
    expected = fused_instance_norm(x, None, None, None, *options(False))
    for out in (expected[..., :-1], expected.double(), expected.transpose(2, 3)):
        with pytest.raises(ValueError, match="out must be a dense"):
            fused_instance_norm_out(x, None, None, None, *options(False), out)


def test_what_was_found_out_about_a_call_serves_no_other_one():
    x, weight, bias, residual = normal(2, 8, 6, 7), normal(8), normal(8), normal(2, 8, 6, 7)
    last = torch.channels_last
    usual = (x, weight, bias, residual, 1e-5, False, 1, "reflect", False)
    others = {
        0: (x.contiguous(memory_format=last), x.transpose(2, 3).contiguous().transpose(2, 3)),
        1: (None, weight.double(), normal(16)[::2], weight.half()),
        2: (None, bias.double(), normal(16)[1::2]),
        3: (None, residual.contiguous(memory_format=last), normal(2, 8, 8, 9)[..., 1:-1, 1:-1]),
        4: (1e-3,),
        5: (True,),
        6: (0, 3),
        7: ("replicate",),
    }
    given = [usual, (*usual[:1], None, None, None, *usual[4:8], True)]
    given += [(*usual[:at], other, *usual[at + 1 :]) for at in others for other in others[at]]
    for dtype in (torch.float64, torch.bfloat16):
        given.append((x.to(dtype), weight, bias, residual.to(dtype), *usual[4:]))
    library = build.handle("instance_norm")
    for arguments in (*given, *reversed(given)):
        expected = cpu_norm.norm(CpuLauncher(library), *arguments)
        got = fused_instance_norm(*arguments)
        assert got.stride() == expected.stride()
        assert torch.equal(got, expected)
        out = torch.zeros_like(expected)
        fused_instance_norm_out(*arguments, out)
        assert torch.equal(out, expected)


def test_what_does_not_fit_is_refused_after_what_does():
    x, weight = normal(1, 3, 4, 5), torch.ones(3)
    expected = fused_instance_norm(x, weight)
    for _ in range(2):
        with pytest.raises(ValueError, match="expected 3 weights"):
            fused_instance_norm(x, torch.ones(4))
        with pytest.raises(ValueError, match=r"no kernel for torch\.int32"):
            fused_instance_norm(x.int(), weight)
        assert torch.equal(fused_instance_norm(x, weight), expected)


class Listed(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_what_comes_between_autograd_and_the_kernel_is_not_passed_by(mode):
    complex_numbers = torch.complex(normal(1, 2, 4, 5), normal(1, 2, 4, 5, seed=1))
    negated = complex_numbers.conj().imag  # its raw memory has the wrong sign
    assert negated.is_neg()
    expected = fused_instance_norm(negated.resolve_neg())
    with mode(), Listed() as listed:
        assert torch.equal(fused_instance_norm(negated.resolve_neg()), expected)
    assert "styleforge::fused_instance_norm" in listed.names
    with mode():
        assert torch.equal(fused_instance_norm(negated), expected)


def test_writing_into_a_buffer_has_no_gradient_but_is_noticed_by_autograd():
    x = normal(1, 8, 6, 6)
    out = fused_instance_norm(x, None, None, None, *options(False))
    version = out._version
    fused_instance_norm_out(x, None, None, None, *options(False), out)
    assert out._version == version + 1
    with pytest.raises(RuntimeError, match="has no gradient"):
        fused_instance_norm_out(x.requires_grad_(), None, None, None, *options(False), out)


@pytest.mark.parametrize("interleave", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_gradients_are_right(layout, interleave):
    x = normal(2, 4, 4, 3).double().contiguous(memory_format=layout).requires_grad_()
    shape = (2, 1, 6, 4) if interleave else (2, 4, 4, 3)
    affine = [normal(shape[1], seed=s).double().requires_grad_() for s in (1, 2)]
    residual = normal(*shape, seed=3).double().requires_grad_()

    def run(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
        return fused_instance_norm(x, weight, bias, residual, *options(interleave))

    assert torch.autograd.gradcheck(run, (x, *affine, residual))


# PyTorch 2.15 itself reads the gradients of non-leaf tensors, and warns about it.
@pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize(
    "op",
    [
        pytest.param(OPS["fused_instance_norm"], marks=pytest.mark.full),
        OPS["fused_instance_norm_out"],
    ],
    ids=lambda op: op.name,
)
def test_operations_are_registered_as_pytorch_wants_them(op):
    x = normal(1, 8, 5, 6).contiguous(memory_format=torch.channels_last)
    weight, bias = normal(8, seed=1), normal(8, seed=2)
    args = (x, weight, bias, x.clone(), *options(False))
    if op.mutates:
        args = (*args, fused_instance_norm(*args))
    else:
        for tensor in args[:4]:
            assert isinstance(tensor, Tensor)
            tensor.requires_grad_()
    torch.library.opcheck(op.overload, args)


def test_it_compiles_into_one_graph_and_only_once():
    norm = FusedInstanceNorm2d(8)
    compiled = torch.compile(norm, backend="aot_eager", fullgraph=True)
    torch._dynamo.config.error_on_recompile = True
    try:
        for seed in (0, 1):
            x = normal(1, 8, 12, 10, seed=seed)
            torch.testing.assert_close(compiled(x), norm(x))
    finally:
        torch._dynamo.config.error_on_recompile = False
        torch._dynamo.reset()


def test_the_module_is_a_drop_in():
    theirs, ours = nn.InstanceNorm2d(6, affine=True), FusedInstanceNorm2d(6)
    nn.init.normal_(theirs.weight)
    nn.init.normal_(theirs.bias)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert list(FusedInstanceNorm2d(6, affine=False).state_dict()) == []
    for x in (normal(2, 6, 9, 7), normal(6, 9, 7)):
        torch.testing.assert_close(ours(x), theirs(x))
    with pytest.raises(ValueError, match="expected 6 channels"):
        ours(normal(1, 5, 4, 4))
    with pytest.raises(ValueError, match="one pixel has no variance"):
        ours(normal(1, 6, 1, 1))


def test_running_statistics_are_taken_dropped_and_never_used():
    theirs = nn.InstanceNorm2d(64, affine=True, track_running_stats=True)
    theirs(normal(2, 64, 5, 6) * 9)
    ours = FusedInstanceNorm2d(64, affine=True, track_running_stats=True)
    whole = nn.Sequential(nn.Sequential(ours))
    whole.load_state_dict({f"0.0.{key}": value for key, value in theirs.state_dict().items()})
    assert list(ours.state_dict()) == ["weight", "bias"]
    x = normal(2, 64, 9, 7, seed=1)
    for module in (ours.train(), ours.eval()):
        torch.testing.assert_close(module(x), F.instance_norm(x))
    with pytest.raises(RuntimeError, match="Unexpected"):
        ours.load_state_dict({**ours.state_dict(), "other": normal(1)})


def test_the_module_learns_like_its_model():
    theirs, ours = nn.InstanceNorm2d(6, affine=True), FusedInstanceNorm2d(6)
    for norm in (theirs, ours):
        norm(normal(2, 6, 9, 7)).square().mul(normal(2, 6, 9, 7, seed=1)).sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("size", [(4, 4), (5, 9)])
def test_enlarging_then_convolving_is_one_convolution_exactly(size):
    x, weight = normal(2, 3, *size).double(), normal(5, 3, 3, 3, seed=1).double()
    enlarged = F.interpolate(x, scale_factor=2, mode="nearest")
    expected = F.conv2d(F.pad(enlarged, (1,) * 4, mode="reflect"), weight)
    phases = F.conv2d(F.pad(x, (1,) * 4, mode="replicate"), phase_weight(weight))
    c, h, w = phases.shape[1:]
    assert (c, h, w) == (20, size[0] + 1, size[1] + 1)
    got = torch.empty_like(expected)
    for a in (0, 1):
        for b in (0, 1):
            part = phases[:, (2 * a + b) * 5 :][:, :5]
            got[:, :, a::2, b::2] = part[:, :, a : a + h - 1, b : b + w - 1]
    assert error(got, expected) < 1e-13


def test_a_convolution_by_columns_is_the_same_convolution():
    x, weight = normal(2, 4, 12, 15).double(), normal(3, 4, 9, 9, seed=1).double()
    columns, picks = column_weights(weight)
    assert (columns.shape, picks.shape) == ((27, 4, 9, 1), (3, 27, 1, 9))
    got = F.conv2d(F.conv2d(x, columns), picks)
    assert error(got, F.conv2d(x, weight)) < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_into_a_buffer_is_the_same_whatever_the_buffer_held(stride, dtype):
    x = normal(1, 16, 21, 18).to(dtype).contiguous(memory_format=torch.channels_last)
    weight, bias = normal(8, 16, 3, 3, seed=1).to(dtype), normal(8, seed=2).to(dtype)
    expected = F.conv2d(x, weight, bias, stride)
    buffer = torch.full_like(expected, float("nan"))
    got = convolve(x, weight, bias, stride, buffer)
    torch.testing.assert_close(got, expected)
    assert (got is buffer) == can_write_into(buffer)


def test_without_avx512_no_buffer_of_bf16_is_written_to(monkeypatch):
    """oneDNN refuses to add a BF16 convolution on a processor that only has AVX2."""
    x, weight = normal(1, 16, 9, 9).bfloat16(), normal(8, 16, 3, 3, seed=1).bfloat16()
    buffer = torch.empty(1, 8, 7, 7, dtype=torch.bfloat16)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    weight_transforms._dtypes_added_in_place.cache_clear()
    try:
        assert not can_write_into(buffer)
        assert convolve(x, weight, out=buffer) is not buffer
    finally:
        weight_transforms._dtypes_added_in_place.cache_clear()


def test_a_kernel_says_why_it_cannot_run(monkeypatch):
    x = normal(1, 3, 4, 4)
    expected = fused_instance_norm(x)
    assert torch.equal(kf.kernels.normalization.fused_instance_norm(x), expected)
    monkeypatch.setitem(build._reasons, "instance_norm", "no C++ compiler found: install g++")
    assert not kf.EXTENSION_LOADED
    reasons = {s.reason for s in statuses() if not s.ready and not s.by_choice}
    assert reasons == {"no C++ compiler found: install g++"}
    with pytest.raises(KernelUnavailable, match=r"fused_instance_norm: no C\+\+ compiler found"):
        kf.kernels.normalization.fused_instance_norm(x)
    assert kf.ops.fused_instance_norm(x).shape == x.shape


def test_where_there_is_no_kernel_the_references_run_and_the_status_says_so():
    for status in statuses("mps"):
        assert not status.ready
        assert status.reason == "no native mps kernel; runs on its PyTorch reference"


@pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels are built where there is a GPU")
def test_without_a_gpu_the_status_of_its_kernels_says_so():
    for status in statuses("cuda:0")[: len(OPS)]:
        if OPS[status.name].cuda:
            assert (status.ready, status.reason) == (False, "no CUDA device")
        else:
            assert status.by_choice


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_family_is_asked_for_without_loading_the_other(device, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(build, "load_built", lambda name, **_: asked.append(name))
    monkeypatch.setattr(build, "load", lambda name, **_: asked.append(name))
    of_family = {
        family: [op.name for op in OPS.values() if op.family == family]
        for family in (STYLE, TRANSFORMER)
    }
    assert {s.name for s in statuses(device, STYLE)} & set(of_family[TRANSFORMER]) == set()
    assert {s.name for s in prepare(family=STYLE)} >= set(of_family[STYLE])
    assert TRANSFORMER not in asked
    assert [s.name for s in statuses(device, TRANSFORMER)] == of_family[TRANSFORMER]
    assert asked.count(TRANSFORMER) == (device == "cuda")
    every = [s.name for s in statuses(device)]
    assert every[: len(OPS)] == list(OPS)


def test_the_public_door_knows_what_is_loaded():
    assert kf.EXTENSION_LOADED is True
    assert torch.cuda.is_available() == kf.CUDA_AVAILABLE
    flat = {name for op in OPS.values() if op.is_flat for name in op.names}
    assert flat >= {"gelu_dropout", "fused_gelu_dropout"}
    assert flat < set(dir(kf.kernels))
    groups = [vars(getattr(kf.kernels, group)) for group in set(dir(kf.kernels)) - flat]
    names = {name for op in OPS.values() for name in op.names}
    assert {name for group in groups for name in group} == names
    assert all(callable(getattr(kf.ops, name)) for name in OPS)
    with pytest.raises(AttributeError, match="no attribute 'NOTHING'"):
        _ = kf.NOTHING


@pytest.mark.parametrize("name", ["ops", "kernels"])
def test_the_doors_rooms_are_modules(name):
    module = importlib.import_module(f"kernel_fusion.{name}")
    assert module is getattr(kf, name)
    with pytest.raises(AttributeError, match="'NOTHING'"):
        _ = module.NOTHING


CONVOLUTIONS = {
    "fused_conv_reflection_pad_forward": "PyTorch's oneDNN convolution",
    "fused_conv_instancenorm_forward": "PyTorch's oneDNN convolution + the native norm",
    "fused_residual_block_forward": "PyTorch's oneDNN convolutions + the native norm",
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_what_is_not_native_on_the_cpu_is_refused_by_the_kernels_and_named_by_the_status(name):
    (status,) = (s for s in statuses("cpu") if s.name == name)
    assert (status.ready, status.by_choice, status.runs) == (False, True, CONVOLUTIONS[name])
    arguments = next(iter(OPS[name].samples()))
    with pytest.raises(KernelUnavailable, match="no native convolution for the CPU"):
        OPS[name].native(*arguments)
    assert bool(getattr(kf.ops, name)(*arguments).isfinite().all())


def test_without_the_norm_a_convolution_runs_on_the_reference_norm_and_lacks_it(monkeypatch):
    monkeypatch.setitem(build._reasons, "instance_norm", "no C++ compiler found")
    (status,) = (s for s in statuses("cpu") if s.name == "fused_conv_instancenorm_forward")
    assert status.runs == "PyTorch's oneDNN convolution + the reference norm"
    assert (status.ready, status.by_choice, status.reason) == (
        False,
        False,
        "no C++ compiler found",
    )


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


FIRST_CALL = """
import torch, kernel_fusion as kf
from kernels.jit import build
assert build._reasons == {} and not torch.cuda.is_initialized()
x = torch.randn(1, 3, 8, 8)
y = kf.ops.%s
torch.testing.assert_close(y, torch.nn.functional.instance_norm(x))
print(kf.EXTENSION_LOADED, *{s.runs for s in kf.statuses() if "norm" in s.name and s.ready})
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "call",
    [
        "fused_instance_norm_forward(x.requires_grad_(), None, None)",
        pytest.param("fused_instance_norm(x)", marks=pytest.mark.full),
    ],
)
def test_what_is_built_is_loaded_by_the_first_call_and_not_by_importing(call):
    done = run_python("import warnings; warnings.simplefilter('error')" + FIRST_CALL % call)
    assert (done.stderr, done.stdout) == ("", "True the native kernel\n")


@pytest.mark.full
def test_importing_the_package_registers_what_loads_each_library_that_describes_itself():
    code = (
        "import kernels\n"
        "from kernels.jit import prebuilt\n"
        "from kernels.jit.libraries import LIBRARIES\n"
        "print({each.name for each in LIBRARIES.values() if each.abi} - set(prebuilt._finders))"
    )
    told = run_python(code)
    assert told.stdout == "set()\n", told.stderr


@pytest.mark.full
def test_what_is_not_built_is_said_once_with_the_reason_and_the_command(tmp_path):
    code = FIRST_CALL % "fused_instance_norm(x)" + "kf.ops.fused_instance_norm(x)"
    done = run_python(code, STYLEFORGE_CACHE=str(tmp_path))
    assert done.stdout == "False\n"
    assert done.stderr.count("NativeKernelWarning") == 1
    assert "'instance_norm' are not in use: not built yet" in done.stderr
    assert 'python -c "import kernel_fusion; kernel_fusion.prepare()"' in done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_a_build_under_way_on_another_thread_is_not_waited_for(monkeypatch):
    monkeypatch.setitem(build._reasons, "instance_norm", build.BUILDING)
    with ThreadPoolExecutor(1) as pool, build._loading, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pool.submit(use_native, "instance_norm").result(timeout=30) is False


def test_preparing_is_idempotent_and_names_what_it_prepared():
    assert [s.name for s in prepare()][: len(OPS)] == list(OPS)
    assert prepare(["fused_instance_norm"])[0] == KernelStatus("fused_instance_norm", True)
    with pytest.raises(KeyError):
        prepare(["no_such_operation"])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_on_a_gpu_every_option_means_the_same(case, dtype):
    case = dict(case)
    x = normal(2, 48, 8, 11).to(dtype).contiguous(memory_format=torch.channels_last)
    shape = (2, 12, 14, 20) if case.get("interleave") else (2, 48, 8, 11)
    weight, bias = normal(shape[1], seed=1), normal(shape[1], seed=2)
    residual = normal(*shape, seed=3).to(dtype) if case.pop("residual", False) else None
    expected = exact(x, weight, bias, residual, **case)
    got = fused_instance_norm(
        x.cuda(),
        weight.cuda(),
        bias.cuda(),
        residual.cuda() if residual is not None else None,
        **case,
    )
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(got.double().cpu(), expected, atol=20 * eps, rtol=4 * eps)
