"""The network's launchers launch exactly what launches.txt contains, field by field.

They run without a GPU, with a CUDA driver that only records launches. The file first recorded the
C++ launchers, whose decisions the current ones took over.
"""

from __future__ import annotations

import lzma
from ctypes import c_void_p
from dataclasses import replace

import pytest

from kernels.driver.compiling import sources_of
from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.library import DriverLibrary
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.network import abi
from kernels.network.dispatch import BACKENDS, OF_INT8
from kernels.network.launchers import INVALID_VALUE, Network
from tests.kernels.driver import launches, stubs
from tests.kernels.driver.standins import names_of, write_images
from tests.kernels.network import recorded
from tests.kernels.network.recorded import calls, record


@pytest.fixture(scope="module")
def folder(description, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    write_images("network", description, folder)
    return folder


@pytest.fixture(scope="module")
def stub_path(tmp_path_factory):
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def network(folder, stub_path):
    images = ImageList.read(folder, "network")
    return Network(images, folder, (9, 0), 0, Driver(str(stub_path)))


def test_every_launch_is_the_stored_one(network, described, stub_path):
    stored = launches.read(recorded.FILE)
    assert len(stored) > 700
    made = recorded.told(network, stubs.loaded(stub_path), calls(described))
    for call, ours, theirs in zip(calls(described), made, stored, strict=True):
        assert ours == theirs, call
        assert bool(ours.launches) != bool(ours.result), call


def test_every_kernel_that_is_described_is_launched(network, description, described, stub_path):
    launched = {
        line.split()[0]
        for _, _, line in record(network, stubs.loaded(stub_path), calls(described))
        if line
    }
    names = [
        name for kernels in names_of("network", description).values() for name in kernels.values()
    ]
    assert launched == set(names)
    assert len(set(names)) == len(names)


def test_what_cannot_wait_for_the_kernel_ahead_does_not_overlap_it(network, described, stub_path):
    attributes = {
        kernel.split(" ")[3]
        for made in recorded.told(network, stubs.loaded(stub_path), calls(described))
        for kernel, *_ in made.launches
        if "sm75::" in kernel
    }
    assert attributes == {"-"}


def test_a_launch_has_every_field_that_matters(network, described, stub_path):
    """This spells out once what the comparison above covers."""
    precision = described.sm90.precisions["fp16"]
    conv = precision.convs["same"]
    stub = stubs.loaded(stub_path)
    call = next(
        each
        for each in record(network, stub, calls(described))
        if each[0].launcher == "styleforge_sm90_conv"
        and each[0].arguments[:2] == (conv.kind, precision.number)
        and each[0].params.residual
        and each[0].params.activated
    )
    name, grid, block, shared, most, stream, attributes, params = call[2].split()
    assert name.startswith("styleforge::sm90::conv3x3_persistent<")
    assert grid == f"{call[0].arguments[3]},1,{call[0].arguments[4]}"
    assert block == f"{conv.threads},1,1"
    assert shared == most == str(conv.shared_bytes)
    assert (stream, attributes) == ("0x1234", "6=1;")
    assert bytes.fromhex(params) == bytes(call[0].params)


def test_what_no_layer_needs_is_refused(network, described):
    params = abi.Sm90ConvParams(residual=8)
    down1 = described.sm90.precisions["fp16"].convs["down1"].kind
    assert network.styleforge_sm90_conv(down1, 0, params, 1, 1, None) == INVALID_VALUE


def test_the_description_is_the_librarys(network, described):
    assert network.abi == described


@pytest.mark.parametrize("backend", [*BACKENDS, *OF_INT8], ids=lambda backend: backend.name)
def test_a_source_states_the_target_of_its_backends(backend, description):
    targets = {
        source.name: source.target for source in sources_of(LIBRARIES["network"], description)
    }
    assert {targets[source] for source in backend.sources} == {backend.target}


def test_a_gpu_that_is_too_old_is_refused_in_words(folder, stub_path):
    images = ImageList.read(folder, "network")
    with pytest.raises(BuildError, match=r"^this GPU has compute capability 7\.0; .* 7\.5 or new"):
        Network(images, folder, (7, 0), 0, Driver(str(stub_path)))


def test_a_gpu_without_an_image_is_refused_in_words(folder, stub_path):
    images = ImageList.read(folder, "network")
    images = replace(images, images=tuple(row for row in images.images if not row.is_ptx))
    with pytest.raises(BuildError, match=r"^'.*' has no image for compute capability 7\.5$"):
        Network(images, folder, (7, 5), 0, Driver(str(stub_path)))


def test_an_image_is_loaded_by_the_first_kernel_of_its_source(folder, stub_path, tmp_path):
    images = ImageList.read(folder, "network")
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "network_sm80.cu.xz").write_bytes(lzma.compress(b"other"))
    library = DriverLibrary(images, tmp_path, (9, 0), 0, Driver(str(stub_path)))
    for name in images.kernels["network_sm90.cu"]:
        library.kernel("network_sm90.cu", name, threads=32)
    name = next(iter(images.kernels["network_sm80.cu"]))
    with pytest.raises(
        BuildError, match=r"network_sm80\.cu\.xz does not match its entry in .*network.json"
    ):
        library.kernel("network_sm80.cu", name, threads=32)


def test_a_precision_loads_its_own_image_alone(folder, stub_path, described, monkeypatch):
    images, loaded = ImageList.read(folder, "network"), []
    unpacked = ImageList.load
    monkeypatch.setattr(
        ImageList, "load", lambda *each: loaded.append(each[2].source) or unpacked(*each)
    )
    network = Network(images, folder, (9, 0), 0, Driver(str(stub_path)))
    assert loaded == []
    for precision, source in (("fp16", "sm80"), ("tf32", "sm80_tf32"), ("fp32", "sm80_fp32")):
        loaded.clear()
        number = described.sm80_in(precision).precisions[precision]
        for _ in range(2):
            params = abi.Sm80ConvParams()
            assert network.styleforge_sm80_conv(0, number, params, 1, 1, c_void_p()) == 0
        assert loaded == [f"network_{source}.cu"]
    loaded.clear()
    kind, number = described.sm80_int8.convs["same"].kind, described.sm80_int8.precisions["int8"]
    params = abi.Sm80ConvParams()
    assert network.styleforge_sm80_conv(kind, number, params, 1, 1, c_void_p()) == 0
    assert loaded == ["network_sm80_int8.cu"]
