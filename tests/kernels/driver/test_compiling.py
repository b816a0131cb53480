"""The compiled parts of a CUDA library: its sources, their kernels, and their architectures."""

from __future__ import annotations

import pytest

from kernels.driver import compiling
from kernels.driver.compiling import (
    Compilers,
    Job,
    Source,
    architecture_for,
    declared_kernels,
    sources_of,
)
from kernels.driver.images import ImageList
from kernels.jit import libraries, prebuilt
from kernels.jit.errors import BuildError
from kernels.jit.libraries import Library
from kernels.jit.nvrtc import CompilationError, Toolkit

SCALE = """\
#ifdef TWICE
#define FACTOR 2
#else
#define FACTOR 3
#endif
// extern "C" __global__ void commented(int);
__global__ void hidden(float* x) { *x = 0; }
extern "C" __global__ void __launch_bounds__(256) scale(float* x, long long count) {
    const long long i = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] *= FACTOR;
}
extern "C" __global__
    __launch_bounds__(32) void
    clear(float* x) { x[threadIdx.x] = 0; }
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Return a library of one source that does not describe itself."""
    (tmp_path / "scale.cu").write_text(SCALE)
    include = libraries.FOLDER / "include"
    (tmp_path / "include").symlink_to(include)
    monkeypatch.setattr(libraries, "FOLDER", tmp_path)
    return Library("scale_cuda", cuda=("scale.cu",))


def compiled(job):
    return compiling._compile(compiling._arguments(job))


def test_a_description_lists_target_and_kernels_of_each_source(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "FOLDER", tmp_path)
    library = Library("network", cuda=("a.cu", "x/b.cu", "network_abi.cu"))
    described = {
        "structs": {},
        "a": {
            "source": "a.cu",
            "target": "80",
            "first": {"kernels": {"x": "k<1>", "y": {"z": "k<2>"}}, "threads": 1},
            "last": [],
        },
        "b": {"source": "b.cu", "target": "90a", "kernels": {"x": "k<1>", "again": "k<1>"}},
    }
    assert sources_of(library, described) == [
        Source(tmp_path / "a.cu", "80", ("k<1>", "k<2>")),
        Source(tmp_path / "x/b.cu", "90a", ("k<1>",)),
    ]


def test_without_a_description_the_kernels_are_those_with_c_names(library, tmp_path):
    assert library.abi is None
    assert sources_of(library, {}) == [Source(tmp_path / "scale.cu", "75", ("clear", "scale"))]


def test_a_source_without_a_kernel_that_could_be_launched_is_named(tmp_path):
    source = tmp_path / "none.cu"
    source.write_text("__global__ void hidden() {}\n")
    with pytest.raises(
        BuildError, match=r'^build failed: none\.cu has no extern "C" __global__ fun'
    ):
        declared_kernels(source)


@pytest.mark.parametrize(
    ("target", "capability", "expected"),
    [
        ("80", (8, 6), "sm_86"),
        ("80", (9, 0), "sm_90"),
        ("90a", (9, 0), "sm_90a"),
        ("90a", (10, 0), None),
        ("90a", (8, 0), None),
        ("80", (7, 5), None),
        ("75", (12, 0), "sm_120"),
        ("100a", (10, 0), "sm_100a"),
    ],
)
def test_a_gpu_is_compiled_for_with_its_own_instructions(target, capability, expected):
    assert architecture_for(target, capability) == expected


@pytest.mark.parametrize(
    ("capability", "expected"), [((7, 0), None), ((7, 5), "sm_75"), ((8, 0), None), ((9, 0), None)]
)
def test_a_source_with_a_successor_is_compiled_for_older_gpus_alone(capability, expected):
    assert architecture_for("75", capability, "80") == expected


def test_a_library_becomes_a_folder_of_images(library, toolkit, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    (source,) = sources_of(library, {})
    jobs = [Job(source, name, toolkit) for name in ("sm_80", "sm_90")]
    listed = compiling.make(library, {}, jobs, folder)
    assert ImageList.read(folder, "scale_cuda") == listed
    assert listed.digest == library.digest
    assert listed.kernels == {"scale.cu": {"clear": "clear", "scale": "scale"}}
    assert [image.file for image in listed.images] == ["scale.sm_80.xz", "scale.sm_90.xz"]
    for image in listed.images:
        assert listed.load(folder, image).startswith(b"\x7fELF")
    compiling.write_manifest(folder, [folder / image.file for image in listed.images])
    assert (folder / prebuilt.MANIFEST).exists()


@pytest.mark.full
def test_two_releases_of_the_compiler_never_share_a_process(tmp_path):
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    source = Source(path, "75", ())
    releases = [Toolkit(tmp_path / name, tmp_path / name, ()) for name in ("12.6", "12.8")]
    with Compilers() as compilers:
        for release in (*releases, releases[0]):  # their libraries are missing
            assert compilers.submit(Job(source, "sm_80", release)).exception() is not None
        pools = vars(compilers)["_pools"]
        assert list(pools) == releases
        first, second = (set(pool._processes) for pool in pools.values())
    assert first
    assert second
    assert not first & second


def test_a_macro_changes_the_code(library, toolkit):
    (source,) = sources_of(library, {})
    plain, twice = (
        compiled(Job(source, "sm_80", toolkit, defines)) for defines in ((), ("TWICE",))
    )
    assert plain.image != twice.image


def test_what_does_not_compile_is_the_compilers_sentence(library, toolkit):
    (source,) = sources_of(library, {})
    path = source.path
    path.write_text(path.read_text().replace("FACTOR;", "undeclared_name;"))
    with pytest.raises(CompilationError, match="undeclared_name"):
        compiled(Job(source, "sm_80", toolkit))
