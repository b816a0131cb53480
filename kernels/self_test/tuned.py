"""Compares networks whose layers were tuned for a card with the published layers in float64.

`python -m kernels.self_test.tuned DEVICE` does so for a GPU in its own process, and stores the
verdict next to the tuned layers.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.network import tuned
from kernels.network.abi import TunedLayers
from kernels.network.launchers import Network
from kernels.network.shapes import WITH_KERNELS
from kernels.self_test.network import BLOCKS, CONFIGS, psnr
from kernels.table.names import NETWORK

# By dtype: the full network of the self-test reaches 60 and 42.
LEAST_DB = {torch.float16: 50.0, torch.bfloat16: 32.0}


def test_tuned(device: torch.device) -> str:
    """Test the layers stored for a GPU. Store and return why they must not be used, or "".

    The network's library must be in use. The layers of every size run pictures of every shape.

    Raises:
        OSError: If the verdict cannot be stored.
    """
    card = torch.cuda.get_device_name(device)
    try:
        found = tuned.read(card)
        if found is None:
            return ""
        digest = build.handle(NETWORK).images.digest
        if why := found.unfit(card, torch.cuda.get_device_capability(device), digest):
            return why
        tuned.set_verdict(card, tuned.TESTING)  # the verdict if the test crashes
        reason = _reason(found, device)
    except BuildError as error:
        return str(error)
    tuned.set_verdict(card, reason)
    return reason


def _reason(found: tuned.Tuning, device: torch.device) -> str:
    def make(
        images: ImageList, folder: Path, capability: tuple[int, int], index: int, driver: Driver
    ) -> Network:
        return Network(tuned.merged(images, found), folder, capability, index, driver)

    try:
        network = build.handle(NETWORK).made_by(make).on(device)
    except BuildError as error:
        return str(error)
    told = network.abi
    for row in told.sm80.tuned:
        library = told.sm80.networks[row.network]
        if replace(row.layers, number=library.number) == library:
            continue  # none of its layers is tuned
        # As the only one, it is the nearest to every size.
        network.abi = replace(told, sm80=replace(told.sm80, tuned=(row,)))
        for dtype, least in LEAST_DB.items():
            worst = min(_psnr(row, shape, dtype, device, network) for shape in CONFIGS)
            if not worst > least:
                kind = str(dtype).removeprefix("torch.")
                return (
                    f"self-test failed: the {row.network} network in {kind} is right to "
                    f"{worst:.0f} dB only"
                )
    return ""


def _psnr(
    row: TunedLayers,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    network: Network,
) -> float:
    dimensions = replace(WITH_KERNELS[row.network], num_residual_blocks=BLOCKS)
    backend = "sm80-small" if row.small else "sm80"
    return psnr(dimensions, shape, dtype, device, network, backend)


def main(index: str) -> None:
    """Test the layers stored for the GPU with this number.

    SystemExit with the reason, if the library is not in use or the layers must not be used.
    """
    torch.backends.cudnn.allow_tf32 = False
    if not build.load(NETWORK):
        sys.exit(build.reason(NETWORK))
    sys.exit(test_tuned(torch.device("cuda", int(index))) or None)


if __name__ == "__main__":
    main(sys.argv[1])
