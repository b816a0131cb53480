"""The driver's errors about images and kernels become sentences, without a GPU."""

from __future__ import annotations

import ctypes

import pytest

from kernels.driver.driver import ERRORS, Driver
from kernels.jit.errors import BuildError


def test_a_missing_driver_is_one_sentence():
    with pytest.raises(BuildError, match=r"^the NVIDIA driver's libnone\.so does not load: "):
        Driver("libnone.so")


@pytest.mark.parametrize(("version", "told"), [(11080, "11.8"), (11000, "11.0")])
def test_an_old_driver_is_told_its_version_and_the_one_needed(version, told, stub, stub_path):
    ctypes.c_int.in_dll(stub, "stub_version").value = version
    with pytest.raises(
        BuildError, match=rf"^the NVIDIA driver supports CUDA {told}; .* need 12\.0 or newer"
    ):
        Driver(str(stub_path))


@pytest.mark.parametrize("version", [12000, 13000])
def test_a_driver_that_is_new_enough_is_taken(version, stub, stub_path):
    ctypes.c_int.in_dll(stub, "stub_version").value = version
    Driver(str(stub_path))


def test_an_image_that_the_driver_refuses_is_one_sentence(driver):
    with pytest.raises(
        BuildError, match=r"^the NVIDIA driver cannot load the image x: the image is damaged$"
    ):
        driver.load(b"damaged\0", "the image x")


def test_a_kernel_that_the_image_lacks_is_one_sentence(driver):
    library = driver.load(b"image\0", "x")
    with pytest.raises(
        BuildError, match=r"^no kernel missing: the image does not contain this kernel$"
    ):
        driver.kernel(library, "missing", 0, 0)


def test_more_shared_memory_than_the_gpu_has_is_one_sentence(driver):
    library = driver.load(b"image\0", "x")
    with pytest.raises(BuildError, match=r"^kernel k cannot have 232,449 bytes of shared memory: "):
        driver.kernel(library, "k", 0, 232_449)


def test_a_kernel_that_overlaps_others_has_its_memory_split_as_theirs(driver, stub):
    library = driver.load(b"image", "the image")
    stub.stub_carveout.argtypes = [ctypes.c_void_p]
    for all_shared, percent in ((False, 0), (True, 100)):
        kernel = driver.kernel(library, "k", 0, 1000, all_shared=all_shared)
        assert stub.stub_carveout(kernel) == percent


def test_errors_are_told_without_a_number():
    assert all(not any(c.isdigit() for c in text) for text in ERRORS.values())
