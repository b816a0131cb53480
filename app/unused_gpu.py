"""Detection of an NVIDIA card that PyTorch's CPU build leaves unused, and its remedy."""

from __future__ import annotations

import filecmp
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import torch

from utils.nvidia_driver import find_driver
from utils.translation.texts import mark

SENTENCE = mark("Your NVIDIA card is not used: this is PyTorch's CPU build")


def has_unused_gpu() -> bool:
    """Return whether the driver runs a GPU that this PyTorch lacks; loading it may take 1 s."""
    if torch.version.cuda or torch.version.hip:
        return False
    return find_driver() is not None


def mending_command() -> str:
    """Return "styleforge gpu", which replaces PyTorch; with full paths if not on the PATH."""
    script = Path(sysconfig.get_path("scripts")) / "styleforge"
    if sys.platform == "win32":
        script = script.with_suffix(".exe")
    found = shutil.which("styleforge")
    # uv links the command of a tool into a folder of the PATH; on Windows it copies it.
    if found and script.is_file() and filecmp.cmp(found, script, shallow=False):
        return "styleforge gpu"
    package = __name__.rpartition(".")[0]
    command = [str(script)] if script.is_file() else [sys.executable, "-m", package]
    return _command_line([*command, "gpu"])


def _command_line(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
