"""Which backend runs the whole network on a CUDA device, and why another does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.network import abi
from kernels.network.gpu import Gpu
from kernels.network.launchers import Network
from kernels.network.plan import NetworkPlan
from kernels.network.shapes import Dimensions, name_of
from kernels.network.sm80 import DTYPES, Sm80Plan
from kernels.network.sm90 import Sm90Plan
from kernels.ops.registry import NETWORK

HOPPER = (9, 0)  # network_sm90.cu uses instructions that only this compute capability has

LAYER_BY_LAYER = "; runs layer by layer"


# From (weights, network, shape, dtype, device, library) and whether FP32 may be multiplied as TF32,
# as `plan_for` describes them.
PlanFactory = Callable[
    [
        Mapping[str, Tensor],
        Dimensions,
        tuple[int, int, int],
        torch.dtype,
        torch.device,
        Network,
        bool,
    ],
    NetworkPlan,
]


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to run the network: one CUDA source, its target, and the plan that launches it.

    Attributes:
        name: What `plan_for` knows it by.
        source: Its CUDA source, relative to `kernels/`.
        target: The least architecture as CUDA calls it; with "a", the only one, which is compiled
            for with its own instructions. The source states the same.
        dtypes: Of weights and activations.
        reason: Why a GPU cannot run a network in a dtype with it, in words; empty if it can.
            Without an Abi, nothing is built yet and shared memory is not considered.
        plan: Makes its plan.
    """

    name: str
    source: str
    target: str
    dtypes: tuple[torch.dtype, ...]
    reason: Callable[[Gpu, Dimensions, torch.dtype, abi.Abi | None], str]
    plan: PlanFactory


def _why_not_sm90(gpu: Gpu, network: Dimensions, dtype: torch.dtype, _: abi.Abi | None) -> str:
    if gpu.capability != HOPPER:
        return "needs a Hopper GPU"
    if name_of(network) != "full":
        return "its layers are as wide as those of the full network"
    return "" if dtype in (*DTYPES, torch.float32) else _no_network_in(dtype)


def _why_not_sm80(
    gpu: Gpu, network: Dimensions, dtype: torch.dtype, told: abi.Abi | None, *, small: bool
) -> str:
    name = name_of(network)
    if not name:
        return f"the native kernels are for the widths of full and lite networks{LAYER_BY_LAYER}"
    if gpu.capability < (8, 0):
        return f"the native kernels need a GPU of compute capability 8.0{LAYER_BY_LAYER}"
    if dtype is torch.float32:
        if name == "full":
            return f"the native kernels for FP32 need a Hopper GPU{LAYER_BY_LAYER}"
        return f"the {name} network has native kernels in FP16 and BF16 alone{LAYER_BY_LAYER}"
    if dtype not in DTYPES:
        return _no_network_in(dtype)
    if told is None:
        return ""
    layers = told.sm80.networks[name]
    required = layers.required_shared_bytes_small if small else layers.required_shared_bytes
    if gpu.shared_bytes < required:
        return f"this GPU has too little shared memory for the native kernels{LAYER_BY_LAYER}"
    if small and required == layers.required_shared_bytes:
        return "no layer of this network needs less shared memory"
    return ""


def _no_network_in(dtype: torch.dtype) -> str:
    return f"no native network in {str(dtype).removeprefix('torch.')}{LAYER_BY_LAYER}"


def _sm80_plan(*, small: bool) -> PlanFactory:
    return lambda weights, network, shape, dtype, device, library, _tf32: Sm80Plan(
        weights, network, shape, dtype, device, library, small
    )


# The fastest first, the least demanding last.
BACKENDS = (
    Backend(
        "sm90",
        "network_sm90.cu",
        "90a",
        (*DTYPES, torch.float32),
        _why_not_sm90,
        Sm90Plan,
    ),
    Backend(
        "sm80",
        "network_sm80.cu",
        "80",
        (*DTYPES,),
        partial(_why_not_sm80, small=False),
        _sm80_plan(small=False),
    ),
    Backend(
        "sm80-small",
        "network_sm80.cu",
        "80",
        (*DTYPES,),
        partial(_why_not_sm80, small=True),
        _sm80_plan(small=True),
    ),
)


def available(
    network: Dimensions,
    device: torch.device,
    dtype: torch.dtype,
    library: Network | None = None,
) -> tuple[Backend, ...]:
    """The backends that can run a network in `dtype` on a CUDA device, the fastest first.

    Args:
        network: Its dimensions.
        device: A CUDA device.
        dtype: Of weights and activations.
        library: The network on that GPU; without it, shared memory is not considered.
    """
    gpu, told = Gpu.of(device), None if library is None else library.abi
    return tuple(row for row in BACKENDS if not row.reason(gpu, network, dtype, told))


def loaded(device: torch.device) -> Network:
    """The network's library that is in use, on a CUDA device; KeyError if none is.

    Raises:
        BuildError: No image is for that GPU.
    """
    return build.handle(NETWORK).on(device)


def shipped(device: torch.device) -> Network:
    """The same without layers that were tuned for the GPU, see tuned.py.

    Raises:
        BuildError: No image is for that GPU.
    """
    return build.handle(NETWORK).made_by(Network).on(device)


def tuning(device: torch.device) -> str:
    """Which layers were tuned for a GPU, or why such layers are not used, in words.

    Empty where nothing is stored of the GPU, or the network's library is not in use there.
    """
    if device.type != "cuda" or build.reason(NETWORK):
        return ""
    try:
        return loaded(device).tuning
    except BuildError:  # no image is for that GPU
        return ""


def unavailable_reason(network: Dimensions, device: torch.device, dtype: torch.dtype) -> str:
    """Why a network's native kernels do not run there, in words; empty if they do. Builds nothing.

    Args:
        network: Its dimensions.
        device: Where it is to run.
        dtype: Of weights and activations.
    """
    return unsupported(network, device, dtype) or build.reason(NETWORK)


def unsupported(network: Dimensions, device: torch.device, dtype: torch.dtype) -> str:
    """Why they cannot run there, built or not, in words; empty if they can."""
    if device.type != "cuda":
        return f"no native network for the {device.type.upper()}"
    gpu, told = Gpu.of(device), None
    if not build.reason(NETWORK):
        try:
            told = loaded(device).abi
        except BuildError as error:
            return str(error)
    reasons = [backend.reason(gpu, network, dtype, told) for backend in BACKENDS]
    return "" if "" in reasons else reasons[-1]


def plan_for(
    weights: Mapping[str, Tensor],
    network: Dimensions,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network | None = None,
    *,
    tf32: bool = False,
    backend: str = "",
) -> NetworkPlan:
    """Make the fastest plan for a GPU.

    Args:
        weights: A published state dict, on any device.
        network: Its dimensions.
        shape: N, H, W of the pictures.
        dtype: Of activations in memory.
        device: A CUDA device.
        library: The network on that GPU; the loaded one by default.
        tf32: Whether FP32 may be multiplied with the ten bits of TF32.
        backend: The name of a row of BACKENDS to use instead of the fastest.

    Raises:
        ValueError: No backend, or not the one that was named, runs there.
        BuildError: The library does not match this program.
    """
    library = library or loaded(device)
    for row in available(network, device, dtype, library):
        if backend in ("", row.name):
            return row.plan(weights, network, shape, dtype, device, library, tf32)
    raise ValueError(f"no backend {backend or 'of the network'} runs {dtype} on {device}")
