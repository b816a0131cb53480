"""Libraries are found by looking at the sources, so that a new file needs no row."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.jit.libraries import LIBRARIES, Library, discover


def sources(folder: Path, **texts: str) -> Path:
    (folder / "cpu").mkdir()
    for name, text in texts.items():
        (folder / name.replace("__", "/").replace("_dot_", ".")).write_text(text)
    return folder


def test_what_ships_is_found():
    assert list(LIBRARIES) == ["instance_norm", "network", "operations"]
    assert LIBRARIES["operations"].binding == ("torch_bindings.cpp",)
    assert all(source.is_file() for library in LIBRARIES.values() for source in library.sources)


def test_a_source_is_a_library_of_its_own(tmp_path):
    found = discover(sources(tmp_path, cpu__x_dot_cpp="", x_dot_cu="", y_dot_cu=""))
    assert found == {
        "x": Library("x", cpu=("cpu/x.cpp",)),
        "x_cuda": Library("x_cuda", cuda=("x.cu",)),
        "y_cuda": Library("y_cuda", cuda=("y.cu",)),
    }


def test_a_binding_beside_a_source_is_compiled_with_it(tmp_path):
    found = discover(sources(tmp_path, x_dot_cu="", x_dot_cpp="TORCH_LIBRARY_IMPL"))
    assert found == {"x_cuda": Library("x_cuda", cuda=("x.cu",), binding=("x.cpp",))}


def test_what_shares_an_interface_is_one_library(tmp_path):
    text = '#include <cuda_runtime.h>\n#include "include/blurs.h"\n'
    found = discover(
        sources(tmp_path, a_dot_cu=text, b_dot_cu=text, binding_dot_cpp=text, c_dot_cu="")
    )
    assert found["blurs"] == Library("blurs", cuda=("a.cu", "b.cu"), binding=("binding.cpp",))
    assert found["c_cuda"] == Library("c_cuda", cuda=("c.cu",))


def test_an_architecture_of_the_network_is_found_by_its_name(tmp_path):
    found = discover(sources(tmp_path, network_sm100_dot_cu="", network_abi_dot_cu=""))
    assert found == {"network": Library("network", cuda=("network_abi.cu", "network_sm100.cu"))}


def test_a_binding_without_a_source_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"kernels/x\.cpp binds no CUDA source"):
        discover(sources(tmp_path, x_dot_cpp=""))


def test_two_libraries_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="are both 'x_cuda'"):
        discover(sources(tmp_path, cpu__x_cuda_dot_cpp="", x_dot_cu=""))
