"""An image loads if it matches the current sources, is complete, and works here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from kernels.jit import build, permissions, prebuilt, subprocesses, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES, Library
from kernels.table.registry import OPS
from tests.helpers import native
from tests.helpers.once import kept
from tools.prebuild import cpu
from tools.prebuild.__main__ import write_manifest

NAME = "instance_norm"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="compiles with c++")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library for this machine, as on a developer's, once for all runs."""
    try:
        compiler = toolchain.toolchain().compiler
    except BuildError as error:
        pytest.skip(str(error))
    (source,) = LIBRARIES[NAME].sources

    def library(to: Path) -> Path:
        made = to / "library.so"
        subprocess.run(toolchain.cpu_command(compiler, str(source), str(made)), check=True)
        return made

    folder = tmp_path_factory.mktemp("compiled")
    return kept(folder, f"native-{NAME}", native.digest(()), library)


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Path) -> Path:
    """Return a folder with an image for this machine, with an empty cache and no compiler."""
    folder = tmp_path / "images"
    folder.mkdir(mode=0o755)
    image = folder / prebuilt.image_name(LIBRARIES[NAME], prebuilt.targets()[0])
    image.write_bytes(compiled.read_bytes())
    write_manifest(folder, [image])
    monkeypatch.setattr(prebuilt, "IMAGES", folder)
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("STYLEFORGE_BUILD", raising=False)
    start_anew(monkeypatch)
    return folder


def start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the registry, as in a new process."""
    for name in ("_reasons", "_origins", "_handles"):
        monkeypatch.setattr(build, name, {})
    monkeypatch.setattr(build, "_looked", set())
    monkeypatch.setattr(subprocesses, "_stopped", threading.Event())


def image_in(folder: Path) -> Path:
    (image,) = folder.glob(f"{NAME}-*")
    return image


def forbid_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_test_image", lambda *_: pytest.fail("tested again"))


@pytest.mark.full
def test_an_image_is_used_without_a_compiler_once_it_was_tested(images, monkeypatch):
    assert not build.load_built(NAME)
    assert build.reason(NAME) == "not tested on this machine yet"
    assert build.load_built(NAME, tests=True)
    assert (build.reason(NAME), build.origin(NAME)) == ("", f"image {prebuilt.targets()[0]}")
    op = OPS["fused_instance_norm"]
    sample = next(iter(op.samples()))
    torch.testing.assert_close(op.overload(*sample), op.reference(*sample))
    # The next process on this machine loads it at once.
    start_anew(monkeypatch)
    forbid_tests(monkeypatch)
    assert build.load_built(NAME)


@pytest.mark.full
def test_another_image_is_tested_again(images, monkeypatch):
    assert build.load(NAME)
    image = image_in(images)
    content = image.read_bytes()
    image.unlink()  # this process maps the file, and would crash if it were overwritten
    image.write_bytes(content + b"\0")
    write_manifest(images, [image])
    start_anew(monkeypatch)
    assert not build.load_built(NAME)
    assert build.reason(NAME) == "not tested on this machine yet"


@pytest.mark.full
def test_a_cache_that_cannot_be_written_only_costs_the_test(images, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "file"))
    assert build.load(NAME)
    assert build.origin(NAME).startswith("image ")


def test_edited_sources_are_compiled_and_the_old_image_is_not_run(images, monkeypatch, tmp_path):
    edited = tmp_path / f"{NAME}.cpp"
    edited.write_text(native.source(f"{NAME}.cpp").read_text() + "// edited\n")
    monkeypatch.setitem(LIBRARIES, NAME, Library(NAME, (str(edited),)))
    with pytest.raises(prebuilt.NoImage, match="the sources have changed"):
        prebuilt.find(LIBRARIES[NAME])
    assert not build.load(NAME)
    assert build.reason(NAME) == "no C++ compiler found: install g++"


def test_an_edited_header_counts_as_a_source():
    headers = {path.name for path in LIBRARIES[NAME].headers}
    assert {"parallel.h", "dtypes.h", "buffer.h", "export.h"} <= headers


def test_the_variable_compiles_in_any_case(images, monkeypatch):
    monkeypatch.setenv("STYLEFORGE_BUILD", "1")
    assert not build.load(NAME)
    assert build.reason(NAME) == "no C++ compiler found: install g++"


def test_a_truncated_image_is_named_and_not_loaded(images):
    image = image_in(images)
    image.write_bytes(image.read_bytes()[:1000])
    assert not build.load(NAME)
    assert build.reason(NAME) == (
        f"the image {image.name} is damaged: its sha256 differs from the manifest; "
        "no C++ compiler found: install g++"
    )


@pytest.mark.full
def test_an_image_that_is_no_library_is_named(images):
    image = image_in(images)
    image.write_bytes(b"not a library")
    write_manifest(images, [image])
    assert not build.load(NAME)
    assert "does not load" in build.reason(NAME)


@pytest.mark.full
def test_an_image_that_crashes_ends_its_own_process_only(images, tmp_path, monkeypatch, compiled):
    source = tmp_path / "crash.cpp"
    source.write_text("#include <cstdlib>\nstruct Crash { Crash() { std::abort(); } } crash;\n")
    image = image_in(images)
    subprocess.run(
        ["/usr/bin/env", "PATH=/usr/bin:/bin", "c++", "-shared", "-fPIC", source, "-o", image],
        check=True,
    )
    write_manifest(images, [image])
    assert not build.load(NAME)
    assert build.reason(NAME) == (
        f"the image {image.name} cannot be used: test failed: the testing process ended with code "
        "-6; no C++ compiler found: install g++"
    )


def test_an_image_that_others_can_write_to_is_not_loaded(images):
    image_in(images).chmod(0o666)
    assert not build.load(NAME)
    assert "is not loaded: every user can write to it" in build.reason(NAME)


def test_an_image_that_a_group_can_write_to_is_not_loaded(images, monkeypatch):
    image_in(images).chmod(0o664)
    monkeypatch.setattr(permissions, "_own_group", lambda group: False)
    with pytest.raises(BuildError, match="a group can write to it"):
        prebuilt.find(LIBRARIES[NAME])


def test_a_group_of_the_user_alone_may_write(images):
    image_in(images).chmod(0o664)
    assert permissions._own_group(0)
    prebuilt.find(LIBRARIES[NAME])


def test_a_manifest_that_others_can_write_to_is_not_read(images):
    (images / prebuilt.MANIFEST).chmod(0o666)
    with pytest.raises(BuildError, match=r"manifest\.json is not loaded: every user"):
        prebuilt.find(LIBRARIES[NAME])


def test_a_folder_above_that_others_can_write_to_is_named(images):
    images.parent.chmod(0o777)
    with pytest.raises(BuildError, match=f"every user can write to {images.parent}$"):
        prebuilt.find(LIBRARIES[NAME])


def test_a_folder_that_others_can_write_to_is_not_loaded_from(images):
    images.chmod(0o777)
    with pytest.raises(BuildError, match="every user can write to "):
        prebuilt.find(LIBRARIES[NAME])


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can chown")
def test_an_image_of_another_user_is_not_loaded(images):
    os.chown(image_in(images), 12345, 12345)
    with pytest.raises(BuildError, match="it belongs to another user"):
        prebuilt.find(LIBRARIES[NAME])


def test_an_image_for_another_machine_is_not_loaded(images, monkeypatch):
    monkeypatch.setattr(prebuilt, "targets", lambda: ("linux-riscv64",))
    with pytest.raises(prebuilt.NoImage, match="no image for this machine"):
        prebuilt.find(LIBRARIES[NAME])


def test_without_images_the_library_is_built(images):
    (images / prebuilt.MANIFEST).unlink()
    with pytest.raises(prebuilt.NoImage, match="this installation contains no images"):
        prebuilt.find(LIBRARIES[NAME])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"images": 7}', "\xff"])
def test_a_damaged_manifest_is_named(images, text):
    (images / prebuilt.MANIFEST).write_text(text, "latin-1")
    with pytest.raises(BuildError, match="the manifest of images"):
        prebuilt.find(LIBRARIES[NAME])


@pytest.mark.parametrize(
    ("system", "machine", "capability", "expected"),
    [
        (
            *("linux", "x86_64", "AVX512"),
            ("linux-x86_64_v4", "linux-x86_64_v3", "linux-x86_64_v2"),
        ),
        ("linux", "x86_64", "AVX2", ("linux-x86_64_v3", "linux-x86_64_v2")),
        ("linux", "x86_64", "DEFAULT", ("linux-x86_64_v2",)),
        ("linux", "aarch64", "DEFAULT", ("linux-arm64",)),
        ("win32", "AMD64", "AVX2", ("windows-x86_64_v3", "windows-x86_64_v2")),
        ("darwin", "arm64", "DEFAULT", ("macos-arm64",)),
        ("darwin", "x86_64", "AVX2", ("macos-x86_64_v3", "macos-x86_64_v2")),
        ("freebsd14", "amd64", "AVX2", ()),
    ],
)
def test_a_machine_takes_what_its_processor_has(system, machine, capability, expected, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert prebuilt.targets() == expected


def test_every_target_has_a_name_that_a_machine_asks_for():
    asked = {
        "linux-x86_64_v4", "linux-x86_64_v3", "linux-x86_64_v2", "linux-arm64",
        "windows-x86_64_v4", "windows-x86_64_v3", "windows-x86_64_v2", "macos-arm64",
    }  # fmt: skip
    assert set(cpu.TARGETS) == asked
    names = [prebuilt.image_name(LIBRARIES[NAME], target) for target in asked]
    assert {name.rpartition(".")[2] for name in names} == {"so", "dll", "dylib"}


def test_the_manifest_names_what_is_there_and_the_rest_is_removed(tmp_path):
    kept, old = tmp_path / "kept.so", tmp_path / "old.so"
    kept.write_bytes(b"kept")
    old.write_bytes(b"old")
    write_manifest(tmp_path, [kept])
    made = json.loads((tmp_path / prebuilt.MANIFEST).read_text())["images"]
    assert made == {"kept.so": hashlib.sha256(b"kept").hexdigest()}
    assert not old.exists()


@pytest.mark.parametrize("name", sorted(x for x in LIBRARIES if LIBRARIES[x].cpu))
def test_the_compilers_use_the_same_arithmetic(name):
    (source,) = LIBRARIES[name].sources
    command = toolchain.cpu_command("c++", str(source), "library.so")
    arithmetic = {flag for flag in command if flag.startswith(("-f", "-O", "-std"))}
    assert arithmetic - {"-fPIC"} <= set(cpu.flags(source))
    assert ("-ffp-contract=off" in arithmetic) is (name in ("network_cpu", "smoothing"))
