"""The library of frame.cu describes itself, and Python refuses one that differs from its mirror."""

from __future__ import annotations

import ctypes
import json
from typing import cast

import pytest
import torch

from kernels.driver.compiling import declared_kernels
from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.frames.launchers import FrameKernels
from kernels.frames.structs import STRUCTURES
from kernels.jit.errors import BuildError
from tests.helpers import native
from tests.kernels.frames.emulated import EmulatedFrameKernels


@pytest.fixture
def told(host):
    host.styleforge_frames_abi.restype = ctypes.c_char_p
    return json.loads(host.styleforge_frames_abi())


def test_every_kernel_of_the_sources_is_described(told):
    for name in ("frame", "smoothing", "moving", "matting"):
        part = told[name]
        assert tuple(sorted(part["kernels"].values())) == declared_kernels(
            native.source(part["source"])
        )


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_library_whose_struct_differs_is_refused(name, told, tmp_path):
    offsets = told["structs"][name]["offsets"]
    offsets["height"], offsets["width"] = offsets["width"], offsets["height"]
    images = ImageList("frames", "0" * 64, told, {}, ())
    with pytest.raises(BuildError, match=f"struct {name} .* fields that differ: height, width"):
        FrameKernels(images, tmp_path, (9, 0), 0, cast("Driver", None))


def test_buffers_have_the_sizes_that_the_library_tells(told, host):
    kernels = EmulatedFrameKernels(host)
    kernels._told = told["frame"] | {"slope_bytes": 3}
    assert kernels.new_slopes(2, 5, torch.device("cpu")).shape == (2, 5, 3)
