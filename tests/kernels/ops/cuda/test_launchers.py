"""The single operations' launchers launch exactly what launches.txt contains, field by field.

They run without a GPU, with a CUDA driver that only records launches. The file first recorded the
C++ launchers, whose decisions the current ones took over.
"""

from __future__ import annotations

import ctypes
from ctypes import c_longlong

import pytest

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.jit.errors import BuildError
from kernels.ops.style import launchers, structs
from kernels.ops.style.launchers import INVALID_VALUE, Operations
from tests.kernels.driver import launches, stubs
from tests.kernels.driver.standins import names_of, write_images
from tests.kernels.ops.cuda import recorded
from tests.kernels.ops.cuda.recorded import convolution, norm


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    return stubs.description_once("operations", tmp_path_factory.mktemp("abi"))


@pytest.fixture(scope="module")
def folder(description, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    write_images("operations", description, folder)
    return folder


@pytest.fixture(scope="module")
def driver_stub(tmp_path_factory):
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def operations(folder, driver_stub):
    images = ImageList.read(folder, "operations")
    return Operations(images, folder, (9, 0), 0, Driver(str(driver_stub)))


def test_every_launch_is_the_stored_one(operations, description, driver_stub):
    stub, names = stubs.loaded(driver_stub), names_of("operations", description)
    recorded.expect(stub, names)
    stored = launches.read(recorded.FILE)
    seen = set()
    for call, ours, theirs in zip(
        recorded.calls(), recorded.record(operations, stub), stored, strict=True
    ):
        assert ours == theirs, call
        seen |= {launch.kernel.split(" ")[-1] for launch in ours.launches}
    assert sum(len(told.launches) for told in stored) > 2000
    described = {name for of_source in names.values() for name in of_source.values()}
    assert seen == described, "every kernel that is described is launched"


def test_shapes_are_remembered_and_forgotten(operations, monkeypatch):
    monkeypatch.setattr(launchers, "MOST_SHAPES", 3)
    for side in range(8, 20):
        p = convolution(32, 32, (side, side), type=1)
        q = norm(type=1, channels_last=1, pixels=side * side)
        first = operations.styleforge_tiles(p), operations.styleforge_norm_scratch(q)
        assert (operations.styleforge_tiles(p), operations.styleforge_norm_scratch(q)) == first
    assert len(operations._layouts) <= 3
    assert len(operations._cuts) <= 3


def test_an_unknown_type_is_refused(operations):
    assert operations.styleforge_convolve(convolution(type=7), None) == INVALID_VALUE
    assert operations.styleforge_norm(norm(type=7), None) == INVALID_VALUE


@pytest.mark.parametrize(
    ("capability", "sentence"),
    [
        ((7, 0), "this GPU has compute capability 7.0"),
        ((8, 0), "has no image for .* capability 8.0"),
    ],
)
def test_a_gpu_without_an_image_is_refused_in_words(capability, sentence, folder, driver_stub):
    images = ImageList.read(folder, "operations")
    with pytest.raises(BuildError, match=sentence):
        Operations(images, folder, capability, 0, Driver(str(driver_stub)))


def test_a_struct_of_another_size_is_refused(folder, driver_stub, monkeypatch):
    fields = [*structs.Cut._fields_, ("more", c_longlong)]
    longer = type("Longer", (ctypes.Structure,), {"_fields_": fields})
    monkeypatch.setitem(launchers.STRUCTURES, "Cut", longer)
    images = ImageList.read(folder, "operations")
    with pytest.raises(BuildError, match=r"struct Cut has 32 bytes.* has 40; .*: more"):
        Operations(images, folder, (9, 0), 0, Driver(str(driver_stub)))
