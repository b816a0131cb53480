"""The images of a CUDA library that a machine uses, or the reason for none, with a stub driver."""

from __future__ import annotations

import ctypes
import hashlib
import lzma
from types import SimpleNamespace

import pytest
import torch

from kernels.driver import prebuilt as driver_images
from kernels.driver.driver import Driver
from kernels.driver.images import Image, ImageList
from kernels.driver.prebuilt import Gpu, PerDevice
from kernels.jit import build, prebuilt
from kernels.jit.errors import BuildError, Unsupported
from kernels.jit.libraries import LIBRARIES
from tools.prebuild.__main__ import write_manifest

CODE = b"machine code\0"
NETWORK = LIBRARIES["network"]
H200, T4, P100 = Gpu("H200", (9, 0)), Gpu("T4", (7, 5)), Gpu("P100", (6, 0))


@pytest.fixture
def gpus(monkeypatch):
    found = [H200]
    monkeypatch.setattr(driver_images, "present", lambda: tuple(found))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: found[index].capability)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    return found


@pytest.fixture
def made(monkeypatch):
    """Return the libraries created from images, with their arguments."""
    found = []

    def make(*arguments):
        found.append(SimpleNamespace(arguments=arguments))
        return found[-1]

    monkeypatch.setattr(prebuilt, "_finders", {})
    driver_images.register("network", make)
    return found


@pytest.fixture
def folder(tmp_path, stub_path, stub, gpus, made, monkeypatch):
    """Return a folder of images for Hopper, with a driver that launches nothing."""
    monkeypatch.setattr(driver_images, "Driver", lambda: Driver(str(stub_path)))
    monkeypatch.setattr(driver_images, "driver_version", lambda: "580.1")
    folder = tmp_path / "images"
    folder.mkdir(mode=0o755)
    write(folder)
    return folder


def write(folder, digest=NETWORK.digest):
    (folder / "a.xz").write_bytes(lzma.compress(CODE))
    row = Image("a.xz", "a.cu", "sm_90", hashlib.sha256(CODE).hexdigest())
    listed = ImageList("network", digest, {}, {"a.cu": {}}, (row,))
    (folder / "network.json").write_text(listed.to_json(), "utf-8")
    write_manifest(folder, [folder / "network.json", folder / "a.xz"])


def test_an_image_is_loaded_for_each_gpu_once(folder, gpus, made):
    gpus.append(Gpu("GH200", (9, 0)))
    image = prebuilt.find(NETWORK, folder)
    assert (image.name, image.made_for) == ("network.json", "sm_90")
    library = image.load()
    assert [each.arguments[3] for each in made] == [0, 1]
    assert library.on(torch.device("cuda")) is made[0]
    assert library.on(torch.device("cuda:1")) is library.on(torch.device("cuda:1")) is made[1]
    assert len(made) == 2


def test_it_is_tested_again_for_another_gpu_driver_or_image(folder, gpus, monkeypatch):
    def identity():
        return prebuilt.find(NETWORK, folder).identity

    first = identity()
    assert identity() == first
    gpus[:] = [Gpu("GH200", (9, 0))]
    second = identity()
    monkeypatch.setattr(driver_images, "driver_version", lambda: "590.2")
    third = identity()
    (folder / "network.json").write_text((folder / "network.json").read_text() + "\n")
    write_manifest(folder, [folder / "network.json", folder / "a.xz"])
    assert len({first, second, third, identity()}) == 4


def test_without_a_gpu_nothing_is_tried(folder, gpus):
    gpus.clear()
    with pytest.raises(Unsupported, match=r"^no CUDA device$"):
        prebuilt.find(NETWORK, folder)


def test_a_gpu_that_is_too_old_is_one_sentence_and_nothing_is_compiled(folder, gpus, monkeypatch):
    gpus[:] = [P100]
    monkeypatch.setattr(prebuilt, "IMAGES", folder)
    monkeypatch.delenv("STYLEFORGE_BUILD", raising=False)
    monkeypatch.setattr(build, "_reasons", {})
    monkeypatch.setattr(build, "_load_build", lambda *_: pytest.fail("compiled"))
    assert not build.load("network")
    assert build.reason("network") == (
        "this GPU has compute capability 6.0; the native kernels need 7.5 or newer"
    )


def test_a_gpu_without_an_image_is_compiled_for(folder, gpus):
    gpus[:] = [T4]
    with pytest.raises(prebuilt.NoImage, match=r"for compute capability 7\.5$"):
        prebuilt.find(NETWORK, folder)


def test_an_old_gpu_beside_a_new_one_does_not_keep_it_from_its_image(folder, gpus, made):
    gpus.insert(0, P100)
    prebuilt.find(NETWORK, folder).load()
    assert [each.arguments[3] for each in made] == [1]


def test_an_old_driver_is_told_its_version_and_the_one_needed(folder, stub):
    ctypes.c_int.in_dll(stub, "stub_version").value = 11080
    with pytest.raises(BuildError, match=r"supports CUDA 11\.8; the native kernels need 12\.0"):
        prebuilt.find(NETWORK, folder)


def test_images_of_other_sources_are_not_used(folder):
    write(folder, digest="0" * 64)
    with pytest.raises(prebuilt.NoImage, match="the sources have changed"):
        prebuilt.find(NETWORK, folder)


def test_a_list_that_is_not_in_the_manifest_is_not_used(folder):
    write_manifest(folder, [folder / "a.xz"])
    with pytest.raises(prebuilt.NoImage, match="this installation contains no images"):
        prebuilt.find(NETWORK, folder)


def test_an_altered_list_is_named(folder):
    (folder / "network.json").write_text("{}")
    with pytest.raises(BuildError, match=r"network\.json is damaged: its sha256"):
        prebuilt.find(NETWORK, folder)


def test_an_altered_image_is_named_before_it_is_needed(folder):
    (folder / "a.xz").write_bytes(lzma.compress(b"other"))
    with pytest.raises(BuildError, match=r"a\.xz is damaged: its sha256"):
        prebuilt.find(NETWORK, folder)


def test_an_image_that_others_can_write_to_is_not_loaded(folder):
    (folder / "a.xz").chmod(0o666)
    with pytest.raises(BuildError, match=r"a\.xz is not loaded: every user can write to it"):
        prebuilt.find(NETWORK, folder)


def test_loading_on_a_gpu_without_an_image_says_so(folder, stub_path):
    images = ImageList.read(folder, "network")

    def refuse(_images, _folder, capability, *_):
        raise BuildError(f"no image for {capability}")

    library = PerDevice(images, folder, refuse, Driver(str(stub_path)))
    with pytest.raises(BuildError, match="no image for"):
        library.on(torch.device("cuda"))
