"""CUDA streams and events on the CPU, where everything runs at once and in order."""

from __future__ import annotations

import contextlib

import pytest
import torch

from models.inference import frame_matting, frame_mover, frame_styler, side_stream


class Stream:
    """A stream that executes everything at once."""

    def __init__(self, priority: int = 0) -> None:
        self.priority = priority

    def wait_event(self, event: Event) -> None:
        assert event.recorded, "what is waited for was submitted"

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: all work is done."""


class Event:
    """An event of finished work; `recorded` whether there is any."""

    recorded = False

    def record(self, stream: Stream) -> None:
        self.recorded = True

    def query(self) -> bool:
        return self.recorded

    def synchronize(self) -> None:
        assert self.recorded, "what is waited for was submitted"


def emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what models.inference submits to streams on the CPU."""
    compute = Stream()
    for module in (frame_styler, frame_mover, frame_matting):
        monkeypatch.setattr(
            module, "pinned_like", lambda like: torch.empty(like.shape, dtype=like.dtype)
        )
    for module in (frame_styler, side_stream):
        monkeypatch.setattr(module, "current_stream", lambda _device: compute)
    frame_matting._stream_of.cache_clear()
    monkeypatch.setattr(torch.cuda, "set_stream", lambda _stream: None)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
