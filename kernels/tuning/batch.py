"""Compiled candidates on a GPU, next to the library's layers, launched like in plans."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from kernels.driver.driver import CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, Driver
from kernels.driver.images import Image, ImageList
from kernels.jit import build
from kernels.network.launchers import Network
from kernels.network.limited import padded, padding
from kernels.network.tuned import TunedLayer, described
from kernels.table.names import NETWORK
from kernels.tuning.compiling import Made


@dataclass(frozen=True, slots=True)
class Case:
    """A network in WITH_KERNELS, and how it runs.

    `small` selects the layers that need less shared memory; `shared_kb` limits the shared memory
    of a multiprocessor, 0 for no limit.
    """

    network: str
    small: bool
    shared_kb: int = 0

    def __str__(self) -> str:
        limit = f" with {self.shared_kb} KB of shared memory" if self.shared_kb else ""
        return f"{self.network}{' (small layers)' if self.small else ''}{limit}"


def network_with(
    candidates: Sequence[Made], case: Case, role: str, architecture: str, folder: Path, whole: int
) -> Network:
    """Return the library's general path and candidates of one role, on the current GPU.

    `abi.sm80.tuned` of the result has the layers with each candidate, in order. With a limit of
    shared memory, blocks take so much more that there is no room for others, see limited.py.

    Args:
        role: One of ROLES in tuned.py.
        folder: Holds their images during this call.
        whole: Shared memory of a multiprocessor, in bytes.

    Raises:
        BuildError: If the driver cannot load a candidate.
    """

    def make(
        images: ImageList, place: Path, capability: tuple[int, int], device: int, driver: Driver
    ) -> Network:
        joined = _joined(images, candidates, case, role, architecture, folder, whole)
        return Network(joined, place, capability, device, driver)

    device = torch.device("cuda", torch.cuda.current_device())
    network: Network = build.handle(NETWORK).made_by(make).on(device)
    for made in candidates:
        network.load(made.traits)
    return network


def local_bytes(made: Made, driver: Driver, device: int) -> int:
    """Return a candidate's local memory per thread, in bytes: the most of its kernels.

    Raises:
        BuildError: If the candidate's image does not load.
    """
    library = driver.load(made.image, f"the image of {made.traits}")
    kernels = (driver.kernel(library, name, device, 0) for name in made.kernels.values())
    attribute = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
    return max(driver.kernel_attribute(attribute, kernel, device) for kernel in kernels)


def _joined(
    images: ImageList,
    candidates: Sequence[Made],
    case: Case,
    role: str,
    architecture: str,
    folder: Path,
    whole: int,
) -> ImageList:
    limit = case.shared_kb * 1024
    description = padded(images.description, limit, whole) if limit else images.description
    sm80: dict[str, Any] = description["sm80"]
    rows: list[Image] = []
    sets: list[tuple[str, bool, tuple[int, int], list[TunedLayer]]] = []
    for number, made in enumerate(candidates):
        path = folder / f"{number}.xz"
        path.write_bytes(lzma.compress(made.image, preset=0))
        sha256 = hashlib.sha256(made.image).hexdigest()
        rows.append(Image(str(path), made.traits, architecture, sha256))
        row = {**made.described, **(padding(made.described, limit, whole) if limit else {})}
        # The size is not used: callers go through `abi.sm80.tuned` one by one.
        one = TunedLayer(case.network, case.small, 1, 1, role, made.traits, row, 0.0, 0.0)
        sets.append((case.network, case.small, (1, 1), [one]))
    source = sm80["source"]
    precisions = tuple(candidates[0].described["kernels"])  # the same for all
    return replace(
        images,
        description={**description, "sm80": {**sm80, "tuned": described(sm80, sets, precisions)}},
        kernels={
            source: images.kernels[source],
            **{made.traits: made.kernels for made in candidates},
        },
        images=(*(image for image in images.images if image.source == source), *rows),
    )
