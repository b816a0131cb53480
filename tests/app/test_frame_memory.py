"""Sources decode frames into the memory that the engine's device reads fastest."""

from __future__ import annotations

import numpy as np
import pytest

from app import frame_memory
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.frame import Frame
from app.frame_memory import allocate_by, new_pixels, pageable
from app.live.display_copy import for_display
from app.sources.opencv_frames import as_rgb
from app.styles.catalog import Catalog
from models.inference.host_memory import new_pinned_pixels, pinned_tensor
from utils.opencv import cv2


@pytest.fixture
def allocated(monkeypatch):
    monkeypatch.setattr(frame_memory, "_allocate", pageable)
    made: list[np.ndarray] = []

    def allocate(height: int, width: int):
        made.append(pageable(height, width))
        return made[-1]

    allocate_by(allocate)
    return made


@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 1), (6, 8, 3), (6, 8, 4)], ids=str)
def test_frames_are_decoded_to_the_memory_that_was_chosen(shape, allocated):
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    rgb = as_rgb(pixels)
    assert rgb is allocated[0]
    expected = (
        pixels.reshape(6, 8, 1).repeat(3, axis=2) if pixels.size == 48 else pixels[..., 2::-1]
    )
    assert (rgb == expected).all()


def test_a_copy_for_the_display_lies_there_too(allocated):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    copy = for_display(Frame(pixels), (20, 20))
    assert copy.pixels is allocated[0]
    assert (copy.pixels == cv2.resize(pixels, (20, 13), interpolation=cv2.INTER_AREA)).all()


def test_the_engine_chooses_for_its_device(allocated):
    Engine(Catalog.default()).configure(EngineConfig(style="candy", device="cpu"))
    assert frame_memory._allocate is pageable
    assert new_pixels(4, 6).shape == (4, 6, 3)


@pytest.mark.gpu
def test_on_a_gpu_frames_are_decoded_to_pinned_memory(monkeypatch):
    monkeypatch.setattr(frame_memory, "_allocate", pageable)
    Engine(Catalog.default()).configure(EngineConfig(style="candy", device="cuda"))
    assert frame_memory._allocate is new_pinned_pixels
    rgb = as_rgb(np.zeros((6, 8, 3), np.uint8))
    assert rgb is not None
    assert pinned_tensor(rgb) is not None
