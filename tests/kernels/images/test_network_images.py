"""The images of the network on the CPU compute the same bits on every system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernels.jit import prebuilt
from kernels.jit.libraries import LIBRARIES
from kernels.table.names import NETWORK_CPU
from tests.kernels.images import recorded_network
from tests.kernels.images.test_images import (
    THREADS,
    differences_on_arm64,
    differences_on_windows,
)
from tests.kernels.images.test_images import wine as wine
from tests.kernels.network.cpu.native import LEVELS, available

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compiles on Linux")


def image_for(target: str) -> Path:
    """Return the image of the current sources; skip the test without it, or its processor."""
    image = prebuilt.IMAGES / prebuilt.image_name(LIBRARIES[NETWORK_CPU], target)
    if not image.exists():
        pytest.skip(f"there is no image for {target} of these sources: make prebuild")
    level = target.partition("-")[2].replace("_v", "-v").replace("x86_64", "x86-64")
    if level in LEVELS and level not in available():
        pytest.skip(f"the processor is no {level}")
    return image


def test_images_with_fused_products_compute_the_same_bits():
    calls = recorded_network.record(image_for("linux-x86_64_v3"), THREADS)
    wide = recorded_network.record(image_for("linux-x86_64_v4"), THREADS)
    differ = [one.arguments for one, other in zip(calls, wide, strict=True)
              if one.result != other.result]  # fmt: skip
    # The panels of weights are as wide as the processor's registers.
    assert all(arguments.startswith("weights") for arguments in differ)


@pytest.mark.parametrize("level", ["x86_64_v2", "x86_64_v3", "x86_64_v4"])
def test_on_windows_an_image_gives_the_bits_of_the_one_on_linux(level, wine, tmp_path):
    calls = recorded_network.record(image_for(f"linux-{level}"), THREADS)
    target = f"windows-{level}"
    assert not differences_on_windows(wine, image_for(target), target, calls, tmp_path)


def test_on_arm64_an_image_gives_the_bits_of_the_one_on_x86_64(tmp_path):
    calls = recorded_network.record(image_for("linux-x86_64_v3"), THREADS)
    assert not differences_on_arm64(image_for("linux-arm64"), calls, tmp_path)
