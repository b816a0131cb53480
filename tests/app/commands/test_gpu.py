"""`styleforge gpu` prints the command that installs PyTorch for the GPU, runs it, and checks."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.cli import main
from app.commands import gpu
from app.errors import StyleForgeError
from tests.helpers.driver_stub import driver_stub
from tests.helpers.errors import mentions
from utils.nvidia_driver import NvidiaDriver, find_driver

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="stands in for programs with shell scripts"
)

# A stand-in for PyTorch that uses a GPU once the file next to it exists.
TORCH = """
from pathlib import Path
class cuda:
    is_available = staticmethod(Path(__file__).with_name("replaced").exists)
    get_device_name = staticmethod(lambda: "RTX")
class version:
    cuda = "13.0" if cuda.is_available() else None
__version__ = "2.13.0+cu130" if cuda.is_available() else "2.13.0+cpu"
"""


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Replace the driver by one that reports a GPU."""
    stub = driver_stub(tmp_path, 13000, [(8, 6)])
    monkeypatch.setattr(gpu, "find_driver", functools.partial(find_driver, stub))
    return stub


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a PyTorch without GPU support, imported by child processes."""
    folder = tmp_path / "packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(TORCH)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    return folder


def stand_in_for_uv(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> Path:
    """Install a uv that records its arguments and runs a line of shell; return its record."""
    folder.mkdir()
    (folder / "uv").write_text(f'#!/bin/sh\necho "$@" > {folder}/asked\n{does}\n')
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "asked"


def test_without_a_driver_one_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "find_driver", functools.partial(find_driver, "libnone.so"))
    assert main(["gpu"]) == 1
    assert "no NVIDIA driver" in capsys.readouterr().err


def test_on_macos_one_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["gpu"]) == 1
    assert "macOS" in capsys.readouterr().err


def test_a_dry_run_prints_the_command_and_runs_nothing(card, torch, tmp_path, monkeypatch, capsys):
    asked = stand_in_for_uv(tmp_path / "bin", monkeypatch, "exit 1")
    assert main(["gpu", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert f"uv pip install --python {sys.executable} --torch-backend auto" in printed
    assert "--reinstall-package torch" in printed
    assert not asked.exists()


def test_uv_replaces_pytorch_and_the_result_is_checked(card, torch, tmp_path, monkeypatch, capsys):
    asked = stand_in_for_uv(tmp_path / "bin", monkeypatch, f"touch {torch}/replaced")
    monkeypatch.setattr(psutil, "process_iter", lambda: [])
    assert main(["gpu"]) == 0
    printed, told = capsys.readouterr().out.splitlines()
    assert shlex.split(printed)[1:] == asked.read_text().split()
    assert mentions(told, "now uses RTX", "PyTorch 2.13.0+cu130", "CUDA 13.0")
    assert main(["gpu"]) == 0
    assert mentions(capsys.readouterr().out, "already uses RTX", "2.13.0+cu130")


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("exit 3", "the command ended with status 3"),
        ("true", "PyTorch 2.13.0+cpu (a CPU build) is installed but does not use the card"),
        ("rm {torch}/__init__.py; echo 1/0 > {torch}/__init__.py", "cannot be imported"),
    ],
)
def test_what_went_wrong_is_one_sentence(does, says, card, torch, tmp_path, monkeypatch, capsys):
    stand_in_for_uv(tmp_path / "bin", monkeypatch, does.format(torch=torch))
    monkeypatch.setattr(psutil, "process_iter", lambda: [])
    assert main(["gpu"]) == 1
    assert says in capsys.readouterr().err


def test_without_uv_pip_is_told_the_build(monkeypatch):
    monkeypatch.setattr(gpu, "find_uv", lambda: None)
    command = gpu.install_command(NvidiaDriver((13, 0), ((8, 6),)))
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert command[command.index("--index-url") + 1].endswith("/cu130")
    assert gpu.torch_requirement() in command
    assert command[-2:] == ["--constraint", str(gpu.CONSTRAINTS)]
    monkeypatch.setattr(gpu, "distributions", lambda name: ())
    with pytest.raises(StyleForgeError, match="neither uv nor pip"):
        gpu.install_command(NvidiaDriver((13, 0), ((8, 6),)))


@pytest.mark.parametrize(
    ("cuda", "capability", "build"),
    [
        ((13, 0), (12, 0), "cu130"),
        ((13, 2), (7, 5), "cu130"),
        ((13, 0), (6, 1), "cu126"),
        ((12, 8), (8, 9), "cu126"),
        ((12, 0), (9, 0), "cu126"),
    ],
)
def test_the_build_suits_driver_and_gpu(cuda, capability, build):
    assert gpu.build_for(NvidiaDriver(cuda, (capability,))) == build


@pytest.mark.parametrize(
    ("cuda", "capability", "needed"), [((11, 8), (8, 6), "12.0"), ((12, 8), (12, 0), "13.0")]
)
def test_a_driver_that_is_too_old_is_told_what_is_needed(cuda, capability, needed):
    with pytest.raises(StyleForgeError, match=rf"supports CUDA {cuda[0]}\.{cuda[1]}, .* {needed}"):
        gpu.build_for(NvidiaDriver(cuda, (capability,)))


def test_it_waits_until_nobody_uses_the_files(tmp_path, monkeypatch, capsys):
    (tmp_path / "library.so").write_bytes(b"x" * 4096)
    code = (
        f"import mmap; f = open({str(tmp_path / 'library.so')!r}, 'rb')\n"
        "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print('ready', flush=True); input()"
    )
    pipe = subprocess.PIPE
    user = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
    assert user.stdout
    assert user.stdout.readline() == "ready\n"
    waited = []

    def end(processes: list[psutil.Process]) -> None:
        waited.extend(process.pid for process in processes)
        user.communicate("\n")

    monkeypatch.setattr(psutil, "wait_procs", end)
    gpu.wait_for_others(tmp_path)
    assert waited == [user.pid]
    assert str(user.pid) in capsys.readouterr().out
