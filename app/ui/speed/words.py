"""Describes in plain words where the network runs, the version of the style, and why."""

from __future__ import annotations

import re

from app.engine.result import RunInfo
from utils.translation.joints import sentences
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

COMPILING = mark("Getting faster: compiling for your machine (about a minute)")
FASTER = 1.2  # speedup of a stream from which it is reported


def plain_words(running: RunInfo, *, automatic: bool) -> str:
    """Return one sentence on where the network runs and which version of the style.

    An example is "Runs on the processor. Fast version of the style, to keep the video smooth".
    """
    return sentences(_where(running), _version(running, chosen=running.lite and automatic))


def _where(running: RunInfo) -> str:
    """Return where the network runs and, if an NVIDIA GPU should run it, why it does not.

    That there is none is no news on most machines, so that only the details say it.
    """
    if running.device != "CPU":
        device = re.sub(r" \((cuda|webgpu):\d+\)$", "", running.device)  # without the index
        return tr("Runs on {device}", device=device)
    # In any language, such a reason from utils.devices names the maker.
    if any("NVIDIA" in reason for reason in running.limitations):
        return tr("Runs on the processor, since PyTorch cannot use the NVIDIA GPU")
    return tr("Runs on the processor")


def _version(running: RunInfo, *, chosen: bool) -> str:
    """Return the version of the style, and why if the program chose the fast one."""
    if running.mixed:
        name = running.style
        if chosen:
            return tr("Fast version of {name}, to keep the video smooth", name=name)
        if running.lite:
            return tr("Fast version of {name}", name=name)
        return tr("Fine version of {name}", name=name)
    if chosen:
        return tr("Fast version of the style, to keep the video smooth")
    if running.lite:
        return tr("Fast version of the style")
    return tr("Fine version of the style")


def faster_words(before: float, after: float) -> str:
    """Return how much faster the stream has become; "" if it has not.

    Args:
        before: Frames a second before kernels were compiled; 0 if unknown.
        after: Frames a second since then.
    """
    if not before or after < FASTER * before:
        return ""
    return tr(
        "Faster now: {after} pictures a second instead of {before}",
        after=_rate(after),
        before=_rate(before),
    )


def _rate(fps: float) -> str:
    return number(fps, 0 if fps >= 3 else 1)
