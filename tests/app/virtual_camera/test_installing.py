"""Each system gets the next thing to install, as a line to copy."""

from __future__ import annotations

import pytest

from app.virtual_camera.color_bars import BARS, color_bars
from app.virtual_camera.device import MODPROBE
from app.virtual_camera.installing import (
    DRIVERS,
    EXTRA_COMMAND,
    OBS_ADDRESS,
    READY,
    Needed,
    needed,
)


def test_without_the_extra_it_comes_first(tmp_path):
    assert needed("linux", tmp_path, {}, has_extra=False).command == EXTRA_COMMAND


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ({"ID": "debian"}, f"{DRIVERS['debian']} && {MODPROBE}"),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, f"{DRIVERS['ubuntu']} && {MODPROBE}"),
        ({"ID": "nobara", "ID_LIKE": "rhel fedora"}, f"{DRIVERS['fedora']} && {MODPROBE}"),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, f"{DRIVERS['arch']} && {MODPROBE}"),
        ({"ID": "other"}, MODPROBE),
    ],
    ids=["debian", "like ubuntu", "like fedora", "like arch", "unknown"],
)
def test_linux_gets_the_command_of_its_distribution(release, command, tmp_path):
    assert needed("linux", tmp_path, release, has_extra=True).command == command


def test_with_a_device_nothing_is_left_to_install(tmp_path):
    (tmp_path / "video2").mkdir()
    assert needed("linux", tmp_path, {}, has_extra=True) == Needed(READY)


def test_only_what_certainly_lacks_is_missing(tmp_path):
    lacking = needed("linux", tmp_path, {}, has_extra=True)
    assert lacking.missing != needed("linux", tmp_path, {}, has_extra=False).missing
    assert lacking.missing
    for system in ("win32", "darwin"):
        assert not needed(system, tmp_path, {}, has_extra=True).missing


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_windows_and_macos_get_the_address_of_obs(system, tmp_path):
    found = needed(system, tmp_path, {}, has_extra=True)
    assert found.command == OBS_ADDRESS
    assert "OBS" in found.sentence
    assert found.sentence.endswith(".")


@pytest.mark.parametrize("size", [(1280, 720), (640, 480), (37, 21)], ids=str)
def test_color_bars_tell_left_from_right_and_reach_every_edge(size):
    picture = color_bars(*size)
    assert picture.shape == (size[1], size[0], 3)
    assert (picture[0] == 255).all()
    assert (picture[:, -1] == 255).all()
    row = picture[size[1] // 3]
    assert tuple(row[size[0] // 5]) == BARS[1]
    assert tuple(row[-size[0] // 5]) == BARS[-2]
