"""Selects the backend that runs the whole network on a CUDA device, and explains refusals."""

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
from kernels.network.sm80_int8 import Sm80Int8Plan
from kernels.network.sm90 import Sm90Plan
from kernels.table.names import NETWORK
from utils.translation.texts import mark, tr

HOPPER = (9, 0)  # network_sm90.cu uses instructions that only this compute capability has
AMPERE, TURING = (8, 0), (7, 5)  # minimum for network_sm80.cu and for network_sm75.cu


# From (weights, network, shape, dtype, device, library) and whether FP32 may be multiplied as TF32;
# see `plan_for`.
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
    """A way to run the network: its CUDA sources, their target, and the plan that launches it.

    Attributes:
        target: The minimum architecture, or with "a" the only one, as the sources state it too.
        reason: Returns why a GPU cannot run a network in a dtype with it; "" if it can. Without an
            Abi, nothing is built yet and it ignores shared memory.
    """

    name: str
    sources: tuple[str, ...]
    target: str
    dtypes: tuple[torch.dtype, ...]
    reason: Callable[[Gpu, Dimensions, torch.dtype, abi.Abi | None], str]
    plan: PlanFactory


def _why_not_sm90(gpu: Gpu, network: Dimensions, dtype: torch.dtype, _: abi.Abi | None) -> str:
    if gpu.capability != HOPPER:
        return "needs a Hopper GPU"
    if name_of(network) != "full":
        return "its layers are as wide as in the full network"
    return "" if dtype in DTYPES else _no_network_in(dtype)


def _why_not_sm80(
    gpu: Gpu, network: Dimensions, dtype: torch.dtype, told: abi.Abi | None, *, small: bool
) -> str:
    name = name_of(network)
    if not name:
        return tr(_OTHER_WIDTHS)
    if gpu.capability < AMPERE:
        return tr(
            "these layers need a GPU of compute capability {capability}; runs layer by layer",
            capability="8.0",
        )
    if dtype not in DTYPES:
        return _no_network_in(dtype)
    if told is None:
        return ""
    layers = told.sm80.networks[name]
    required = layers.required_shared_bytes_small if small else layers.required_shared_bytes
    if gpu.shared_bytes < required:
        return tr(_LITTLE_SHARED)
    if small and required == layers.required_shared_bytes:
        return tr("no layer of this network needs less shared memory")
    return ""


def _why_not_sm75(gpu: Gpu, network: Dimensions, dtype: torch.dtype, told: abi.Abi | None) -> str:
    name = name_of(network)
    if not name:
        return tr(_OTHER_WIDTHS)
    if gpu.capability < TURING:
        return tr(
            "the native kernels need a GPU of compute capability {capability}; runs layer by layer",
            capability="7.5",
        )
    if dtype in (torch.bfloat16, torch.float32):
        return tr(
            "on compute capability 7.5, the native kernels run only in FP16; runs layer by layer"
        )
    if dtype is not torch.float16:
        return _no_network_in(dtype)
    if told is not None and gpu.shared_bytes < told.sm75.networks[name].required_shared_bytes:
        return tr(_LITTLE_SHARED)
    return ""


def _why_not_int8(
    gpu: Gpu, network: Dimensions, dtype: torch.dtype, told: abi.Abi | None, *, small: bool
) -> str:
    if name_of(network) != "full":
        return tr("INT8 only supports the widths of the full network; runs in FP16")
    if gpu.capability < AMPERE:
        return tr("INT8 needs a GPU of compute capability 8.0; runs in FP16")
    if dtype is not torch.float16:
        return _no_network_in(dtype)
    required = 0 if told is None else told.sm80_int8.required_shared_bytes
    if gpu.shared_bytes < required:
        return tr(_LITTLE_SHARED)
    return _why_not_sm80(gpu, network, dtype, told, small=small)


_OTHER_WIDTHS = mark(
    "the native kernels only support the widths of the full and lite networks; runs layer by layer"
)
_LITTLE_SHARED = mark(
    "this GPU has too little shared memory for the native kernels; runs layer by layer"
)


def _no_network_in(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return tr("no native network in {precision}; runs layer by layer", precision=name)


def _sm80_plan(*, small: bool) -> PlanFactory:
    return lambda weights, network, shape, dtype, device, library, tf32: Sm80Plan(
        weights, network, shape, dtype, device, library, small, tf32
    )


def _int8_plan(*, small: bool) -> PlanFactory:
    return lambda weights, network, shape, _dtype, device, library, _tf32: Sm80Int8Plan(
        weights, network, shape, device, library, small
    )


def _sm75_plan(
    weights: Mapping[str, Tensor],
    network: Dimensions,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network,
    _tf32: bool,
) -> NetworkPlan:
    layers = library.abi.sm75
    return Sm80Plan(weights, network, shape, dtype, device, library, layers=layers)


# The layers of network_sm80.cu; FP32 is in separate sources, as TF32 and in full precision.
MMA_SYNC = "network_sm80.cu", "network_sm80_tf32.cu", "network_sm80_fp32.cu"

# Fastest first, least demanding last.
BACKENDS = (
    Backend(
        "sm90",
        ("network_sm90.cu",),
        "90a",
        DTYPES,
        _why_not_sm90,
        Sm90Plan,
    ),
    Backend(
        "sm80",
        MMA_SYNC,
        "80",
        DTYPES,
        partial(_why_not_sm80, small=False),
        _sm80_plan(small=False),
    ),
    Backend(
        "sm80-small",
        MMA_SYNC,
        "80",
        DTYPES,
        partial(_why_not_sm80, small=True),
        _sm80_plan(small=True),
    ),
    Backend("sm75", ("network_sm75.cu",), "75", (torch.float16,), _why_not_sm75, _sm75_plan),
)

# Backends that multiply 8-bit integers, in place of BACKENDS if the caller wants INT8.
OF_INT8 = tuple(
    Backend(
        f"sm80-int8{name}",
        ("network_sm80.cu", "network_sm80_int8.cu"),
        "80",
        (torch.float16,),
        partial(_why_not_int8, small=small),
        _int8_plan(small=small),
    )
    for name, small in (("", False), ("-small", True))
)


def available(
    network: Dimensions,
    device: torch.device,
    dtype: torch.dtype,
    library: Network | None = None,
    *,
    int8: bool = False,
) -> tuple[Backend, ...]:
    """Return the backends that can run a network in `dtype` on a CUDA device, fastest first.

    Without `library`, shared memory is ignored. With `int8`, products are 8-bit; `dtype` is FP16.
    """
    gpu, rows = Gpu.of(device), OF_INT8 if int8 else BACKENDS
    return tuple(row for row in rows if not _why_not(row, gpu, network, dtype, library))


def _why_not(
    row: Backend, gpu: Gpu, network: Dimensions, dtype: torch.dtype, library: Network | None
) -> str:
    reason = row.reason(gpu, network, dtype, None if library is None else library.abi)
    if reason or library is None:
        return reason
    missing = [source for source in row.sources if source not in library.sources]
    if not missing:
        return ""
    return tr("no image of {file} runs on this GPU; runs layer by layer", file=missing[0])


def told_reason(gpu: Gpu, reasons: Mapping[str, str]) -> str:
    """Return the reason of the least demanding backend made for GPUs like this one."""
    return reasons["sm80-small" if gpu.capability >= AMPERE else "sm75"]


def loaded(device: torch.device) -> Network:
    """Return the network's library on a GPU.

    Raises:
        KeyError: If the library is not in use.
        BuildError: If no image runs on this GPU.
    """
    return build.handle(NETWORK).on(device)


def shipped(device: torch.device) -> Network:
    """Return a GPU's library without tuned layers, see tuned.py.

    Raises:
        BuildError: If no image runs on the GPU.
    """
    return build.handle(NETWORK).made_by(Network).on(device)


def tuning(device: torch.device) -> str:
    """Describe a GPU's tuned layers, or why they are unused; "" without any or without library."""
    if device.type != "cuda" or build.reason(NETWORK):
        return ""
    try:
        return loaded(device).tuning
    except BuildError:  # no image is for that GPU
        return ""


def unavailable_reason(
    network: Dimensions, device: torch.device, dtype: torch.dtype, *, int8: bool = False
) -> str:
    """Return why native kernels do not run on a device; "" if they do. Builds nothing."""
    return unsupported(network, device, dtype, int8=int8) or tr(build.reason(NETWORK))


def unsupported(
    network: Dimensions, device: torch.device, dtype: torch.dtype, *, int8: bool = False
) -> str:
    """Return why native kernels cannot run on a device, built or not; "" if they can."""
    if device.type != "cuda":
        return tr("no native network for the {device}", device=device.type.upper())
    gpu, library = Gpu.of(device), None
    if not build.reason(NETWORK):
        try:
            library = loaded(device)
        except BuildError as error:
            return str(error)
    reasons: dict[str, str] = {}
    for row in OF_INT8 if int8 else BACKENDS:
        reasons[row.name] = _why_not(row, gpu, network, dtype, library)
        if not reasons[row.name]:
            return ""
    return reasons[OF_INT8[-1].name] if int8 else told_reason(gpu, reasons)


def plan_for(
    weights: Mapping[str, Tensor],
    network: Dimensions,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network | None = None,
    *,
    tf32: bool = False,
    int8: bool = False,
    backend: str = "",
) -> NetworkPlan:
    """Make the fastest plan for a GPU.

    Args:
        weights: A published state dict, on any device.
        shape: N, H, W of the pictures.
        dtype: Dtype of activations in memory.
        library: Defaults to the loaded one.
        tf32: Whether FP32 may be multiplied with the ten bits of TF32.
        int8: Whether products are 8-bit integers; `dtype` is FP16 then.
        backend: A row of BACKENDS, or of OF_INT8, to use instead of the fastest.

    Raises:
        ValueError: If no backend, or not the named one, runs on the GPU.
        BuildError: If the library does not match this program.
    """
    library = library or loaded(device)
    for row in available(network, device, dtype, library, int8=int8):
        if backend in ("", row.name):
            return row.plan(weights, network, shape, dtype, device, library, tf32)
    raise ValueError(f"no backend {backend or 'of the network'} runs {dtype} on {device}")
