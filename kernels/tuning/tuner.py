"""Tunes the current GPU: compiles, sweeps, stores faster layers, and starts their test."""

from __future__ import annotations

import lzma
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path

import torch

from kernels.driver.compiling import architecture_for
from kernels.driver.images import Image, ImageList
from kernels.driver.prebuilt import PerDevice
from kernels.driver.version import driver_version
from kernels.jit import build, subprocesses
from kernels.jit.cuda_tools import FOR_KERNELS, cuda_tools
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.jit.nvrtc import CompilationError
from kernels.network import tuned
from kernels.network.dispatch import BACKENDS, available
from kernels.network.gpu import Gpu, standing_for
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS
from kernels.network.tuned import TunedLayer, Tuning
from kernels.table.names import NETWORK
from kernels.tuning.batch import Case
from kernels.tuning.compiling import Compiler, DoesNotFit, Made, Pool, why_not
from kernels.tuning.sweep import DTYPE, Found, Sweep, Wanted, Winner, limited_gpu

TESTER = f"{__name__.removesuffix('tuning.tuner')}self_test.tuned"
SMALL, ALL = "sm80-small", "sm80"  # the general path's rows of BACKENDS


class TuningError(RuntimeError):
    """Raised if a GPU cannot be tuned; the message is the reason."""


def cases_of(networks: Sequence[str], device: torch.device, shared_kb: int = 0) -> list[Case]:
    """Return how the general path runs networks in WITH_KERNELS on a GPU.

    Without `networks`, all that run there on that path; `shared_kb` as in Case. TuningError if it
    runs none, or not a named one.
    """
    library = _library().on(device)
    found: list[Case] = []
    with standing_for(limited_gpu(Gpu.of(device), shared_kb)):
        for name in networks or WITH_KERNELS:
            rows = [row.name for row in available(WITH_KERNELS[name], device, DTYPE, library)]
            own = [row for row in rows if row in (ALL, SMALL)]
            if own and (networks or rows[0] == own[0]):
                found.append(Case(name, own[0] == SMALL, shared_kb))
            elif networks:
                (row,) = (row for row in BACKENDS if row.name == SMALL)
                why = row.reason(Gpu.of(device), WITH_KERNELS[name], DTYPE, library.abi)
                raise TuningError(f"the {name} network cannot use these kernels here: {why}")
    if not found:
        raise TuningError(
            f"no network uses the general kernels on {torch.cuda.get_device_name(device)}, and "
            "only their layers can be tuned; --network tunes one anyway"
        )
    return found


def tune(
    device: torch.device, wanted: Wanted, progress: Callable[[str], object]
) -> tuple[Found, str]:
    """Tune a GPU, and store layers that are faster than the library's.

    Layers stored before stay, except the ones tuned now. Results with a limit of shared memory are
    not stored. Return the results, and in words what was stored and whether it is used.

    Raises:
        TuningError: Without NVRTC, if the general kernels do not run on the GPU, or if the
            network's library is not in use.
        OSError: If a file cannot be written.
    """
    images: ImageList = _library().images
    sm80 = images.description["sm80"]
    try:
        tools = cuda_tools(FOR_KERNELS)
    except BuildError as error:
        raise TuningError(str(error)) from error
    capability = torch.cuda.get_device_capability(device)
    architecture = architecture_for(sm80["target"], capability)
    if architecture is None:
        raise TuningError(f"the general kernels do not run on {torch.cuda.get_device_name(device)}")
    source = LIBRARIES[NETWORK].source(sm80["source"])
    compiler = Compiler(tools.toolkit, source, architecture, tools.defines)
    pool = Pool(compiler, os.cpu_count() or 1)
    try:
        with torch.cuda.device(device):
            torch.cuda.synchronize()  # makes a context, which the driver's functions need
            sweep = Sweep(pool, architecture, sm80["networks"], progress)
            found = sweep.run(wanted)
        kept = [winner for winner in found.winners if not winner.case.shared_kb]
        requests = {
            winner.traits: sweep.request(winner.case, winner.role, winner.traits, every_dtype=True)
            for winner in kept
        }
        futures = {traits: pool.submit(request) for traits, request in requests.items()}
        made = {traits: future.result() for traits, future in futures.items()}
    except (CompilationError, DoesNotFit, BrokenProcessPool) as error:
        raise TuningError(f"cannot store the tuned layers: {why_not(error)}") from error
    finally:
        pool.close()
    if not any(not case.shared_kb for case, _ in found.done):
        return found, "nothing is stored"
    _store(device, images, architecture, found, kept, made)
    reason = _tested(device)
    stored = tuned.read(torch.cuda.get_device_name(device))
    return found, f"not used: {reason}" if reason else str(stored)


def joined(
    before: Tuning | None,
    fresh: Tuning,
    done: Sequence[tuple[str, bool, str]],
) -> Tuning:
    """Add the layers of an earlier tuning that the new one does not replace.

    `done` has the network, `small` and role of each new layer. `before` is ignored if it belongs
    to another card or to other sources.
    """
    if before is None or before.unfit(fresh.card, fresh.capability, fresh.digest):
        return fresh
    kept = [one for one in before.layers if (one.network, one.small, one.role) not in done]
    traits = {one.traits for one in kept} - set(fresh.kernels)
    return Tuning(
        *(fresh.card, fresh.capability, fresh.driver, fresh.digest, fresh.taken),
        cases=tuple(dict.fromkeys((*before.cases, *fresh.cases))),
        layers=(*kept, *fresh.layers),
        kernels={**{name: before.kernels[name] for name in sorted(traits)}, **fresh.kernels},
        images=(*(one for one in before.images if one.source in traits), *fresh.images),
    )


def _store(
    device: torch.device,
    images: ImageList,
    architecture: str,
    found: Found,
    kept: Sequence[Winner],
    made: dict[str, Made],
) -> None:
    card = torch.cuda.get_device_name(device)
    done = [(case.network, case.small, role) for case, role in found.done if not case.shared_kb]
    fresh = Tuning(
        card,
        torch.cuda.get_device_capability(device),
        driver_version(),
        images.digest,
        datetime.now(UTC).date().isoformat(),
        tuple(dict.fromkeys((network, small) for network, small, _ in done)),
        tuple(_layer(winner, made[winner.traits]) for winner in kept),
        {one.traits: dict(one.kernels) for one in made.values()},
        tuple(tuned.image_of(card, one.traits, architecture, one.image) for one in made.values()),
    )
    try:
        before = tuned.read(card)
    except BuildError:  # damaged; replaced now
        before = None
    whole = joined(before, fresh, done)
    code = {
        image.source: made[image.source].image if image.source in made else _code(image)
        for image in whole.images
    }
    tuned.store(whole, code)


def _code(image: Image) -> bytes:
    return lzma.decompress((tuned.tuned_folder() / image.file).read_bytes())


def _layer(winner: Winner, made: Made) -> TunedLayer:
    return TunedLayer(
        *(winner.case.network, winner.case.small, *winner.size, winner.role, winner.traits),
        made.described,
        winner.times.ms,
        winner.times.shipped_ms,
    )


def _tested(device: torch.device) -> str:
    """Test the stored layers in their own process; return why they must not be used, or ""."""
    index = device.index if str(device) != device.type else torch.cuda.current_device()
    root = str(build.ROOT)
    paths = [root, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with tempfile.TemporaryDirectory(prefix="styleforge.tune-") as folder:
        log = Path(folder) / "log"
        try:
            subprocesses.run(
                [sys.executable, "-m", TESTER, str(index)], environment, build.ROOT, log
            )
        except BuildError as error:
            return str(error)
    return tuned.verdict(torch.cuda.get_device_name(device))


def _library() -> PerDevice[Network]:
    if not build.load(NETWORK):
        raise TuningError(f"the native network does not run here: {build.reason(NETWORK)}")
    return build.handle(NETWORK)
