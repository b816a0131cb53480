"""The single operations' launchers in Python launch what those in C++ do, without a GPU.

Both run over stubs that only write down each launch, see tests/kernels/driver.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import lzma
import subprocess
from ctypes import POINTER, byref, c_char_p, c_int, c_longlong, c_void_p, sizeof

import pytest

from kernels.driver.driver import Driver
from kernels.driver.images import Image, ImageList
from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.ops.cuda import launchers, structs
from kernels.ops.cuda.launchers import INVALID_VALUE, Operations
from tests.kernels.driver import stubs
from tools.prebuild.cuda import kernels_of

STREAM = 0x1234
SOURCES = ("conv_fusion.cu", "residual_block.cu", "operations_abi.cu")  # beside those with kernels
TABLE = """\
#include "{source}"
extern "C" const void* const {table}[] = {{
{kernels}}};
"""
# Of each launcher, the types of its arguments but the struct and the stream, and its result's.
LAUNCHERS = {
    "styleforge_packed_bytes": (structs.StyleforgeConvolution, None, c_longlong),
    "styleforge_tiles": (structs.StyleforgeConvolution, None, c_int),
    "styleforge_pack_weight": (structs.StyleforgeConvolution, (c_void_p, c_void_p), c_int),
    "styleforge_convolve": (structs.StyleforgeConvolution, (), c_int),
    "styleforge_norm_scratch": (structs.StyleforgeNorm, None, c_longlong),
    "styleforge_norm": (structs.StyleforgeNorm, (), c_int),
    "styleforge_finish_norm": (structs.StyleforgeNorm, (c_void_p, c_int), c_int),
    "styleforge_merge_norm": (structs.StyleforgeNorm, (c_void_p, c_int, c_void_p), c_int),
    "styleforge_conv_norm_relu": (structs.StyleforgeConvNormRelu, (), c_int),
    "styleforge_residual_block": (structs.StyleforgeResidualBlock, (), c_int),
}
# By the name of a kernel's template, what it is called with.
ARGUMENTS = {
    "whole_planes": (structs.Planes,),
    "parts_of_planes": (c_void_p, c_void_p, c_longlong, c_int),
    "parts_of_pixels": (c_void_p, c_void_p, structs.Cut),
    "merge_planes": (
        *(structs.PartialMomentsView, structs.AffineParameters),
        *(c_void_p, c_int, c_int),
    ),
    "write_pixels": (structs.Planes, c_void_p, structs.Cut),
    "write_planes": (structs.Planes, structs.PartialMomentsView, c_int),
    "conv2d_kernel": (structs.Convolution,),
    "pack_weight_kernel": (structs.Convolution, c_void_p, c_void_p),
}


def template(kernel):
    """Of a kernel as C++ names it, the name of its template."""
    return kernel.removeprefix("styleforge::").partition("<")[0]


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    """What the library says of itself; compiled by nvcc, run without a GPU."""
    built = tmp_path_factory.mktemp("abi") / "operations_abi.so"
    flags = ["-std=c++17", "-arch=sm_80", "-shared", "-cudart=static", "-Xcompiler", "-fPIC"]
    command = [stubs.nvcc(), *flags, "-o", str(built), str(FOLDER / "operations_abi.cu")]
    subprocess.run(command, check=True, capture_output=True)
    function = ctypes.CDLL(str(built)).styleforge_operations_abi
    function.restype = c_char_p
    return json.loads(function())


@pytest.fixture(scope="module")
def compiled(description, tmp_path_factory):
    """The launchers in C++ over the runtime's stub, with a table of the kernels described."""
    folder = tmp_path_factory.mktemp("launchers")
    sources = [stubs.STUBS / "cudart_stub.c", *(FOLDER / name for name in SOURCES)]
    for source, (_, kernels) in kernels_of(description).items():
        rows = "".join(f"    reinterpret_cast<const void*>(&{kernel}),\n" for kernel in kernels)
        table = folder / source
        name = f"table_of_{table.stem}"
        table.write_text(TABLE.format(source=FOLDER / source, table=name, kernels=rows), "utf-8")
        sources.append(table)
    flags = ("-std=c++17", "-gencode=arch=compute_80,code=sm_80", *stubs.quick())
    library = stubs.loaded(stubs.shared_library(folder, "launchers.so", *sources, flags=flags))
    library.stub_name.restype = c_char_p
    library.stub_name.argtypes = [c_void_p]
    for name, (struct, more, result) in LAUNCHERS.items():
        function = getattr(library, name)
        function.restype = result
        streamed = () if more is None else (*more, c_void_p)
        function.argtypes = [POINTER(struct), *streamed]
    return library


@pytest.fixture(scope="module")
def names(compiled, description):
    """By source, the name in an image of each kernel that is described, as nvcc has it."""
    return {
        source: {
            kernel: compiled.stub_name(address).decode()
            for kernel, address in zip(
                kernels,
                (c_void_p * len(kernels)).in_dll(compiled, f"table_of_{source[:-3]}"),
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
    rows = tuple(Image(f"{source}.xz", source, "sm_90", digest) for source in names)
    for row in rows:
        (folder / row.file).write_bytes(lzma.compress(b"image\0"))
    listed = ImageList("operations", "", description, names, rows)
    (folder / "operations.json").write_text(listed.to_json(), "utf-8")
    return folder


@pytest.fixture(scope="module")
def driver_stub(tmp_path_factory):
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def operations(folder, driver_stub):
    images = ImageList.read(folder, "operations")
    return Operations(images, folder, (9, 0), 0, Driver(str(driver_stub)))


@pytest.fixture(scope="module")
def recorded(compiled, driver_stub, names):
    """Both stubs, which know what each kernel is called with."""
    both = compiled, stubs.loaded(driver_stub)
    for stub, (kernel, name) in itertools.product(
        both, [row for of_source in names.values() for row in of_source.items()]
    ):
        sizes = [sizeof(argument) for argument in ARGUMENTS[template(kernel)]]
        stub.stub_expect(name.encode(), (c_int * len(sizes))(*sizes), len(sizes))
    return both


def norm(**fields):
    given = {
        **{"x": 1 << 12, "y": 2 << 12, "gamma": 3 << 12, "beta": 4 << 12, "scratch": 5 << 12},
        **{"eps": 1e-5, "relu": 1, "vectorized": 1, "multiprocessors": 132, "clusters": 1},
        **{"samples": 2, "channels": 24, "pixels": 4096},
    }
    return structs.StyleforgeNorm(**(given | fields))


def norms():
    """Every type, layout and alignment, and planes on each side of every limit."""
    for type_, last, clusters, pixels, channels in itertools.product(
        (0, 1, 2),
        (0, 1),
        (0, 1),
        (0, 1, 1024, 1025, 4096, 4101, 16384, 16385, 32768, 32769, 262144, 262145, 1 << 20),
        (3, 24, 512),
    ):
        yield norm(
            type=type_, channels_last=last, clusters=clusters, pixels=pixels, channels=channels
        )
    for type_, last, field in itertools.product((0, 1, 2), (0, 1), ("x", "y", "residual")):
        yield norm(type=type_, channels_last=last, **{field: 0x1008})
    for type_, last in itertools.product((0, 1, 2), (0, 1)):
        yield norm(type=type_, channels_last=last, vectorized=0, parameter_type=1)
        yield norm(type=type_, channels_last=last, gamma=None, beta=None, relu=0, residual=1 << 20)
        yield norm(type=type_, channels_last=last, samples=1, multiprocessors=16)
    yield norm(type=7)


def convolution(inputs=32, outputs=32, side=(40, 56), *, last=0, **fields):
    height, width = side
    strides = (inputs * height * width, height * width, width, 1)
    y_strides = (outputs * height * width, height * width, width, 1)
    if last:
        strides = (strides[0], 1, width * inputs, inputs)
        y_strides = (y_strides[0], 1, width * outputs, outputs)
    given = {
        **{"x": 1 << 12, "packed": 2 << 12, "bias": 3 << 12, "y": 4 << 12, "parts": 5 << 12},
        **{"samples": 2, "in_channels": inputs, "out_channels": outputs},
        **{"height": height, "width": width, "out_height": height, "out_width": width},
        **{"kernel": 3, "pad": 1, "stride_h": 1, "stride_w": 1, "phases": 1},
        **{"math": 1, "multiprocessors": 132},
    }
    p = structs.StyleforgeConvolution(**(given | fields))
    p.x_strides[:], p.y_strides[:] = strides, y_strides
    return p


def convolutions():
    """Every type, arithmetic and tile, with slices that padding would fill and such that not."""
    for type_, math, last, inputs, outputs in itertools.product(
        (0, 1, 2), (0, 1), (0, 1), (3, 8, 16, 20, 128), (3, 8, 9, 32, 33, 64, 65, 128, 200)
    ):
        yield convolution(inputs, outputs, type=type_, math=math, last=last)
    for type_, (samples, side, phases) in itertools.product(
        (0, 1, 2), [(1, (8, 8), 1), (1, (128, 128), 1), (1, (64, 64), 4), (4, (200, 300), 4)]
    ):
        yield convolution(64, 128, side, type=type_, samples=samples, phases=phases, kernel=2)
    yield convolution(32, 32, type=1, last=1, x=0x1008)
    yield convolution(32, 32, type=1, last=1, kernel=9, pad=4)
    yield convolution(32, 32, type=7)


def calls():
    """A launcher and its arguments, the struct first, without the stream."""
    for p in convolutions():
        yield "styleforge_packed_bytes", (p,)
        yield "styleforge_tiles", (p,)
        yield "styleforge_pack_weight", (p, 0x7000, 0x8000)
        yield "styleforge_convolve", (p,)
    for p in norms():
        yield "styleforge_norm_scratch", (p,)
        yield "styleforge_norm", (p,)
        yield "styleforge_finish_norm", (p, 0x7000, 11)
        yield "styleforge_merge_norm", (p, 0x7000, 11, 0x8000)
    for type_, last, phases in itertools.product((0, 1, 2), (0, 1), (1, 4)):
        conv = convolution(32, 64, type=type_, last=last, phases=phases)
        after = norm(type=type_, channels_last=last, channels=64, pixels=40 * 56 * phases)
        fused = structs.StyleforgeConvNormRelu(conv, after)
        yield "styleforge_conv_norm_relu", (fused,)
        conv = convolution(64, 64, type=type_, last=last)
        block = structs.StyleforgeResidualBlock(conv, conv, after, after, 0x9000)
        yield "styleforge_residual_block", (block,)


def values(struct, data):
    """What a struct holds, without the bytes between its fields, which C++ leaves as they are."""
    if not issubclass(struct, ctypes.Structure):
        return data
    found = []
    for field in struct._fields_:
        name, kind = field[0], field[1]
        at = getattr(struct, name).offset
        found.append(values(kind, data[at : at + sizeof(kind)]))
    return tuple(found)


def launches(text, templates):
    """The lines of a stub, with arguments as values."""
    for line in text.splitlines():
        *fields, arguments = line.split(" ")
        kinds = ARGUMENTS[templates[fields[0]]]
        parts = [bytes.fromhex(part) for part in arguments.split(",")]
        yield *fields, *(values(kind, part) for kind, part in zip(kinds, parts, strict=True))


def test_every_launch_is_that_of_the_compiled_launchers(compiled, operations, recorded, names):
    templates = {
        name: template(kernel) for of_source in names.values() for kernel, name in of_source.items()
    }
    theirs_stub, ours_stub = recorded
    seen, count = set(), 0
    for launcher, arguments in calls():
        streamed = () if LAUNCHERS[launcher][1] is None else (STREAM,)
        theirs = getattr(compiled, launcher)(byref(arguments[0]), *arguments[1:], *streamed)
        ours = getattr(operations, launcher)(*arguments, *streamed)
        assert ours == theirs, (launcher, arguments)
        expected = list(launches(theirs_stub.stub_take().decode(), templates))
        assert list(launches(ours_stub.stub_take().decode(), templates)) == expected, launcher
        seen |= {line[0] for line in expected}
        count += len(expected)
    assert count > 2000
    assert seen == set(templates), "every kernel that is described is launched"


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
    [((7, 0), "this GPU has compute capability 7.0"), ((8, 0), "no image of .* capability 8.0")],
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
