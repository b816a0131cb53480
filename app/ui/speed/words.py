"""Says in plain words where the network runs, which version of the style, and why."""

from __future__ import annotations

from app.engine.result import RunInfo
from utils.devices import NO_GPU

COMPILING = "Getting faster: compiling for your machine (about a minute)"
FASTER = 1.2  # how much faster a stream has become before it is told


def plain_words(running: RunInfo, *, automatic: bool) -> str:
    """Return one sentence, such as "Runs on the processor, no NVIDIA GPU found. Fast version of
    the style, so that the picture stays fluid".

    Args:
        running: What ran.
        automatic: Whether the program chose the version of the style.
    """
    where = f"Runs on {_device(running.device)}{_why_no_gpu(running)}"
    version = "Fast" if running.lite else "Fine"
    of = f"of {running.style}" if running.mixed else "of the style"
    why = ", so that the picture stays fluid" if running.lite and automatic else ""
    return f"{where}. {version} version {of}{why}"


def _device(title: str) -> str:
    """The processor, or a GPU's name without its index."""
    return "the processor" if title == "CPU" else title.partition(" (cuda:")[0]


def _why_no_gpu(running: RunInfo) -> str:
    if running.device != "CPU":
        return ""
    if NO_GPU in running.limitations:
        return ", no NVIDIA GPU found"
    if any("NVIDIA driver" in reason for reason in running.limitations):
        return ", since PyTorch cannot use the NVIDIA GPU"
    return ""


def faster_words(before: float, after: float) -> str:
    """Say how much faster the stream has become; "" where it has not.

    Args:
        before: Frames a second before kernels were compiled; 0 if unknown.
        after: Frames a second since.
    """
    if not before or after < FASTER * before:
        return ""
    return f"Faster now: {_rate(after)} pictures a second instead of {_rate(before)}"


def _rate(fps: float) -> str:
    return f"{fps:.0f}" if fps >= 3 else f"{fps:.1f}"
