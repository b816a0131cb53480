"""Fixtures for sources: numbered pictures, and waiting for frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.frame import Frame, FrameSource
from tests.helpers.fakes import number_of, numbered
from utils.images.writing import write_pixels


def write_picture(path: Path, number: int = 1) -> Path:
    write_pixels(path, numbered(number))
    return path


def next_frame(source: FrameSource, seconds: float = 3.0) -> Frame:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if (frame := source.read(0.05)) is not None:
            return frame
    pytest.fail(f"no frame within {seconds} s")


def next_number(source: FrameSource) -> int:
    return number_of(next_frame(source).pixels)


def numbers_until(source: FrameSource, condition: Callable[[list[int]], bool]) -> list[int]:
    numbers: list[int] = []
    while not condition(numbers):
        numbers.append(next_number(source))
        assert len(numbers) < 500
    return numbers
