"""Gathers the contents of the setup program, and runs NSIS to build it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools.setup.icon import side_picture, windows_icon

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
SCRIPT = HERE / "setup.nsi"
UV = HERE / "uv.txt"

# The test that the new environment must pass before it replaces an older one: load PyTorch, Qt and
# the window, which fails if a system library is missing.
CHECK = "import torch, styleforge.app.ui.main_window"


class SetupError(RuntimeError):
    """Raised if the setup program cannot be built; the message is one sentence with the reason."""


@dataclass(frozen=True, slots=True)
class Project:
    """The setup program's information about the project, from pyproject.toml.

    Attributes:
        publisher: The first author.
    """

    version: str
    publisher: str

    @classmethod
    def read(cls, settings: Path = CHECKOUT / "pyproject.toml") -> Project:
        """Read the information from pyproject.toml."""
        project = tomllib.loads(settings.read_text("utf-8"))["project"]
        return cls(project["version"], project["authors"][0]["name"])

    @property
    def four_numbers(self) -> str:
        """The version in Windows' form: four numbers of 16 bits, without any suffix."""
        numbers = re.findall(r"\d+", re.match(r"[\d.]*", self.version)[0])[:4]  # pyright: ignore[reportOptionalSubscript]
        return ".".join([*numbers, *"0000"][:4])


def find_makensis() -> str:
    """Return the path of NSIS's compiler.

    Raises:
        SetupError: If it is not installed.
    """
    found = shutil.which("makensis")
    if not found:
        raise SetupError("makensis is missing; on Debian or Ubuntu: sudo apt-get install nsis")
    return found


def find_wheel(folder: Path, version: str) -> Path:
    """Find StyleForge's wheel for Windows, or else the one for every system.

    Raises:
        SetupError: If neither exists.
    """
    for system in ("win_amd64", "any"):
        wheel = folder / f"styleforge-{version}-py3-none-{system}.whl"
        if wheel.is_file():
            return wheel
    raise SetupError(f"there is no wheel of StyleForge {version} in '{folder}': run `make wheels`")


def find_weights(folder: Path, version: str) -> Path | None:
    """Find the wheel of the any-style networks' weights, or return None."""
    wheel = folder / f"styleforge_any_style-{version}-py3-none-any.whl"
    return wheel if wheel.is_file() else None


def fetch_uv(folder: Path) -> Path:
    """Download uv for Windows and unpack its program and licenses.

    Args:
        folder: The target folder, which is emptied first.

    Returns:
        The path of uv.exe, with the folder `licenses` next to it.

    Raises:
        SetupError: If it cannot be downloaded, is another file than uv.txt names, or contains no
            uv.exe.
    """
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "licenses").mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    flags = ["--no-deps", "--only-binary=:all:", "--platform", "win_amd64", "--require-hashes"]
    done = subprocess.run(
        [*pip, *flags, "--dest", str(folder), "--requirement", str(UV)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"uv for Windows could not be downloaded:\n{done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = Path(name).parts
            if name.endswith(".data/scripts/uv.exe"):
                (folder / "uv.exe").write_bytes(archive.read(name))
            elif "licenses" in parts:
                license_name = parts[-1].removeprefix("LICENSE-")
                (folder / "licenses" / f"uv-{license_name}.txt").write_bytes(archive.read(name))
    if not (folder / "uv.exe").is_file() or not any((folder / "licenses").iterdir()):
        raise SetupError(f"'{wheel.name}' holds no uv.exe, or not its licenses")
    return folder / "uv.exe"


def build(
    makensis: str,
    project: Project,
    wheel: Path,
    weights: Path | None,
    uv: Path,
    out: Path,
    work: Path,
) -> Path:
    """Build the setup program; return its path.

    Args:
        weights: The wheel of weights to install as well, or None.
        uv: The uv.exe that installs them, with licenses in the folder `licenses` next to it.
        out: The folder for the program and its sha256.

    Raises:
        SetupError: If NSIS rejects the script or a file.
    """
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    icon = work / "StyleForge.ico"
    icon.write_bytes(windows_icon())
    picture = work / "side.bmp"
    picture.write_bytes(side_picture())
    licenses = work / "licenses"
    shutil.rmtree(licenses, ignore_errors=True)
    shutil.copytree(uv.parent / "licenses", licenses)
    shutil.copy(CHECKOUT / "LICENSE", licenses / "StyleForge.txt")
    program = out / f"StyleForge-{project.version}-setup.exe"
    temporary = program.with_suffix(".making")
    defined = {
        "VERSION": project.version,
        "VERSION4": project.four_numbers,
        "PUBLISHER": project.publisher,
        "OUT": temporary.absolute(),
        "ICON": icon.absolute(),
        "PICTURE": picture.absolute(),
        "UV": uv.absolute(),
        "WHEEL": wheel.absolute(),
        "WHEEL_NAME": wheel.name,
        "LICENSES": licenses.absolute(),
        "CHECK": CHECK,
    }
    if weights is not None:
        defined |= {"WEIGHTS": weights.absolute(), "WEIGHTS_NAME": weights.name}
    flags = [f"-D{name}={str(value).replace('$', '$$')}" for name, value in defined.items()]
    done = subprocess.run(
        [makensis, "-V2", "-WX", "-INPUTCHARSET", "UTF8", *flags, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        # NSIS reads file names in the encoding of the locale
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if done.returncode:
        temporary.unlink(missing_ok=True)
        raise SetupError(f"makensis failed:\n{(done.stdout + done.stderr).strip()}")
    temporary.replace(program)
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    program.with_suffix(".exe.sha256").write_text(f"{digest}  {program.name}\n", "utf-8")
    return program
