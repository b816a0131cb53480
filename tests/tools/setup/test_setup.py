"""The setup program on Windows, as far as Wine supports it, with a stand-in for uv and Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tools.setup.build import Project, build

STANDIN = Path(__file__).with_name("standin.c")
KEY = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\StyleForge"
PROJECT = Project("1.2.3", "The authors")
WHEEL = "styleforge-1.2.3-py3-none-win_amd64.whl"
WEIGHTS = "styleforge_any_style-1.2.3-py3-none-any.whl"
FAILED = 2  # the exit status
PATIENCE_S = 60.0


def compiler() -> list[str]:
    """Return the command that compiles for Windows here; empty if there is none."""
    if found := shutil.which("x86_64-w64-mingw32-gcc"):
        return [found]
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu"]
    return zig if find_spec("ziglang") else []


MISSING = [name for name in ("wine", "makensis") if not shutil.which(name)]
MISSING += [] if compiler() else ["ziglang"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first time, ziglang compiles Windows' C library
    pytest.mark.skipif(bool(MISSING), reason=f"missing here: {', '.join(MISSING)}"),
]


@dataclass(frozen=True)
class Windows:
    """A fresh Windows in the folder `prefix`; `standin` replaces uv and Python."""

    prefix: Path
    setup: Path
    standin: Path

    @property
    def drive(self) -> Path:
        return self.prefix / "drive_c"

    @property
    def user(self) -> Path:
        return next(path for path in (self.drive / "users").iterdir() if path.name != "Public")

    @property
    def local(self) -> Path:
        """%LOCALAPPDATA%."""
        return self.user / "AppData" / "Local"

    @property
    def shortcut(self) -> Path:
        menu = self.user / "AppData" / "Roaming" / "Microsoft" / "Windows" / "Start Menu"
        return menu / "Programs" / "StyleForge.lnk"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        ours = {"WINEPREFIX": str(self.prefix), "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"}
        return kept | ours | {"WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe="} | more

    def run(self, *command: str | Path, **more: str) -> tuple[int, str]:
        """Run a Windows program to its end; return its exit status and its output."""
        with tempfile.TemporaryFile() as told:  # Windows' services would keep a pipe open
            done = subprocess.run(
                ["wine", *command],
                env=self.environment(**more),
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE_S,
                check=False,
            )
            told.seek(0)
            return done.returncode, told.read().decode("utf-8", "replace")

    def install(self, folder: Path | None = None, **more: str) -> int:
        # Windows passes one command line, in which the value of /D= is not quoted.
        place = f"/D={self.path(folder)}".split(" ") if folder else []
        return self.run(self.setup, "/S", *place, **more)[0]

    def uninstall(self, folder: Path) -> int:
        """Run the uninstaller silently, without the copy of itself that it starts by default."""
        place = f"_?={self.path(folder)}".split(" ")
        return self.run(folder / "uninstall.exe", "/S", *place)[0]

    def pretend(self, version: str) -> None:
        self.run("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", version, "/f")

    def path(self, path: Path) -> str:
        return "C:\\" + "\\".join(path.relative_to(self.drive).parts)

    def registered(self) -> dict[str, str]:
        """Return StyleForge's entry in the list of installed programs."""
        exported = self.drive / "exported.reg"
        if self.run("reg", "export", KEY, self.path(exported), "/y")[0]:
            return {}
        rows = re.findall(r'^"(.+?)"="?(.*?)"?$', exported.read_text("utf-16"), re.MULTILINE)
        return {name: re.sub(r"\\(.)", r"\1", value) for name, value in rows}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the setup program, and the stand-in that it contains as uv.exe."""
    folder = tmp_path_factory.mktemp("setup")
    uv = folder / "uv" / "uv.exe"
    (uv.parent / "licenses").mkdir(parents=True)
    for name in ("uv-APACHE.txt", "uv-MIT.txt"):
        (uv.parent / "licenses" / name).write_text("free")
    flags = ["-municode", "-Os", "-s", "-o", str(uv)]
    subprocess.run([*compiler(), *flags, str(STANDIN)], check=True)
    for name in (WHEEL, WEIGHTS):
        (folder / name).write_bytes(b"a wheel")
    makensis = shutil.which("makensis") or ""
    wheels = folder / WHEEL, folder / WEIGHTS
    setup = build(makensis, PROJECT, *wheels, uv, folder / "dist", folder / "work")
    return setup, uv


@pytest.fixture(scope="module")
def installed_wine(tmp_path_factory: pytest.TempPathFactory, programs) -> Iterator[Windows]:
    made = Windows(tmp_path_factory.mktemp("wine") / "prefix", *programs)
    made.run("wineboot", "--init")
    # makes programs start fast
    subprocess.run(["wineserver", "-p"], env=made.environment(), check=False)
    made.pretend("win10")
    yield made
    subprocess.run(["wineserver", "-k"], env=made.environment(), check=False)
    shutil.rmtree(made.prefix)  # 700 MB


@pytest.fixture
def windows(installed_wine: Windows) -> Iterator[Windows]:
    """Yield a Windows on which every test installs into its own folder."""
    yield installed_wine
    installed_wine.run("reg", "delete", KEY, "/f")
    installed_wine.shortcut.unlink(missing_ok=True)


@pytest.fixture
def folder(windows: Windows, tmp_path: Path) -> Path:
    """Return a folder to install into that does not exist yet."""
    return windows.drive / tmp_path.name / "Größe Ω" / "Style Forge"


def files(folder: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: data for name, data in found.items() if name != "setup.log"}


def log(folder: Path) -> str:
    return (folder / "setup.log").read_text("utf-8")


def step_is_running() -> bool:
    """Return whether the stand-in is installing packages, in any Windows."""
    commands = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any(words and "uv.exe" in words[0] and "pip" in words for words in commands)


def test_it_installs_for_the_user_where_nothing_is_chosen(windows):
    assert windows.install() == 0
    folder = windows.local / "Programs" / "StyleForge"
    assert (folder / "env" / "Scripts" / "pythonw.exe").is_file()
    assert not (folder / "env.new").exists()
    assert windows.shortcut.is_file()
    assert "styleforge".encode("utf-16-le") in windows.shortcut.read_bytes()
    assert windows.uninstall(folder) == 0


def test_it_installs_into_a_path_with_spaces_and_letters_of_every_kind(windows, folder):
    assert windows.install(folder) == 0
    told = (folder / "env/Lib/site-packages/styleforge/installed.txt").read_text()
    assert told.split() == [
        WHEEL,
        WEIGHTS,
        "auto",
        "0",
    ]  # Python is not registered with Windows
    assert log(folder).startswith("StyleForge setup 1.2.3\n")
    assert f"Creating virtual environment at: {windows.path(folder)}\\env.new" in log(folder)
    assert "Downloading torch (2.4GiB)" in log(folder)
    assert log(folder).endswith("StyleForge 1.2.3 is installed.\n")


def test_windows_lists_it_with_what_it_needs_to_remove_it(windows, folder):
    assert windows.install(folder) == 0
    place = windows.path(folder)
    rows = windows.registered()
    assert int(rows.pop("EstimatedSize").removeprefix("dword:"), 16) > 0
    assert rows == {
        "DisplayName": "StyleForge",
        "DisplayVersion": "1.2.3",
        "DisplayIcon": f"{place}\\StyleForge.ico",
        "Publisher": "The authors",
        "InstallLocation": place,
        "UninstallString": f'"{place}\\uninstall.exe"',
        "QuietUninstallString": f'"{place}\\uninstall.exe" /S',
        "NoModify": "dword:00000001",
        "NoRepair": "dword:00000001",
    }


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("python", "Python 3.12 could not be installed."),
        ("venv", "The environment of Python could not be made."),
        ("pip", "StyleForge and the packages it needs could not be installed."),
        ("check", "StyleForge does not start on this computer"),
    ],
)
def test_a_step_that_fails_leaves_only_the_log_which_says_why(windows, folder, step, says):
    assert windows.install(folder, STANDIN_FAIL=step) == FAILED
    assert [path.name for path in folder.iterdir()] == ["setup.log"]
    assert "error: told to fail" in log(folder)
    last = log(folder).splitlines()[-1]
    assert last.startswith(says)
    assert last.endswith(f"The log is '{windows.path(folder)}\\setup.log'.")
    assert not windows.registered()
    assert not windows.shortcut.exists()
    assert windows.install(folder) == 0  # the folder stays usable


def test_a_second_run_replaces_the_environment_and_a_failed_one_keeps_it(windows, folder):
    assert windows.install(folder) == 0
    mine = folder / "env" / "mine.txt"
    mine.write_text("of the old environment")
    before = files(folder)
    assert windows.install(folder, STANDIN_FAIL="pip", STANDIN_TORCH="2.14.0") == FAILED
    after = files(folder)
    assert {name: after[name] for name in before} == before
    assert not list(folder.glob("env.*"))
    assert windows.registered()["DisplayVersion"] == "1.2.3"
    assert windows.install(folder) == 0
    assert not mine.exists()
    assert not list(folder.glob("env.*"))


def test_the_cache_is_cleaned_of_a_pytorch_that_was_replaced(windows, folder):
    assert windows.install(folder) == 0
    assert windows.install(folder) == 0
    assert (folder / "cache" / "cleaned-styleforge").exists()
    assert not (folder / "cache" / "cleaned-torch").exists()
    assert windows.install(folder, STANDIN_TORCH="2.14.0") == 0
    assert (folder / "cache" / "cleaned-torch").exists()


def test_what_a_killed_setup_left_is_put_right(windows, folder):
    assert windows.install(folder) == 0
    (folder / "env").rename(folder / "env.old")
    (folder / "env.new").mkdir()
    assert windows.install(folder, STANDIN_FAIL="venv") == FAILED
    assert (folder / "env" / "pyvenv.cfg").is_file()
    assert not list(folder.glob("env.*"))


def test_a_setup_that_is_killed_takes_its_step_along_and_can_be_repeated(windows, folder):
    place = f"/D={windows.path(folder)}".split(" ")
    killed = subprocess.Popen(
        ["wine", windows.setup, "/S", *place],
        env=windows.environment(STANDIN_FAIL="hang"),
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + PATIENCE_S
    while not (folder / "setup.log").exists() or "torch (2.4GiB)" not in log(folder):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert step_is_running()
    killed.kill()
    killed.wait(PATIENCE_S)
    end = time.monotonic() + PATIENCE_S / 4
    while step_is_running():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert (folder / "env.new").exists()
    assert windows.install(folder) == 0
    assert "told to fail" not in log(folder)
    assert not list(folder.glob("env.*"))


def test_a_running_styleforge_is_neither_replaced_nor_removed(windows, folder):
    assert windows.install(folder) == 0
    before = files(folder)
    program = subprocess.Popen(
        ["wine", folder / "env" / "Scripts" / "pythonw.exe"],
        env=windows.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert program.stdout
    try:
        assert program.stdout.readline() == b"running\n"
        assert windows.install(folder) == FAILED
        assert "StyleForge is running" in log(folder)
        assert windows.uninstall(folder) == FAILED
        assert files(folder) == before
        assert windows.registered()
    finally:
        windows.run("taskkill", "/f", "/im", "pythonw.exe")
        program.wait(PATIENCE_S)
        program.stdout.close()
    assert windows.uninstall(folder) == 0


def test_the_uninstaller_removes_what_setup_made_and_nothing_else(windows, folder):
    assert windows.install(folder) == 0
    mine = folder / "my pictures" / "photo.txt"
    mine.parent.mkdir()
    mine.write_text("a photo")
    settings = windows.local / "styleforge" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{}")
    assert windows.uninstall(folder) == 0
    (folder / "uninstall.exe").unlink(missing_ok=True)  # it cannot delete itself, see uninstall()
    assert files(folder) == {"my pictures/photo.txt": b"a photo"}
    assert settings.read_text() == "{}"
    assert not windows.registered()
    assert not windows.shortcut.exists()


def test_the_uninstaller_removes_itself_and_an_empty_folder(windows, folder):
    assert windows.install(folder) == 0
    assert windows.run(folder / "uninstall.exe", "/S")[0] == 0
    end = time.monotonic() + PATIENCE_S  # a copy of it is still running
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not folder.exists()
    assert not windows.registered()


def test_a_folder_with_other_files_is_refused_and_left_alone(windows, folder):
    (folder / "env.new").mkdir(parents=True)
    (folder / "env.new" / "mine.txt").write_text("mine")
    assert windows.install(folder) == FAILED
    assert files(folder) == {"env.new/mine.txt": b"mine"}
    assert not (folder / "setup.log").exists()
    (told,) = windows.user.rglob("StyleForge-setup.log")
    assert "holds other files" in told.read_text("utf-8")


def test_a_second_folder_is_refused_while_there_is_an_installation(windows, folder):
    assert windows.install(folder) == 0
    other = folder.with_name("another")
    assert windows.install(other) == FAILED
    assert not other.exists()
    assert windows.install() == 0  # without a folder, it is the existing one
    assert not (windows.local / "Programs" / "StyleForge" / "env").exists()


def test_a_windows_that_is_too_old_is_refused(windows, folder):
    windows.pretend("win81")
    try:
        assert windows.install(folder) == FAILED
    finally:
        windows.pretend("win10")
    assert not folder.exists()


def test_a_path_that_would_be_too_long_is_refused(windows, folder):
    long = folder / ("x" * 100)
    assert windows.install(long) == FAILED
    assert not folder.exists()
