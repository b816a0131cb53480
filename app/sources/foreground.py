"""The foreground of the animated scene (shore to balloon), drawn once with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.sources.layers import Layer, random_ridge, to_bytes, trimmed
from utils.opencv import cv2

SUPERSAMPLING = 3  # factor at which sprites are drawn before they are scaled down


def shore(width: int, height: int) -> Layer:
    """Draw the near shore: a meadow with grass, poppies and reeds, and a birch at the left."""
    fine = 2
    w, h = width * fine, height * fine
    paint = np.zeros((h, w, 3), np.uint8)
    mask = np.zeros((h, w), np.uint8)
    random = np.random.default_rng(51)
    bank = h * (
        0.93 - 0.10 * (1 - np.linspace(0, 1, w) ** 0.6) + 0.02 * (random_ridge(w, 1.7, 52) - 0.5)
    )
    bank += h * 0.03 * np.sin(np.linspace(0.3, 5.2, w))
    outline = np.stack([np.arange(w), bank], axis=1).round().astype(np.int32)
    ground = np.concatenate([outline, [[w - 1, h - 1], [0, h - 1]]]).astype(np.int32)
    cv2.fillPoly(paint, [ground], (40, 66, 34))
    cv2.fillPoly(mask, [ground], 255)

    def stroke(points: NDArray[np.float64], color: NDArray[np.float64], thick: float) -> None:
        corners = [np.rint(points * 16).astype(np.int32)]
        width_px = max(1, round(thick))
        cv2.polylines(paint, corners, False, color.tolist(), width_px, cv2.LINE_AA, 4)
        cv2.polylines(mask, corners, False, 255, width_px, cv2.LINE_AA, 4)

    def dab(
        x: float, y: float, a: float, b: float, turn: float, color: NDArray[np.float64]
    ) -> None:
        center, axes = (round(x * 16), round(y * 16)), (round(a * 16), round(b * 16))
        cv2.ellipse(paint, center, axes, turn, 0, 360, color.tolist(), -1, cv2.LINE_8, 4)
        cv2.ellipse(mask, center, axes, turn, 0, 360, 255, -1, cv2.LINE_8, 4)

    greens = np.array([[46, 84, 40], [84, 120, 46], [132, 148, 58], [180, 172, 84], [60, 104, 70]])
    for near in np.sort(random.random(5200)):
        x = random.random() * w
        y = bank[int(x)] + (h * 1.02 - bank[int(x)]) * near
        size = h * (0.020 + 0.035 * near) * random.uniform(0.6, 1.4)
        lean = size * random.normal(0.12, 0.28)
        blade = np.array([[x, y], [x + lean * 0.35, y - size * 0.6], [x + lean, y - size]])
        color = greens[random.integers(len(greens))] * random.uniform(0.55, 1.15)
        stroke(blade, color, 1 + h * 0.0011 * near)
    petals = np.array(
        [[224, 62, 44], [240, 96, 52], [250, 214, 92], [240, 236, 226], [176, 108, 190]]
    )
    for near in np.sort(random.random(260)):
        x = random.random() * w
        y = bank[int(x)] + (h * 1.0 - bank[int(x)]) * near - h * 0.012
        size = h * (0.0022 + 0.0052 * near) * random.uniform(0.7, 1.3)
        color = petals[random.integers(len(petals))] * random.uniform(0.85, 1.0)
        for turn in range(0, 360, 72):
            angle = np.radians(turn)
            dab(
                x + size * np.cos(angle),
                y + size * 0.7 * np.sin(angle),
                size,
                size * 0.7,
                turn,
                color,
            )
        dab(x, y, size * 0.5, size * 0.4, 0, np.array([70.0, 48, 30]))
    for _ in range(46):  # reeds at the water's edge
        x = w * (0.70 + 0.30 * random.random() ** 0.7)
        y = bank[int(min(x, w - 1))] + h * 0.02
        size = h * random.uniform(0.09, 0.20)
        lean = size * random.normal(0.05, 0.10)
        stalk = np.array([[x, y], [x + lean * 0.3, y - size * 0.5], [x + lean, y - size]])
        stroke(stalk, np.array([92.0, 104, 48]) * random.uniform(0.6, 1.1), h * 0.002)
        if random.random() < 0.45:
            dab(
                x + lean,
                y - size,
                h * 0.0035,
                h * 0.017,
                lean / size * 60,
                np.array([84.0, 54, 32]),
            )
    _birch(w, h, stroke, dab)
    colors = cv2.resize(paint, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    cover = cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    # `paint` is black where nothing was painted, so scaling it down premultiplied it.
    return trimmed(Layer(to_bytes(colors), to_bytes(255 * (1 - np.repeat(cover[..., None], 3, 2)))))


def _birch(w: int, h: int, stroke: Callable[..., None], dab: Callable[..., None]) -> None:
    """Draw a birch on the left: a bent trunk, branches, and leaves lit from the right."""
    random = np.random.default_rng(61)
    foot = np.array([w * 0.085, h * 0.93])
    bend = np.linspace(0, 1, 40)[:, None]
    trunk = foot + np.hstack([w * (0.035 * bend + 0.012 * np.sin(bend * 5)), -h * 0.80 * bend])
    for i in range(len(trunk) - 1):
        thick = h * (0.030 * (1 - bend[i, 0]) + 0.005)
        stroke(trunk[i : i + 2], np.array([88.0, 74, 66]), thick)
        edge = trunk[i : i + 2] + np.array([thick * 0.22, 0])
        stroke(edge, np.array([232.0, 210, 180]), thick * 0.42)
    for i in range(1, 30):  # the dark marks of the bark
        thick = h * (0.030 * (1 - bend[i, 0]) + 0.005)
        x, y = trunk[i] + random.normal(0, 1, 2) * thick * 0.2
        dab(x, y, thick * 0.38, thick * 0.10, random.normal(0, 8), np.array([58.0, 46, 42]))
    tips = []
    for i in np.linspace(12, 39, 22).astype(int):
        side = -1 if random.random() < 0.42 else 1
        length = w * random.uniform(0.05, 0.15) * (1.15 - 0.5 * bend[i, 0])
        reach = np.linspace(0, 1, 12)[:, None]
        droop = h * (-0.10 * reach + random.uniform(0.08, 0.22) * reach**2)
        branch = trunk[i] + np.hstack([side * length * reach, droop])
        stroke(branch, np.array([74.0, 58, 50]), h * 0.0032)
        tips += [branch[k] for k in range(3, 12)]
    tones = np.array([[38, 74, 40], [66, 106, 44], [108, 140, 52], [168, 172, 62], [226, 198, 84]])
    for far in np.linspace(0, 1, 8500):  # from back (shaded) to front
        hub = tips[random.integers(len(tips))]
        x, y = hub + random.normal(0, 1, 2) * np.array([w * 0.017, h * 0.030])
        light = np.clip(0.45 + (x - hub[0]) / (w * 0.05) - (y - hub[1]) / (h * 0.14), 0, 0.999)
        tone = tones[
            int(
                np.clip(light * (0.35 + 0.65 * far) + random.normal(0, 0.14), 0, 0.999) * len(tones)
            )
        ]
        size = h * random.uniform(0.0034, 0.0066)
        dab(x, y, size, size * 0.5, random.uniform(0, 180), tone * random.uniform(0.85, 1.1))


def boat(height: int) -> Layer:
    """Draw a sailing boat with its bow to the right; the layer's lower edge is the waterline."""
    h = height * 0.150
    canvas = _Canvas(round(h * 0.95), round(h))
    canvas.fill([(0.47, 0.02), (0.49, 0.02), (0.49, 0.86), (0.47, 0.86)], (96, 66, 46))
    canvas.fill([(0.46, 0.05), (0.46, 0.76), (0.08, 0.76), (0.22, 0.46)], (250, 240, 222))
    canvas.fill([(0.46, 0.05), (0.46, 0.76), (0.34, 0.76), (0.38, 0.40)], (226, 200, 176))
    canvas.fill([(0.46, 0.30), (0.46, 0.36), (0.18, 0.58), (0.20, 0.52)], (206, 70, 52))
    canvas.fill([(0.50, 0.10), (0.88, 0.78), (0.50, 0.74)], (255, 250, 238))
    canvas.fill([(0.50, 0.10), (0.60, 0.76), (0.50, 0.74)], (234, 212, 188))
    canvas.fill([(0.03, 0.83), (0.97, 0.80), (0.86, 0.99), (0.14, 0.99)], (138, 54, 40))
    canvas.fill([(0.03, 0.83), (0.97, 0.80), (0.95, 0.85), (0.05, 0.87)], (240, 214, 170))
    canvas.fill([(0.10, 0.94), (0.90, 0.93), (0.86, 0.99), (0.14, 0.99)], (70, 32, 32))
    return canvas.layer()


def balloon(height: int) -> Layer:
    h = height * 0.205
    canvas = _Canvas(round(h * 0.74), round(h))
    stripes = [(214, 62, 52), (246, 186, 70), (238, 232, 214), (58, 128, 150)]
    turns = np.linspace(-np.pi / 2, np.pi / 2, 10)
    height_at = np.linspace(0, 1, 30)
    widest = 0.42
    dome = np.sqrt(np.clip(1 - ((height_at - widest) / widest) ** 2, 0, 1))
    skirt = 0.16 + 0.84 * np.cos(np.pi / 2 * (height_at - widest) / (1 - widest)) ** 0.9
    bulge = np.where(height_at < widest, dome, skirt)
    for i in range(len(turns) - 1):
        left, right = np.sin(turns[i]), np.sin(turns[i + 1])
        side = [
            (0.5 + 0.47 * left * b, 0.02 + 0.72 * t) for t, b in zip(height_at, bulge, strict=True)
        ]
        side += [
            (0.5 + 0.47 * right * b, 0.02 + 0.72 * t)
            for t, b in zip(height_at[::-1], bulge[::-1], strict=True)
        ]
        shade = 0.66 + 0.36 * (i + 1) / (len(turns) - 1)
        color = tuple(min(255.0, channel * shade) for channel in stripes[i % len(stripes)])
        canvas.fill(side, color)
    for x in (0.42, 0.47, 0.53, 0.58):
        canvas.fill([(x, 0.73), (x + 0.008, 0.73), (0.5 + (x - 0.5) * 0.8, 0.88)], (80, 60, 50))
    canvas.fill([(0.42, 0.87), (0.58, 0.87), (0.56, 0.985), (0.44, 0.985)], (128, 84, 46))
    canvas.fill([(0.41, 0.86), (0.59, 0.86), (0.59, 0.885), (0.41, 0.885)], (186, 134, 78))
    return canvas.layer()


class _Canvas:
    """A canvas for polygons in coordinates of 0-1, with supersampling."""

    def __init__(self, width: int, height: int) -> None:
        self._size = (max(width, 2), max(height, 2))
        self._paint = np.zeros(
            (self._size[1] * SUPERSAMPLING, self._size[0] * SUPERSAMPLING, 3), np.uint8
        )
        self._mask = np.zeros(self._paint.shape[:2], np.uint8)

    def fill(self, points: list[tuple[float, float]], color: tuple[float, ...]) -> None:
        scale = np.array(self._paint.shape[1::-1], np.float64) * 16
        corners = [np.rint(np.array(points) * scale).astype(np.int32)]
        cv2.fillPoly(self._paint, corners, color, cv2.LINE_8, 4)
        cv2.fillPoly(self._mask, corners, 255, cv2.LINE_8, 4)

    def layer(self) -> Layer:
        colors = cv2.resize(self._paint, self._size, interpolation=cv2.INTER_AREA)
        cover = cv2.resize(self._mask, self._size, interpolation=cv2.INTER_AREA)
        keep = np.repeat(255 - cover[..., None], 3, axis=2)
        return Layer(colors.astype(np.uint8, copy=False), keep.astype(np.uint8, copy=False))
