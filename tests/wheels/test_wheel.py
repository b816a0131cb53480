"""The wheels, built from the source distribution, work like the checkout.

They are installed next to packages with the same names as our folders.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from app.cli import main
from app.version import styleforge_version
from kernels.jit import build, prebuilt
from kernels.jit.libraries import LIBRARIES
from kernels.table.names import NETWORK_CPU
from kernels.table.registry import GENERAL, OPS, SMOOTHING, TEXTURE
from models.vit_checkpoints import save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.helpers.once import made_once
from tools import build_wheels
from tools.prebuild.__main__ import write_manifest
from wheels.arrange import CHECKOUT, MOVED, WEIGHTS
from wheels.platforms import ANY, tag, this_platform

pytestmark = [pytest.mark.slow, pytest.mark.full]

NORM = "instance_norm"
WITHOUT_OPERATIONS = SMOOTHING, TEXTURE, NETWORK_CPU
NETWORK = "small.safetensors"
# an image for a machine that we do not support
OTHERS = "instance_norm-0123456789abcdef-amiga-m68k.so"

THEIRS = "'''Another project's package.'''\nWHOSE = 'theirs'\n"

TRAIN = """
from PySide6.QtCore import QCoreApplication
from styleforge.app.processes.command_process import CommandProcess
qt = QCoreApplication([])
process = CommandProcess()
process.exited.connect(lambda exit: (print(exit.outcome, exit.reason), qt.quit()))
process.start(["train", "--help"])
qt.exec()
"""

# Simulates a machine without Qt, OpenCV and Pillow.
ALONE = """
import sys
sys.modules |= dict.fromkeys(("PySide6", "cv2", "PIL", "safetensors", "rich", "psutil"))
import kernel_fusion as kf
import kernels
from kernel_fusion.__main__ import main
assert kernels.WHOSE == "theirs"
kf.prepare()
flags = "--group reduction --device cpu --sizes 8x8 --runs 1 --no-compile"
assert main(["bench", *flags.split()]) == 0
print([(status.name, status.reason) for status in kf.statuses("cpu")])
"""


class Place:
    """A fresh environment with one of our wheels and foreign packages with our folders' names.

    It uses this environment's PyTorch, Qt and so on.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.bin = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.folder = folder
        self.own = {
            "QT_QPA_PLATFORM": "offscreen",
            "STYLEFORGE_CACHE": str(folder / "cache"),
        }
        self.packages = Path(self.python("import sysconfig; print(sysconfig.get_path('purelib'))"))
        # Python searches the folders in a .pth file, but does not read .pth files there, so the
        # editable install of the checkout is not seen.
        (self.packages / "outer.pth").write_text(str(Path(torch.__file__).parents[1]))
        for name in MOVED:
            (self.packages / name).mkdir()
            (self.packages / name / "__init__.py").write_text(THEIRS)
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install"]
        flags = ["--quiet", "--no-deps", "--no-index", "--ignore-installed"]
        subprocess.run([*pip, *flags, str(wheel)], check=True)

    def run(self, *command: str, expect: int | None = 0, **environment: str) -> str:
        """Run `command` in this place and return its output.

        Raises:
            AssertionError: If it ends with another status.
        """
        bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "STYLEFORGE"))}
        program = self.bin / command[0]
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=bare | self.own | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert expect is None or done.returncode == expect, done.stderr
        return done.stdout.strip()

    def python(self, code: str) -> str:
        return self.run("python", "-c", code)


@pytest.fixture(scope="module")
def source(native_kernels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the source distribution, with images and an any-style network for this machine."""
    if this_platform() == ANY:
        pytest.skip("there is no wheel for this machine")
    folder = tmp_path_factory.mktemp("source")
    packed = made_once(folder, "sdist", build_wheels.build_sdist)  # which writes into the checkout
    with tarfile.open(packed) as archive:
        # Debian 12 has Python 3.11.2, which knows no filters; 3.12 warns without one.
        filtered: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **filtered)
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    for left_out in ("kernels/images", "assets/any_style"):
        assert not (source / left_out).exists()
        (source / left_out).mkdir()
    made = [source / "kernels" / "images" / name for name in (image(), OTHERS)]
    for path in made:
        shutil.copy(build.handle(NORM)._name, path)
    for library in WITHOUT_OPERATIONS:
        made.append(made[0].with_name(image(library)))
        shutil.copy(build.handle(library)._name, made[-1])
    write_manifest(source / "kernels" / "images", made)
    config = VitConfig(32, 2, 48, 2, 2, 16, (8, 12, 16))
    network = StyleForgeTransformer(config)
    save_vit(source / "assets" / "any_style" / NETWORK, config, network.state_dict())
    return source


@pytest.fixture(scope="module")
def wheels(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build both wheels from the unpacked source distribution.

    The program's is for this machine, with a CPU kernel image for it and one for another machine.
    The wheel with the operations alone is for any machine.
    """
    folder = tmp_path_factory.mktemp("wheels")
    operations = source / "wheels" / "kernel_fusion"
    return (
        build_wheels.build_wheel(source, this_platform(), folder),
        build_wheels.build_wheel(operations, ANY, folder),
    )


@pytest.fixture
def weights(source: Path, tmp_path: Path) -> Path:
    return build_wheels.build_wheel(source / "wheels" / "any_style", ANY, tmp_path)


def image(library: str = NORM) -> str:
    return prebuilt.image_name(LIBRARIES[library], prebuilt.targets()[0])


@pytest.fixture(scope="module")
def place(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place") / "env", wheels[0])


def contents(wheel: Path) -> dict[str, int]:
    """Return the checksums of a wheel's files, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: info.CRC for info in archive.infolist() if not info.is_dir()}
    return {name: crc for name, crc in files.items() if ".dist-info/" not in name}


def test_a_wheel_takes_two_names_at_the_top_level(wheels):
    for wheel in wheels:
        names = {name.partition("/")[0] for name in contents(wheel)}
        assert names == {"styleforge", "kernel_fusion"}
        assert {"kernel_fusion/ops.py", "kernel_fusion/py.typed"} <= set(contents(wheel))
        measuring = {name for name in contents(wheel) if "/benchmarks/" in name}
        assert "styleforge/benchmarks/operations/command.py" in measuring
        assert not [name for name in measuring if "/reports/" in name or name.endswith(".json")]


def test_a_wheel_with_images_names_its_platform_and_holds_no_others(wheels):
    program, operations = (
        {name.rpartition("/")[2] for name in contents(wheel) if "/kernels/images/" in name}
        for wheel in wheels
    )
    assert wheels[0].name.endswith(f"-py3-none-{tag(this_platform())}.whl")
    assert program == {image(), *map(image, WITHOUT_OPERATIONS), prebuilt.MANIFEST}
    with zipfile.ZipFile(wheels[0]) as archive:
        (told,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
        lines = archive.read(told).decode().splitlines()
    assert {"Root-Is-Purelib: false", f"Tag: py3-none-{tag(this_platform())}"} <= {*lines}
    assert wheels[1].name.endswith("-py3-none-any.whl")
    assert not operations
    # leaves room for CUDA's images
    assert wheels[0].stat().st_size < build_wheels.MAX_BYTES - 4_000_000


def test_the_wheels_hold_the_same_operations(wheels):
    program, operations = map(contents, wheels)
    assert operations.items() <= program.items()
    assert not any(name.startswith("styleforge/app") for name in operations)


def test_every_asset_and_every_native_source_is_in_the_wheel(wheels):
    held = contents(wheels[0])
    listed = [
        path.relative_to(CHECKOUT).as_posix()
        for room in ("app", "assets", "kernels")
        for path in (CHECKOUT / room).rglob("*")
        if path.suffix
        in {".cu", ".cuh", ".h", ".cpp", ".svg", ".png", ".toml", ".safetensors"}
        | {".html", ".css", ".js"}
        and path.parent != WEIGHTS
    ]
    listed = [name.replace(".safetensors", ".planes") for name in listed]
    assert len(listed) > 60
    assert not [name for name in listed if f"styleforge/{name}" not in held]


def test_the_installed_server_has_its_page(place):
    place.python(
        "from styleforge.app.server.routes.page import FILES, router\n"
        "assert len(router().routes) == len(FILES) > 5"
    )


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


def test_the_installed_program_runs_its_image_where_there_is_no_compiler(
    place, native_kernels, tmp_path
):
    # It is 1 if a system library is missing.
    said = place.run("styleforge", "doctor", "--json", expect=None, PATH=str(tmp_path))
    report = json.loads(said)
    kernels = [finding["says"] for finding in report["Kernels"]]
    assert kernels[0] == f"imported from {place.packages / 'styleforge' / 'kernels'}"
    assert f"library {NORM}: image {prebuilt.targets()[0]}" in kernels
    assert not any("library elementwise" in says for says in kernels)
    for status in native_kernels:
        says = f"{status.name} on cpu runs on {status.runs}"
        of_the_program = status.name not in OPS or OPS[status.name].family != GENERAL
        assert any(line.startswith(says) for line in kernels) == of_the_program
    compilers = [each["says"] for each in report["Compiler"] if each["state"] == "ok"]
    assert any("no C++ compiler" in says for says in compilers)
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


def test_the_installed_commands_find_what_measures(place):
    for command in ("bench", "quality"):
        assert command in place.run("styleforge", command, "--help")
    place.python("from styleforge.benchmarks.quality import films, textures")


def test_the_installed_package_hands_out_its_stylist_and_imports_it_only_then(place):
    shape = place.python(
        "import sys, numpy, styleforge\n"
        "assert 'torch' not in sys.modules\n"
        "stylist = styleforge.Stylist('candy', device='cpu', kernels='baseline')\n"
        "print(stylist(numpy.zeros((1, 24, 32, 3), numpy.uint8)).shape)\n"
        "assert not hasattr(styleforge, 'Painter')"
    )
    assert shape == "(1, 24, 32, 3)"


def test_a_wheel_of_weights_beside_it_lets_it_paint_in_the_style_of_a_picture(
    weights, place, tmp_path
):
    assert weights.name.endswith("-py3-none-any.whl")
    assert {*contents(weights)} == {f"styleforge/assets/any_style/{NETWORK}"}
    pixels = np.random.default_rng(0).integers(0, 256, (2, 64, 96, 3), np.uint8)
    for name, picture in zip(("photo.png", "style.png"), pixels, strict=True):
        Image.fromarray(picture).save(tmp_path / name)
    painted = tmp_path / "painted.png"
    arguments = ["stylize", str(tmp_path / "photo.png"), "--device", "cpu", "-o", str(painted)]
    arguments += ["--style-image", str(tmp_path / "style.png")]
    place.run("styleforge", *arguments, expect=1)  # there are no weights
    with zipfile.ZipFile(weights) as archive:
        archive.extractall(place.packages)
    place.run("styleforge", *arguments)
    with Image.open(painted) as picture:
        assert picture.size == (96, 64)


def test_the_installed_window_can_train_in_a_process_of_its_own(place):
    assert place.python(TRAIN).splitlines()[-1].strip() == "done"


def test_the_operations_alone_need_neither_qt_nor_opencv(wheels, native_kernels, tmp_path):
    """One library is compiled there too, by a process that finds the compiler's part by name. Other
    libraries have the same sources, so the checkout's builds are found.
    """
    place = Place(tmp_path / "env", wheels[1])
    cache = tmp_path / "cache" / build.cache().name
    cache.mkdir(parents=True)
    libraries = {*WITHOUT_OPERATIONS, *(op.cpu.library for op in OPS.values())} - {NORM, ""}
    for library in libraries:
        for file in (path := Path(build.handle(library)._name)).parent.glob(f"{path.name}*"):
            shutil.copy(file, cache)  # the library and its digest
    told = place.run("python", "-c", ALONE, STYLEFORGE_CACHE=str(cache.parent))
    assert told.splitlines()[-1] == str([(s.name, s.reason) for s in native_kernels])
    built = sorted(path.name.partition("-")[0] for path in cache.glob(f"*{build.SUFFIX}"))
    assert built == sorted({*libraries, NORM})
