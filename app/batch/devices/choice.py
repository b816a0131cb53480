"""Parsing of `--device`: one device, several, or all."""

from __future__ import annotations

import torch

from app.batch.error import StylizeError
from app.engine.painting_devices import painting_device
from app.parameters import AUTO
from models.webgpu_devices import key_of

ALL = "all"
MOST = 64


def devices_of(text: str) -> list[str]:
    """Return the devices of a --device value; each device gets a process.

    Args:
        text: Such as "auto", "cuda:0,cuda:1", "cpu,cpu" or "all". "all" is every GPU, or "auto"
            with at most one GPU.

    Raises:
        StylizeError: If a device does not exist, or a GPU is named twice.
    """
    if text == ALL:
        count = torch.cuda.device_count()
        return [f"cuda:{number}" for number in range(count)] if count > 1 else [AUTO]
    names = [name.strip() for name in text.split(",")]
    if len(names) == 1:
        return names
    if len(names) > MOST:
        raise StylizeError(f"at most {MOST} devices share a run, not {len(names)}")
    try:
        found = [key_of(painting_device(name)) for name in names]
    except ValueError as exc:
        raise StylizeError(str(exc)) from exc
    twice = next((name for name in found if name != "cpu" and found.count(name) > 1), None)
    if twice is not None:
        raise StylizeError(f"--device lists {twice} twice")
    return found
