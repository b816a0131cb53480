"""Stores the launches of the Python launchers, after a deliberate change of grids or arguments.

    python -m tests.kernels.rewrite_launches

Read the difference before you commit it: the tests compare every launch with these files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernels.driver.driver import Driver
from kernels.network.launchers import Network
from kernels.ops.style.launchers import Operations
from kernels.ops.transformer.launchers import Transformer
from tests.kernels.driver import launches, standins, stubs
from tests.kernels.network import recorded as network
from tests.kernels.ops.cuda import recorded as operations
from tests.kernels.ops.cuda import recorded_transformer as transformer

HOPPER = (9, 0)  # for the stand-in images


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = stubs.driver_stub(folder)
        driver, stub = Driver(str(built)), stubs.loaded(built)
        described = stubs.description("network", folder)
        images = standins.write_images("network", described, folder)
        library = Network(images, folder, HOPPER, 0, driver)
        calls = network.calls(library.abi)
        launches.write(network.FILE, network.WHAT, network.told(library, stub, calls))
        described = stubs.description("operations", folder)
        images = standins.write_images("operations", described, folder)
        operations.expect(stub, standins.names_of("operations", described))
        single = Operations(images, folder, HOPPER, 0, driver)
        launches.write(operations.FILE, operations.WHAT, operations.record(single, stub))
        described = stubs.description("transformer", folder)
        images = standins.write_images("transformer", described, folder)
        transformer.expect(stub, standins.names_of("transformer", described))
        library = Transformer(images, folder, HOPPER, 0, driver)
        launches.write(transformer.FILE, transformer.WHAT, transformer.record(library, stub))


if __name__ == "__main__":
    main()
