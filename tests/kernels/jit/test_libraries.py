"""Scanning the sources finds the libraries, so a new file needs no row."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernels.jit import libraries
from kernels.jit.libraries import LIBRARIES, Library, discover


def sources(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_what_ships_is_found():
    on_cpu = [name for name, each in LIBRARIES.items() if each.cpu]
    on_gpu = [name for name, each in LIBRARIES.items() if each.cuda]
    assert on_cpu == [
        *("attention_parts", "elementwise", "fusion", "group_norm", "instance_norm"),
        *("loss", "model_inputs", "network_cpu", "optim", "reduction", "smoothing", "texture"),
    ]
    assert {"general", "network", "operations", "transformer"} < set(on_gpu)
    assert {"attention_parts_cuda", "enlarging_cuda", "fusion_cuda", "loss_cuda"} < set(on_gpu)
    assert {"model_inputs_cuda", "optim_cuda", "reduction_cuda", "token_norm_cuda"} < set(on_gpu)
    assert all(source.is_file() for library in LIBRARIES.values() for source in library.sources)


def test_a_source_is_a_library_of_its_own(tmp_path):
    found = discover(sources(tmp_path, cpu__x_dot_cpp="", x_dot_cu="", y_dot_cu=""))
    assert found == {
        "x": Library("x", cpu=("cpu/x.cpp",)),
        "x_cuda": Library("x_cuda", cuda=("x.cu",)),
        "y_cuda": Library("y_cuda", cuda=("y.cu",)),
    }


def test_what_shares_an_interface_is_one_library(tmp_path):
    text = '#include <cuda_runtime.h>\n#include "../blurs.h"\n'
    found = discover(
        sources(tmp_path, x__a_dot_cu=text, b_dot_cu=text, c_dot_cu="", y__blurs_abi_dot_cu="")
    )
    assert found["blurs"] == Library("blurs", cuda=("x/a.cu", "b.cu", "y/blurs_abi.cu"))
    assert found["c_cuda"] == Library("c_cuda", cuda=("c.cu",))


def test_an_architecture_of_the_network_is_found_by_its_name(tmp_path):
    found = discover(sources(tmp_path, network_sm100_dot_cu="", network_abi_dot_cu=""))
    assert found == {"network": Library("network", cuda=("network_abi.cu", "network_sm100.cu"))}


def test_two_libraries_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="both have the name 'x_cuda'"):
        discover(sources(tmp_path, cpu__x_cuda_dot_cpp="", x_dot_cu=""))


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Copy the sources that the digest covers."""
    folder = tmp_path / "kernels"
    shutil.copytree(libraries.FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(libraries, "FOLDER", folder)
    return folder


def test_the_digest_is_the_same_in_another_place_and_with_other_line_ends(copied, monkeypatch):
    there = LIBRARIES["network"].digest
    path = copied / "network/cuda/network_sm80.cu"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert LIBRARIES["network"].digest == there
    monkeypatch.undo()
    assert LIBRARIES["network"].digest == there


@pytest.mark.parametrize(
    "file", ["network/cuda/network_sm80.cu", "include/sm90/wgmma.cuh", "include/nvrtc/stdint.h"]
)
def test_an_edited_source_has_another_digest(file, copied):
    before = LIBRARIES["network"].digest
    (copied / file).write_text((copied / file).read_text("utf-8") + "\n", "utf-8")
    assert LIBRARIES["network"].digest != before


def test_what_only_gpus_are_compiled_with_is_no_part_of_a_cpu_library(copied):
    before = LIBRARIES["instance_norm"].digest
    (copied / "include/nvrtc/stdint.h").write_text("", "utf-8")
    assert LIBRARIES["instance_norm"].digest == before
