"""The setup program contains what was requested, and an error names what is missing."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from tests.helpers.errors import mentions
from tools.setup import __main__ as command
from tools.setup import build, icon
from tools.setup.build import (
    Project,
    SetupError,
    fetch_uv,
    find_makensis,
    find_weights,
    find_wheel,
)

ICONS = build.CHECKOUT / "assets" / "icons"


def test_a_missing_makensis_is_one_sentence_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["setup"])
    assert command.main() == 1
    assert mentions(capsys.readouterr().err, "makensis", "apt-get install nsis")
    with pytest.raises(SetupError):
        find_makensis()


def test_the_wheel_for_windows_comes_before_the_one_for_every_system(tmp_path):
    with pytest.raises(SetupError, match="make wheels"):
        find_wheel(tmp_path, "1.2.3")
    names = ("any", "win_amd64")
    wheels = [tmp_path / f"styleforge-1.2.3-py3-none-{name}.whl" for name in names]
    (tmp_path / "styleforge-1.2.2-py3-none-win_amd64.whl").touch()
    (tmp_path / "styleforge-1.2.3-py3-none-manylinux_2_17_x86_64.whl").touch()
    for wheel in wheels:
        wheel.touch()
        assert find_wheel(tmp_path, "1.2.3") == wheel


def test_weights_of_another_version_are_not_taken(tmp_path):
    (tmp_path / "styleforge_any_style-1.2.2-py3-none-any.whl").touch()
    assert find_weights(tmp_path, "1.2.3") is None
    wheel = tmp_path / "styleforge_any_style-1.2.3-py3-none-any.whl"
    wheel.touch()
    assert find_weights(tmp_path, "1.2.3") == wheel


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("0.1.0", "0.1.0.0"), ("1.2", "1.2.0.0"), ("1.2.3rc4", "1.2.3.0"), ("1.2.3.4.5", "1.2.3.4")],
)
def test_windows_gets_four_numbers(version, numbers):
    assert Project(version, "").four_numbers == numbers


def test_the_environment_is_tried_with_modules_that_the_wheel_has():
    modules = re.findall(r"styleforge\.([\w.]+)", build.CHECK)
    assert modules
    for module in modules:
        place = build.CHECKOUT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
    compile(build.CHECK, "check", "exec")


def test_uv_is_pinned_to_one_file():
    (line,) = (line for line in build.UV.read_text("utf-8").splitlines() if line[0] != "#")
    assert re.fullmatch(r"uv==\d+\.\d+\.\d+ --hash=sha256:[0-9a-f]{64}", line)


@pytest.fixture
def uv_wheel(tmp_path, monkeypatch) -> Path:
    """Create a small wheel of uv for Windows, pinned, and the only one that pip finds."""
    wheel = tmp_path / "index" / "uv-9.9.9-py3-none-win_amd64.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("uv-9.9.9.data/scripts/uv.exe", "the program")
        archive.writestr("uv-9.9.9.data/scripts/uvx.exe", "another program")
        archive.writestr("uv-9.9.9.dist-info/licenses/LICENSE-MIT", "free")
        archive.writestr("uv-9.9.9.dist-info/METADATA", "Name: uv\nVersion: 9.9.9\n")
        archive.writestr("uv-9.9.9.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    pin = tmp_path / "uv.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pin.write_text(f"uv==9.9.9 --hash=sha256:{digest}\n", "utf-8")
    monkeypatch.setattr(build, "UV", pin)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    return wheel


@pytest.mark.full
def test_uv_is_unpacked_with_its_license(uv_wheel, tmp_path):
    uv = fetch_uv(tmp_path / "uv")
    assert uv.read_text() == "the program"
    assert (tmp_path / "uv" / "licenses" / "uv-MIT.txt").read_text() == "free"


@pytest.mark.full
def test_a_uv_that_is_another_file_is_refused(uv_wheel, tmp_path):
    with zipfile.ZipFile(uv_wheel, "a") as archive:
        archive.writestr("uv/more.py", "")
    with pytest.raises(SetupError, match="DO NOT MATCH"):
        fetch_uv(tmp_path / "uv")
    assert not (tmp_path / "uv" / "uv.exe").exists()


@pytest.mark.parametrize("size", [48, 256])
def test_the_pictures_of_the_icon_are_of_its_drawing(size):
    with Image.open(ICONS / f"styleforge-{size}.png") as stored:
        drawn = Image.open(io.BytesIO(icon.render(size)))
        assert stored.size == (size, size)
        difference = ImageChops.difference(stored.convert("RGBA"), drawn.convert("RGBA"))
    # Other versions of Qt place edges a little differently.
    assert sum(ImageStat.Stat(difference).mean) <= 4


def test_the_icon_for_windows_has_every_size():
    with Image.open(io.BytesIO(icon.windows_icon())) as made:
        assert made.info["sizes"] == {(size, size) for size in icon.WINDOWS_SIZES}
