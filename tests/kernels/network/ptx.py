"""The network's layers for sm_75 on a newer GPU, for which the program ships no image of them.

They are compiled to PTX, which the driver translates to machine code.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest
import torch

from kernels.driver import compiling
from kernels.driver.compiling import Job, sources_of
from kernels.driver.driver import Driver
from kernels.jit.cuda_tools import cuda_defines, find_toolkit
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.network.launchers import Network
from tests.kernels.driver import stubs

SOURCE, ARCHITECTURE = "network_sm75.cu", "compute_75"


@functools.cache
def turing_network(index: int = 0) -> Network:
    """Return only these layers, on GPU cuda:`index`.

    Without NVRTC or a C++ compiler, the test is skipped.
    """
    try:
        toolkit, _ = find_toolkit()
    except BuildError as error:
        pytest.skip(str(error))
    library = LIBRARIES["network"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        description = stubs.description("network", folder)
        (source,) = (each for each in sources_of(library, description) if each.name == SOURCE)
        jobs = [Job(source, ARCHITECTURE, toolkit, cuda_defines())]
        images = compiling.make(library, description, jobs, folder)
        capability = torch.cuda.get_device_capability(index)
        network = Network(images, folder, capability, index, Driver())
        with torch.cuda.device(index):
            network.load(SOURCE)  # while the folder exists
        return network
