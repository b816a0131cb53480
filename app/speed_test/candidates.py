"""Lists the engines of this machine: ours, PyTorch's and other runtimes, on each device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from app.engine.comparison import BASELINE, FUSED
from app.engine.painting_devices import painting_devices
from app.speed_test.result import COMPILED, NOT_INSTALLED, OURS, PLAIN
from kernels.network.webgpu.adapters import why_none
from models.families.family import NetworkFamily
from models.families.keys import FEED_FORWARD
from models.runtimes.runtime import Runtime
from models.runtimes.table import RUNTIMES
from models.webgpu_devices import found, webgpu_device
from utils.devices import cuda_unavailable_reason
from utils.translation.texts import tr

CPU = torch.device("cpu")
CUDA_TITLE, WEBGPU_TITLE = "CUDA", "WebGPU"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An engine on a device.

    Attributes:
        title: Names both: "StyleForge, CPU".
        kernels: A key of ALL_VARIANTS, or COMPILED.
        reason: Why it cannot run on this machine, a clause; "" if it can.
        detail: The remedy or a longer reason; "" for none.
        gpu: The name of its GPU, the same by CUDA and by WebGPU; "" for the processor.
    """

    title: str
    kernels: str
    device: torch.device = CPU
    reason: str = ""
    detail: str = ""
    gpu: str = ""


def candidates(family: NetworkFamily[Any]) -> tuple[Candidate, ...]:
    """Return the engines for the networks of a family, and why those at hand cannot run.

    This may wake GPUs and imports runtimes, which takes seconds.
    """
    return (
        *_cuda(),
        *_webgpu(family),
        *_on_pytorch(CPU, "CPU"),
        *_runtimes(family),
        *_compiled(family),
    )


def _cuda() -> Iterator[Candidate]:
    gpus = _gpus()
    if not gpus:
        reason = tr(cuda_unavailable_reason())
        yield Candidate(_titled(OURS, CUDA_TITLE), FUSED, reason=reason)
    for device, name in gpus:
        yield Candidate(_titled(OURS, f"{CUDA_TITLE}, {name}"), FUSED, device, gpu=name)
        yield Candidate(_titled(tr(PLAIN), f"{CUDA_TITLE}, {name}"), BASELINE, device, gpu=name)


def _webgpu(family: NetworkFamily[Any]) -> Iterator[Candidate]:
    title = _titled(OURS, WEBGPU_TITLE)
    if not family.has_webgpu:
        yield Candidate(title, FUSED, reason=tr("has no shaders for styles of this kind"))
        return
    if why := why_none():
        yield Candidate(title, FUSED, reason=tr("no GPU found"), detail=why)
        return
    for index, adapter in enumerate(found()):
        if not adapter.software:
            name = f"{WEBGPU_TITLE}, {adapter.name}"
            yield Candidate(_titled(OURS, name), FUSED, webgpu_device(index), gpu=adapter.name)


def _on_pytorch(device: torch.device, name: str) -> Iterator[Candidate]:
    yield Candidate(_titled(OURS, name), FUSED, device)
    yield Candidate(_titled(tr(PLAIN), name), BASELINE, device)


def _compiled(family: NetworkFamily[Any]) -> Iterator[Candidate]:
    """Yield torch.compile last: the user may cancel it, since compiling takes a minute."""
    if family.key != FEED_FORWARD:
        return
    for device, name in _gpus():
        yield Candidate(_titled(COMPILED, f"{CUDA_TITLE}, {name}"), COMPILED, device, gpu=name)
    yield Candidate(_titled(COMPILED, "CPU"), COMPILED)


def _runtimes(family: NetworkFamily[Any]) -> Iterator[Candidate]:
    """Yield the runtimes that run here; for a package with none, one row with the reason."""
    for name in dict.fromkeys(each.extra for each in RUNTIMES.values()):
        group = {key: each for key, each in RUNTIMES.items() if each.extra == name}
        yield from _runtime_group(family, group)


def _runtime_group(family: NetworkFamily[Any], group: dict[str, Runtime]) -> Iterator[Candidate]:
    key, first = next(iter(group.items()))
    title = first.title.rpartition(" ")[0]  # without the device
    if first.missing:
        yield Candidate(title, key, reason=tr(NOT_INSTALLED), detail=first.missing)
        return
    if absent := family.unavailable_options.get("kernels", {}).get(key, ""):
        yield Candidate(title, key, reason=tr("does not paint this kind"), detail=tr(absent))
        return
    missing = {key: each.device_missing() for key, each in group.items()}
    there = [key for key, reason in missing.items() if not reason]
    for key in there:
        yield Candidate(group[key].title, key)
    if not there:
        yield Candidate(title, key, reason=tr("no device found"), detail=missing[key])


def _gpus() -> list[tuple[torch.device, str]]:
    keys = [each.key for each in painting_devices() if each.key.startswith("cuda")]
    return [(torch.device(key), torch.cuda.get_device_name(key)) for key in keys]


def _titled(engine: str, device: str) -> str:
    return tr("{engine}, {device}", engine=engine, device=device)
