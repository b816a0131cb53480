"""The wheels, installed beside packages whose names our folders have, do what the checkout does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from app.cli import main
from app.version import styleforge_version
from wheels.arrange import CHECKOUT, MOVED

pytestmark = pytest.mark.slow

THEIRS = "'''Another project's package.'''\nWHOSE = 'theirs'\n"

TRAIN = """
from PySide6.QtCore import QCoreApplication
from styleforge.app.training.process import TrainingProcess
qt = QCoreApplication([])
process = TrainingProcess()
process.exited.connect(lambda exit: (print(exit.outcome, exit.reason), qt.quit()))
process.start(["train", "--help"])
qt.exec()
"""

# As where neither Qt nor OpenCV nor Pillow is installed.
ALONE = """
import sys
sys.modules |= dict.fromkeys(("PySide6", "cv2", "PIL", "safetensors", "rich", "psutil"))
import kernel_fusion as kf
import kernels
assert kernels.WHOSE == "theirs"
kf.prepare()
print([(status.name, status.reason) for status in kf.statuses("cpu")])
"""


def build(project: Path, target: Path) -> Path:
    """The wheel that pip builds of `project`, without a network."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    flags = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(target)]
    before = set(target.iterdir())
    subprocess.run([*pip, *flags, str(project)], check=True, stdin=subprocess.DEVNULL)
    (wheel,) = set(target.iterdir()) - before
    return wheel


class Place:
    """A fresh environment with one of our wheels, others' packages of our folders' names, and
    this environment's PyTorch, Qt and so on."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.bin = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.folder = folder
        self.packages = Path(self.python("import sysconfig; print(sysconfig.get_path('purelib'))"))
        # What stands in a .pth file is searched, but the .pth files there are not read, so the
        # editable install of the checkout is not seen.
        (self.packages / "outer.pth").write_text(str(Path(torch.__file__).parents[1]))
        for name in MOVED:
            (self.packages / name).mkdir()
            (self.packages / name / "__init__.py").write_text(THEIRS)
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install"]
        flags = ["--quiet", "--no-deps", "--no-index", "--ignore-installed"]
        subprocess.run([*pip, *flags, str(wheel)], check=True)

    def run(self, *command: str, expect: int = 0, **environment: str) -> str:
        """What `command` prints, run in this place; AssertionError if it ends otherwise."""
        bare = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        program = self.bin / command[0]
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=bare | {"QT_QPA_PLATFORM": "offscreen"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expect, done.stderr
        return done.stdout.strip()

    def python(self, code: str) -> str:
        """What the program `code` prints."""
        return self.run("python", "-c", code)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel of the program and that of the operations alone."""
    target = tmp_path_factory.mktemp("wheels")
    return build(CHECKOUT, target), build(CHECKOUT / "wheels" / "kernel_fusion", target)


@pytest.fixture(scope="module")
def place(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place") / "env", wheels[0])


def contents(wheel: Path) -> dict[str, int]:
    """The checksums of a wheel's files, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: info.CRC for info in archive.infolist() if not info.is_dir()}
    return {name: crc for name, crc in files.items() if ".dist-info/" not in name}


def test_a_wheel_takes_two_names_at_the_top_level(wheels):
    for wheel in wheels:
        names = {name.partition("/")[0] for name in contents(wheel)}
        assert names == {"styleforge", "kernel_fusion"}


def test_the_wheels_hold_the_same_operations(wheels):
    program, operations = map(contents, wheels)
    assert operations.items() <= program.items()
    assert not any(name.startswith("styleforge/app") for name in operations)


def test_every_asset_and_every_native_source_is_in_the_wheel(wheels):
    held = contents(wheels[0])
    listed = [
        path.relative_to(CHECKOUT).as_posix()
        for room in ("assets", "kernels")
        for path in (CHECKOUT / room).rglob("*")
        if path.suffix in {".cu", ".cuh", ".h", ".cpp", ".svg", ".png", ".toml", ".safetensors"}
    ]
    assert len(listed) > 60
    assert not [name for name in listed if f"styleforge/{name}" not in held]


def test_packages_with_the_names_of_our_folders_stay_theirs(place):
    names = ", ".join(MOVED)
    place.python(
        f"import {names}, styleforge.app.cli, kernel_fusion as kf\n"
        f"kf.statuses('cpu')\n"
        f"import {names}\n"
        f"assert {{package.WHOSE for package in ({names})}} == {{'theirs'}}"
    )


def test_the_installed_program_says_its_version(place):
    assert place.run("styleforge", "--version") == f"styleforge {styleforge_version()}"
    assert place.run("python", "-m", "styleforge", "--version").endswith(styleforge_version())


def test_the_installed_program_finds_its_kernels_and_styles(place, native_kernels, capsys):
    status = main(["doctor", "--json"])  # 1 where a system library is missing
    ours = json.loads(capsys.readouterr().out)
    report = json.loads(place.run("styleforge", "doctor", "--json", expect=status))
    kernels = report["Kernels"]
    assert kernels[0]["says"] == f"imported from {place.packages / 'styleforge' / 'kernels'}"
    assert kernels[1:] == ours["Kernels"][1:]
    assert "Candy" in place.run("styleforge", "styles", "list")


def test_the_installed_program_paints_what_the_checkout_does(place, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (96, 128, 3), np.uint8)
    source, ours, theirs = (tmp_path / name for name in ("source.png", "ours.png", "theirs.png"))
    Image.fromarray(pixels).save(source)
    arguments = ["stylize", str(source), "--style", "candy", "--device", "cpu", "-o"]
    assert main([*arguments, str(ours)]) == 0
    place.run("styleforge", *arguments, str(theirs))
    painted, again = (np.asarray(Image.open(path)).astype(int) for path in (ours, theirs))
    assert np.abs(painted - again).max() <= 1  # the order of additions may differ
    assert painted.std() > 10


def test_the_installed_window_can_train_in_a_process_of_its_own(place):
    assert place.python(TRAIN).splitlines()[-1].strip() == "done"


def test_the_operations_alone_need_neither_qt_nor_opencv(wheels, native_kernels, tmp_path):
    """They are compiled there as well, by a process that finds the compiler's part by name."""
    place = Place(tmp_path / "env", wheels[1])
    told = place.run("python", "-c", ALONE, STYLEFORGE_CACHE=str(tmp_path / "cache"))
    assert told.splitlines()[-1] == str([(s.name, s.reason) for s in native_kernels])
