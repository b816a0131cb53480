"""Images are compiled if and only if the sources changed or a file is damaged."""

from __future__ import annotations

import hashlib
import lzma

import pytest

from kernels.driver import compiling
from kernels.driver.compiling import Job, Source
from kernels.driver.images import Image, ImageList
from kernels.jit import libraries
from kernels.jit.libraries import LIBRARIES, Library
from tests.helpers import native
from tools.prebuild import cuda

NETWORK = LIBRARIES["network"]
CODE = b"machine code"


def write(folder, digest):
    row = Image("a.xz", "a.cu", "sm_80", hashlib.sha256(CODE).hexdigest())
    listed = ImageList("network", digest, {}, {}, (row,))
    (folder / "network.json").write_text(listed.to_json(), "utf-8")
    (folder / "a.xz").write_bytes(lzma.compress(CODE))
    return listed


@pytest.fixture(autouse=True)
def one_library(monkeypatch):
    monkeypatch.setattr(cuda, "LIBRARIES", {"network": NETWORK})


@pytest.fixture
def never(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("compiled again")

    monkeypatch.setattr(cuda, "_build", refuse)


@pytest.fixture
def compiled(monkeypatch):
    """Return the libraries to compile; nothing is really compiled."""
    names = []

    def note(libraries, folder, tools):
        names.extend(library.name for library in libraries)
        return {library.name: write(folder, library.digest) for library in libraries}

    monkeypatch.setattr(cuda, "_build", note)
    return names


def test_images_of_these_sources_are_kept(tmp_path, never):
    write(tmp_path, NETWORK.digest)
    assert cuda.build(tmp_path) == [tmp_path / "network.json", tmp_path / "a.xz"]


def test_images_of_other_sources_are_made_again(tmp_path, compiled):
    write(tmp_path, "other")
    cuda.build(tmp_path)
    assert compiled == ["network"]


@pytest.mark.parametrize(
    "damage",
    [b"", CODE, lzma.compress(CODE)[:-4], None],
    ids=["empty", "no archive", "truncated", "missing"],
)
def test_a_damaged_or_missing_image_is_made_again(damage, tmp_path, compiled):
    write(tmp_path, NETWORK.digest)
    if damage is None:
        (tmp_path / "a.xz").unlink()
    else:
        (tmp_path / "a.xz").write_bytes(damage)
    cuda.build(tmp_path)
    assert compiled == ["network"]


def test_a_folder_that_is_not_there_is_made(tmp_path, compiled):
    cuda.build(tmp_path / "deep" / "er")
    assert compiled == ["network"]


def test_a_library_that_does_not_describe_itself_is_compiled_for_every_architecture(
    tmp_path, monkeypatch
):
    library = Library("scale_cuda", cuda=("scale.cu",))
    (tmp_path / "scale.cu").write_text('extern "C" __global__ void scale(float* x) {}\n')
    jobs: list[Job] = []
    monkeypatch.setattr(libraries, "FOLDER", tmp_path)
    monkeypatch.setattr(cuda, "unpacked", lambda release, _tools: release)
    monkeypatch.setattr(compiling.Compilers, "submit", lambda _, job: jobs.append(job))
    monkeypatch.setattr(compiling, "write_images", lambda *_: None)
    cuda._build([library], tmp_path, tmp_path)
    assert {job.source for job in jobs} == {Source(tmp_path / "scale.cu", "75", ("scale",))}
    compiled_for = {(job.toolkit, job.architecture) for job in jobs}
    every = {(release, name) for release, names in cuda.ARCHITECTURES.items() for name in names}
    assert compiled_for == every - {("12.6", "sm_90a")}


@pytest.mark.parametrize("source", cuda.LEFT_OUT)
def test_a_gpu_whose_image_is_left_out_runs_another(source):
    names = [name for names in cuda.ARCHITECTURES.values() for name in names]
    made = [name for name in names if name not in cuda.LEFT_OUT[source]]
    rows = tuple(Image(name, source, name, "") for name in made if compiling.runs_on("80", name))
    images = ImageList("network", "", {}, {}, rows)
    assert native.source(source).exists()
    for_geforce = source == "network_sm80_int8.cu"
    for capability, image in (
        ((8, 0), "sm_80"),
        ((8, 6), "sm_80"),
        ((8, 9), "sm_80"),
        ((9, 0), "sm_90" if "sm_90" in made else "compute_90"),
        ((10, 0), "compute_90"),
        ((12, 0), "sm_120" if for_geforce else "compute_90"),
    ):
        found = images.image_for(source, capability)
        assert found is not None
        assert found.architecture == image


def test_every_library_of_cuda_sources_is_compiled(tmp_path, compiled, monkeypatch):
    monkeypatch.setattr(cuda, "LIBRARIES", LIBRARIES)
    cuda.build(tmp_path)
    assert compiled == [name for name, library in LIBRARIES.items() if library.cuda]
    assert {"frames", "general", "network", "operations", "transformer"} <= set(compiled)
