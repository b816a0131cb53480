"""Frames are uploaded from their own memory if a GPU can read it, else from a copy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.inference import host_memory
from models.inference.host_memory import new_pinned_pixels, pinned_like, pinned_tensor, upload


def test_the_memory_of_large_pictures_is_not_pinned():
    large = torch.zeros(1, dtype=torch.uint8).expand(2161, 3840, 3)
    buffer = pinned_like(large)
    assert (buffer.shape, buffer.dtype) == (large.shape, torch.uint8)
    assert not buffer.is_pinned()
    pixels = new_pinned_pixels(2161, 3840)
    assert (pixels.shape, pixels.dtype) == ((2161, 3840, 3), np.uint8)
    assert pinned_tensor(pixels) is None


@pytest.fixture
def pinned(monkeypatch):
    """Return memory that counts as pinned, without a GPU."""
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda _self: True)
    return torch.arange(4 * 5 * 3, dtype=torch.uint8).view(4, 5, 3)


def test_only_the_whole_of_pinned_memory_is_uploaded_from_there(pinned):
    pixels = pinned.numpy()
    found = pinned_tensor(pixels)
    assert found is not None
    assert found.data_ptr() == pinned.data_ptr()
    assert pinned_tensor(pixels[1:]) is None
    assert pinned_tensor(pixels.transpose(1, 0, 2)) is None
    assert pinned_tensor(pixels.copy()) is None
    staging, frame = torch.zeros(2, 4, 5, 3, dtype=torch.uint8)
    upload(pixels, staging, frame)
    assert (frame == pinned).all()
    assert not staging.any()


def test_a_frame_elsewhere_is_copied_first():
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    staging, frame = torch.zeros(2, 4, 5, 3, dtype=torch.uint8)
    upload(pixels, staging, frame)
    assert (frame.numpy() == pixels).all()
    assert (staging.numpy() == pixels).all()


@pytest.mark.gpu
def test_on_a_gpu_new_pixels_are_pinned_and_not_reused_before_their_upload():
    height, width = 720, 1280
    assert 3 * height * width <= host_memory.MOST_PINNED
    frames = [torch.zeros(height, width, 3, dtype=torch.uint8, device="cuda") for _ in range(40)]
    staging = torch.zeros(height, width, 3, dtype=torch.uint8)
    large = torch.randn(4096, 4096, device="cuda")
    for number, frame in enumerate(frames):
        pixels = new_pinned_pixels(height, width)
        assert pinned_tensor(pixels) is not None
        pixels[...] = number
        large = (large @ large).clamp(-1, 1)  # the uploads wait
        upload(pixels, staging, frame)
        del pixels
    assert all((frame == number).all() for number, frame in enumerate(frames))
    assert not staging.any()
