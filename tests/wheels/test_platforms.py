"""Each wheel contains the images of its platform, says so in its name, and is refused otherwise."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from kernels.driver import images
from kernels.jit.libraries import LIBRARIES
from kernels.jit.prebuilt import IMAGES, MANIFEST, image_name
from kernels.table.registry import GENERAL, OPS
from tools import build_wheels
from tools.build_wheels import WheelError
from tools.prebuild.__main__ import write_manifest
from tools.prebuild.cpu import TARGETS, targets_of
from wheels import platforms
from wheels.platforms import ANY, FOR_ANY_MODEL, PLATFORMS, choose, copy_images, selected, tag

CPU = {
    image_name(library, target): target
    for library in LIBRARIES.values()
    if library.cpu
    for target in targets_of(library)
}
LIBRARIES_OF_GPUS = tuple(name for name, library in LIBRARIES.items() if library.cuda)
CUDA = {"conv2d.sm_80.xz", "elementwise.sm_80.xz", "network_sm90.sm_90a.xz"} | {
    f"{name}.json" for name in LIBRARIES_OF_GPUS
}
LISTS = {
    name: images.ImageList(name, LIBRARIES[name].digest, {}, {}, ()) for name in LIBRARIES_OF_GPUS
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of images like `make prebuild`'s, with fake contents."""
    made = tmp_path / "images"
    made.mkdir()
    for name in (*CPU, *CUDA):
        (made / name).write_text(name)
    for name, listed in LISTS.items():
        (made / f"{name}.json").write_text(listed.to_json())
    write_manifest(made, sorted(made.iterdir()))
    return made


def test_every_image_is_in_a_wheel_and_each_wheel_names_what_its_images_need():
    homes = {
        target: [key for key, each in PLATFORMS.items() if target.startswith(each.images)]
        for target in TARGETS
    }
    for target, (triple, _) in TARGETS.items():
        (key,) = homes[target]
        version = re.search(r"(gnu|macos)\.(\d+)\.(\d+)$", triple)
        named = version and f"_{version[2]}_{version[3]}_" in tag(key)
        assert named or tag(key) == "win_amd64"
    assert set(PLATFORMS) == {key for (key,) in homes.values()}


@pytest.mark.parametrize("key", PLATFORMS)
def test_a_wheel_holds_its_images_and_lists_no_others(key, folder, tmp_path):
    copy_images(key, folder, tmp_path / "copied")
    held = {path.name for path in (tmp_path / "copied").iterdir()}
    cpu = {name for name, target in CPU.items() if target.startswith(key)}
    assert cpu
    assert held == {MANIFEST} | cpu | (set() if key == "macos-arm64" else CUDA)
    manifest = json.loads((tmp_path / "copied" / MANIFEST).read_text())
    assert manifest["images"].keys() == held - {MANIFEST}


@pytest.mark.parametrize("key", PLATFORMS)
def test_the_programs_wheel_holds_no_image_of_operations_for_any_model(key, folder, tmp_path):
    copy_images(key, folder, tmp_path / "program", FOR_ANY_MODEL)
    copy_images(key, folder, tmp_path / "library")
    program, library = (
        {path.name for path in (tmp_path / wheel).iterdir()} for wheel in ("program", "library")
    )
    alone = library - program
    on_cpu = {name for name in alone if "-" in name}
    assert on_cpu == {name for name in library if name.partition("-")[0] in FOR_ANY_MODEL}
    assert on_cpu
    on_gpu = {name for name in CUDA if name.partition(".")[0] in FOR_ANY_MODEL}
    on_gpu = set() if key == "macos-arm64" else on_gpu
    assert alone - on_cpu == on_gpu
    assert "conv2d.sm_80.xz" in program or key == "macos-arm64"


def test_what_the_programs_wheel_leaves_out_is_what_the_family_runs_on():
    rows = [op for op in OPS.values() if op.family == GENERAL]
    assert rows
    on_cpu = {op.library_on("cpu") for op in rows} - {""}
    on_gpu = {op.library_on("cuda") for op in rows} - {""}
    sources = {Path(source).stem for name in on_gpu for source in LIBRARIES[name].cuda}
    described = {f"{name}_abi" for name in on_gpu}  # they have no image
    assert set(FOR_ANY_MODEL) == on_cpu | on_gpu | (sources - described)
    others = [op for op in OPS.values() if op.family != GENERAL]
    used = {op.library_on(device) for op in others for device in ("cpu", "cuda")}
    assert not used & set(FOR_ANY_MODEL)


def test_without_images_this_machines_wheel_is_for_any(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(platforms, "this_platform", lambda: "linux-arm64")
    assert choose(None, folder) == "linux-arm64"
    assert choose(ANY, folder) == ANY
    assert choose(None, tmp_path / "none") == ANY
    copy_images(ANY, folder, tmp_path / "copied")
    assert not (tmp_path / "copied").exists()
    monkeypatch.setattr(platforms, "this_platform", lambda: ANY)
    assert choose(None, folder) == ANY


def test_what_cannot_be_built_is_refused_in_a_sentence(folder, tmp_path):
    with pytest.raises(ValueError, match="'amiga'; choose linux-x86_64, "):
        choose("amiga", folder)
    with pytest.raises(ValueError, match="macos-arm64: run `make prebuild`"):
        choose("macos-arm64", tmp_path / "none")
    (folder / "conv2d.sm_80.xz").unlink()
    with pytest.raises(ValueError, match=r"conv2d\.sm_80\.xz"):
        copy_images("linux-arm64", folder, tmp_path / "copied")
    (folder / MANIFEST).write_text('{"images": 3}')
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        selected("linux-arm64", folder)


def test_images_of_other_sources_than_todays_are_refused(folder):
    for key in PLATFORMS:
        build_wheels.check_images(key, folder)
    edited = images.ImageList("network", "0" * 64, {}, {}, ())
    (folder / "network.json").write_text(edited.to_json())
    build_wheels.check_images("macos-arm64", folder)
    with pytest.raises(WheelError, match=r"network\.json .*`make prebuild`"):
        build_wheels.check_images("linux-x86_64", folder)
    write_manifest(folder, [path for path in folder.iterdir() if "macos" not in path.name])
    with pytest.raises(WheelError, match=r"lacks \w+-\w+-macos-arm64\.dylib"):
        build_wheels.check_images("macos-arm64", folder)


def test_a_wheel_that_is_too_large_is_refused_with_what_takes_the_room(tmp_path, monkeypatch):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("styleforge/app/cli.py", bytes(1000))
        packed.writestr("styleforge/assets/styles/candy/weights.safetensors", bytes(2_000_000))
        packed.writestr("styleforge/assets/styles/udnie/weights.safetensors", bytes(1_500_000))
    build_wheels.check_sizes([wheel])
    monkeypatch.setattr(build_wheels, "MAX_BYTES", 3_000_000)
    refused = (
        r"a\.whl has 3,\d+,\d+ bytes, more than 3,000,000; "
        r"its largest folders are styleforge/assets/styles \(3\.5 MB\), styleforge/app \(0\.0 MB\)"
    )
    with pytest.raises(WheelError, match=refused):
        build_wheels.check_sizes([wheel])


def test_images_for_linux_need_no_newer_glibc_than_the_wheel_names():
    found = list(IMAGES.glob("*-linux-*.so"))
    if not found:
        pytest.skip("there are no images here; `make prebuild` makes them")
    needed = {path.name: re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes()) for path in found}
    assert any(needed.values())  # some use nothing from the C library
    for name, versions in needed.items():
        assert max(map(int, versions), default=0) <= 17, name
