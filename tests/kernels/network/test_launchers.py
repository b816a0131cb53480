"""The launchers in Python launch what the launchers in C++ do, field by field, without a GPU.

Both run over stubs that only write down each launch: the C++ over a CUDA runtime, the Python over a
CUDA driver.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from ctypes import c_char_p, c_void_p

import pytest

from kernels.driver.driver import Driver
from kernels.driver.images import Image, ImageList
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.network import abi, sm80, sm90
from kernels.network.dispatch import BACKENDS
from kernels.network.launchers import INVALID_VALUE, Network
from tests.kernels.driver import stubs
from tests.kernels.network.recorded import calls, record
from tools.prebuild.cuda import kernels_of

TABLE = """\
#include "{source}"
extern "C" const void* const {table}[] = {{
{kernels}}};
"""


@pytest.fixture(scope="module")
def description(described_library):
    described_library.styleforge_network_abi.restype = c_char_p
    return json.loads(described_library.styleforge_network_abi())


@pytest.fixture(scope="module")
def compiled(described, description, tmp_path_factory):
    """The launchers in C++ over the runtime's stub, with a table of the kernels described."""
    folder = tmp_path_factory.mktemp("launchers")
    sources = [stubs.STUBS / "cudart_stub.c"]
    for source, (_, kernels) in kernels_of(description).items():
        rows = "".join(f"    reinterpret_cast<const void*>(&{kernel}),\n" for kernel in kernels)
        table = folder / source
        table.write_text(
            TABLE.format(source=FOLDER / source, table=table.stem, kernels=rows), "utf-8"
        )
        sources.append(table)
    flags = ("-std=c++17", "-gencode=arch=compute_80,code=sm_80", *stubs.quick())
    library = stubs.loaded(stubs.shared_library(folder, "launchers.so", *sources, flags=flags))
    library.stub_name.restype = c_char_p
    library.stub_name.argtypes = [c_void_p]
    sm80._declared(library)
    sm90._declared(library)
    return library


@pytest.fixture(scope="module")
def names(compiled, description):
    """By source, the name in an image of each kernel that is described, as nvcc has it."""
    return {
        source: {
            kernel: compiled.stub_name(address).decode()
            for kernel, address in zip(
                kernels,
                (c_void_p * len(kernels)).in_dll(compiled, source.removesuffix(".cu")),
                strict=True,
            )
        }
        for source, (_, kernels) in kernels_of(description).items()
    }


@pytest.fixture(scope="module")
def folder(names, description, tmp_path_factory):
    """A folder of images that the driver's stub takes."""
    folder = tmp_path_factory.mktemp("images")
    digest = hashlib.sha256(b"image\0").hexdigest()
    rows = []
    for source, architecture in (("network_sm80.cu", "sm_90"), ("network_sm90.cu", "sm_90a")):
        rows.append(Image(f"{source}.xz", source, architecture, digest))
        (folder / f"{source}.xz").write_bytes(lzma.compress(b"image\0"))
    (folder / "network.json").write_text(
        ImageList("network", "", description, names, tuple(rows)).to_json(), "utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def stub_path(tmp_path_factory):
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def network(folder, stub_path):
    images = ImageList.read(folder, "network")
    return Network(images, folder, (9, 0), 0, Driver(str(stub_path)))


def test_every_launch_is_that_of_the_compiled_launchers(compiled, network, described, stub_path):
    theirs = record(compiled, compiled, calls(described))
    ours = record(network, stubs.loaded(stub_path), calls(described))
    assert len(theirs) > 700
    for (call, error, line), (_, own_error, own_line) in zip(theirs, ours, strict=True):
        assert (own_error, own_line.split()) == (error, line.split()), call
        assert bool(line) != bool(error), call


def test_every_kernel_that_is_described_is_launched(network, names, described, stub_path):
    launched = {
        line.split()[0]
        for _, _, line in record(network, stubs.loaded(stub_path), calls(described))
        if line
    }
    described_names = [name for kernels in names.values() for name in kernels.values()]
    assert all(described_names)
    assert launched == set(described_names)
    assert len(set(described_names)) == len(described_names)


def test_a_launch_has_every_field_that_matters(network, described, stub_path):
    """What the comparison above compares, spelled out once."""
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
    assert name.startswith("_ZN10styleforge4sm9018conv3x3_persistent")
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
    assert abi.describe(network) == described


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_a_source_states_the_target_of_its_backends(backend, description):
    assert kernels_of(description)[backend.source][0] == backend.target


def test_a_gpu_that_is_too_old_is_refused_in_words(folder, stub_path):
    images = ImageList.read(folder, "network")
    with pytest.raises(BuildError, match=r"^this GPU has compute capability 7\.0; .* 7\.5 or new"):
        Network(images, folder, (7, 0), 0, Driver(str(stub_path)))


def test_a_gpu_without_an_image_is_refused_in_words(folder, stub_path):
    images = ImageList.read(folder, "network")
    with pytest.raises(BuildError, match=r"^no image of .* for compute capability 7\.5$"):
        Network(images, folder, (7, 5), 0, Driver(str(stub_path)))


def test_an_altered_image_is_refused_in_words(folder, stub_path, tmp_path):
    images = ImageList.read(folder, "network")
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "network_sm90.cu.xz").write_bytes(lzma.compress(b"other"))
    with pytest.raises(BuildError, match=r"network_sm90\.cu\.xz is not the one that network.json"):
        Network(images, tmp_path, (9, 0), 0, Driver(str(stub_path)))
