"""The NVIDIA driver reports its GPUs and its CUDA release, and may be missing."""

from __future__ import annotations

import pytest

from kernels.driver import driver as launching
from tests.helpers.driver_stub import driver_stub
from utils import nvidia_driver
from utils.nvidia_driver import NvidiaDriver, find_driver


@pytest.mark.parametrize(
    ("version", "release", "capabilities"),
    [(12080, (12, 8), ((8, 6),)), (13000, (13, 0), ((9, 0), (12, 0)))],
)
def test_a_driver_says_its_release_and_its_gpus(version, release, capabilities, tmp_path):
    stub = driver_stub(tmp_path, version, capabilities)
    assert find_driver(stub) == NvidiaDriver(release, capabilities)


def test_without_a_library_or_a_gpu_there_is_no_driver(tmp_path):
    assert find_driver("libno-such-driver.so") is None
    assert find_driver(driver_stub(tmp_path, 13000, [])) is None


def test_what_asks_the_driver_and_what_launches_name_the_same_library():
    assert nvidia_driver.LIBRARY == launching.LIBRARY
