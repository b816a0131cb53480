"""Films of a person who moves in front of a still scene, with the true mattes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from utils.images.reading import read_pixels
from utils.opencv import cv2

Pixels = NDArray[np.uint8]  # [H, W, 3]
HEIGHT, WIDTH = 360, 640
STYLES = Path(__file__).parents[4] / "assets" / "styles"


@cache
def room() -> Pixels:
    return _picture("wreck")


def _picture(style: str) -> Pixels:
    """Return the thumbnail of a style in the size of a film."""
    pixels = read_pixels(STYLES / style / "thumbnail.png")
    scale = max(HEIGHT / pixels.shape[0], WIDTH / pixels.shape[1])
    how = cv2.INTER_CUBIC
    large = np.asarray(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=how), np.uint8)
    return np.ascontiguousarray(large[:HEIGHT, :WIDTH])


@cache
def clothes() -> Pixels:
    """Return something to wear that looks like no part of the room."""
    return np.ascontiguousarray(_picture("candy")[::-1, ::-1])


def noisy(picture: NDArray[np.floating], seed: int, noise: float = 2.0) -> Pixels:
    """Return a picture as a camera sees it."""
    rough = np.random.default_rng(seed).standard_normal(picture.shape) * noise
    return (picture + rough).clip(0, 255).round().astype(np.uint8)


def empty(count: int) -> list[Pixels]:
    """Return frames of the room without a person."""
    return [noisy(room().astype(float), 1000 + n) for n in range(count)]


def person_at(x: float, y: float = 240) -> NDArray[np.float32]:
    """Return the true matte, [H, W], of a person with the neck at a pixel."""
    matte = np.zeros((HEIGHT, WIDTH), np.uint8)
    at, body = (round(16 * x), round(16 * (y - 90))), (round(16 * x), round(16 * (y + 96)))
    cv2.ellipse(matte, at, (16 * 44, 16 * 60), 0, 0, 360, 255, -1, cv2.LINE_AA, 4)
    cv2.ellipse(matte, body, (16 * 110, 16 * 130), 0, 0, 360, 255, -1, cv2.LINE_AA, 4)
    return np.asarray(matte / 255, np.float32)


def seen(matte: NDArray[np.float32], seed: int, light: float = 1.0, shadow: float = 0.0) -> Pixels:
    """Return the frame of a person in the room.

    Args:
        light: Of the frame, as a multiple of the empty room's.
        shadow: The share of light that the person takes from the wall behind.
    """
    cast = cv2.GaussianBlur(np.roll(matte, 40, 1), (0, 0), 12)
    wall = room() * (1 - shadow * cast[..., None])
    frame = wall + matte[..., None] * (clothes() - wall)
    return noisy(frame * light, seed)


def walk(count: int, **light: float) -> Iterator[tuple[Pixels, NDArray[np.float32]]]:
    """Yield frames of a person who walks to and fro, with their true mattes."""
    for n in range(count):
        matte = person_at(WIDTH / 2 + 120 * np.sin(n / 6), 240 + 6 * np.sin(n / 4))
        yield seen(matte, n, **light), matte


def overlap(found: NDArray[np.float32], true: NDArray[np.float32]) -> float:
    """Return the intersection over union of two mattes."""
    return float(np.minimum(found, true).sum() / np.maximum(found, true).sum())
