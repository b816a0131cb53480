"""The background of the animated scene (sky to lake), drawn once per size with fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.sources.layers import (
    Bytes,
    Float,
    Layer,
    color_ramp,
    interpolate,
    noise,
    random_ridge,
    rgb,
    to_bytes,
    trimmed,
)
from utils.opencv import cv2

HORIZON = 0.565  # position of the horizon, as a fraction of the height
SUN = (0.685, 0.335)  # position, as fractions of width and height


def sky(width: int, height: int) -> Bytes:
    rows = round(height * HORIZON)
    ramp = color_ramp(
        [
            (0.0, (44, 92, 158)),
            (0.3, (86, 146, 192)),
            (0.55, (163, 190, 196)),
            (0.75, (245, 208, 160)),
            (1.0, (252, 178, 112)),
        ],
        rows,
    )
    picture = np.repeat(ramp[:, None], width, axis=1)
    y, x = np.mgrid[:rows, :width].astype(np.float32)
    distance = np.hypot(x - SUN[0] * width, y - SUN[1] * height) / height
    picture = interpolate(picture, rgb(255, 214, 140), 0.8 * np.exp(-distance * 6.5))
    picture = interpolate(picture, rgb(255, 240, 196), np.exp(-((distance / 0.1) ** 2)) * 0.75)
    edge = np.clip((0.05 - distance) * height / 1.5 + 0.5, 0, 1)
    picture = interpolate(picture, rgb(255, 250, 228), edge)
    picture += noise(rows, width, 1.1, 4, 11)[..., None] * 2.2  # brush texture
    return to_bytes(picture)


def clouds(
    width: int, height: int, cover: float, wide: float, seed: int, gold: float, thick: float
) -> tuple[Bytes, Bytes]:
    """Draw a sheet of clouds (colors, transparency) that repeats every `width` columns.

    Args:
        cover: fraction of the sky that is covered.
        wide: ratio of the features' width to their height.
        gold: how strongly the sun colors them, 0 to 1.
        thick: coverage of the densest parts, 0 to 1.
    """
    shape = noise(height, width, 2.3, wide, seed, 2.5) + 0.13 * noise(
        height, width, 1.3, 1.3, seed + 1
    )
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None]
    shape = shape - np.quantile(shape, 1 - cover) - 1.4 * (2 * np.abs(y - 0.45)) ** 3
    body = np.clip(shape / 0.5, 0, 1)
    body = body * body * (3 - 2 * body)
    # Lit from below right, where the sun is: brighter where the cloud thins out that way.
    step = max(2, height // 36)
    lit = shape - np.roll(np.roll(shape, -step, axis=0), -step * 2, axis=1)
    lit = np.clip(0.5 + 0.55 * lit, 0, 1)
    shadow = rgb(142, 150, 182) * (1 - gold) + rgb(196, 150, 150) * gold
    light = rgb(255, 250, 240) * (1 - gold) + rgb(255, 226, 178) * gold
    colors = interpolate(np.broadcast_to(shadow, (height, width, 3)), light, lit)
    layer = Layer.from_color_and_cover(colors, body * thick)
    return layer.colors, layer.transparency


def mountains(width: int, height: int) -> Layer:
    rows = round(height * HORIZON)
    colors = np.zeros((rows, width, 3), np.float32)
    cover = np.zeros((rows, width), np.float32)
    y = np.arange(rows, dtype=np.float32)[:, None]
    x = np.arange(width, dtype=np.float32)[None] / width

    def chain(
        skyline: Float,  # [width] rows
        rock: tuple[Float, Float],  # in shade, in light
        haze: tuple[Float, float],  # its color, its share at the top
        snow: float,  # how far down from the skyline, of the height
        seed: int,
    ) -> None:
        nonlocal colors, cover
        depth = y - skyline
        # Ribs of rock run down from the peaks, to the left of a peak leftwards.
        slope = np.tanh(4 * np.gradient(cv2.GaussianBlur(skyline[None], (0, 0), height / 40)[0]))
        from_x = np.mod(x * width - 0.75 * slope * np.clip(depth, 0, None), width - 1)
        ribs = 1 - np.abs(noise(rows, width, 1.55, 0.9, seed))
        ribs = cv2.remap(ribs, from_x, np.broadcast_to(y, from_x.shape).copy(), cv2.INTER_LINEAR)
        ribs += 0.12 * noise(rows, width, 0.9, 1.0, seed + 100)
        step = max(1, height // 240)
        facing = np.roll(ribs, -step, axis=1) - np.roll(ribs, step, axis=1)
        lit = np.clip(0.42 - 0.34 * facing / facing.std(), 0, 1)
        face = interpolate(np.broadcast_to(rock[0], (rows, width, 3)), rock[1], lit)
        if snow:
            white = np.clip((snow * height * (0.9 + 0.5 * ribs) - depth) / (0.02 * height), 0, 1)
            shaded = np.broadcast_to(rgb(128, 152, 204), face.shape)
            face = interpolate(face, interpolate(shaded, rgb(255, 242, 228), lit * 1.15), white)
        face = interpolate(
            face, haze[0], haze[1] + 0.6 * np.clip(depth / (0.3 * height), 0, 1) ** 1.5
        )
        edge = np.clip(depth + 0.5, 0, 1)
        together = edge + cover * (1 - edge)
        colors = interpolate(colors, face, edge / np.maximum(together, 1e-6))
        cover = together

    ridge = random_ridge(width, 1.25, 21)
    far = rows - height * (0.05 + 0.15 * ridge + 0.26 * np.exp(-(((x[0] - 0.37) / 0.12) ** 2)))
    far += height * 0.05 * (random_ridge(width, 1.15, 23) - 0.5)
    chain(far, (rgb(64, 84, 140), rgb(206, 168, 160)), (rgb(196, 184, 196), 0.12), 0.10, 22)
    near = rows - height * (0.02 + 0.10 * random_ridge(width, 1.25, 24))
    near -= height * 0.15 * np.exp(-(((x[0] - 0.96) / 0.13) ** 2))
    near -= height * 0.10 * np.exp(-(((x[0] - 0.04) / 0.16) ** 2))
    chain(near, (rgb(44, 70, 104), rgb(178, 132, 108)), (rgb(186, 164, 150), 0.1), 0.0, 25)
    hills = rows - height * (0.006 + 0.085 * random_ridge(width, 1.5, 27))
    hills -= height * 0.04 * np.exp(-(((x[0] - 0.82) / 0.10) ** 2))
    chain(hills, (rgb(48, 82, 66), rgb(150, 152, 84)), (rgb(158, 148, 112), 0.0), 0.0, 28)
    _forest(colors, cover, hills, height)
    return trimmed(Layer.from_color_and_cover(colors, cover))


def _forest(colors: Float, cover: Float, hills: Float, height: int) -> None:
    """Draw spruces on the hills and along the shore; near ones are larger and darker."""
    rows, width = cover.shape
    random = np.random.default_rng(31)
    fine = 2
    paint = cv2.resize(colors, None, fx=fine, fy=fine, interpolation=cv2.INTER_LINEAR)
    mask = cv2.resize(cover, None, fx=fine, fy=fine, interpolation=cv2.INTER_LINEAR)
    woods = noise(64, 256, 1.3, 1.0, 32)  # clearings between the trees
    for near in np.sort(random.random(1500)):
        at = random.random() * width
        if woods[int(near * 40), int(at / width * 256)] < 0.1 and near < 0.93:
            continue
        ground = hills[int(at)] + (rows - hills[int(at)]) * near
        size = height * (0.012 + 0.022 * near) * random.uniform(0.55, 1.35)
        shade = interpolate(
            np.broadcast_to(rgb(86, 112, 92), (1, 1, 3)),
            rgb(22, 48, 44),
            np.full((1, 1), near),
        )[0, 0] * random.uniform(0.8, 1.2)
        light = shade + rgb(92, 74, 20) * (0.9 - 0.3 * near)
        for side, color in ((-1, shade), (1, light)):
            points = [(at, ground - size)]
            for tier in range(1, 4):
                points.append((at + side * size * 0.10 * tier, ground - size * (1 - tier / 3.2)))
                points.append((at + side * size * 0.05 * tier, ground - size * (1 - tier / 3)))
            points.append((at, ground))
            corners = np.rint(np.array(points) * fine * 16).astype(np.int32)
            cv2.fillPoly(paint, [corners], color.tolist(), cv2.LINE_8, 4)
            cv2.fillPoly(mask, [corners], 1.0, cv2.LINE_8, 4)
    cv2.resize(paint, (width, rows), colors, interpolation=cv2.INTER_AREA)
    cv2.resize(mask, (width, rows), cover, interpolation=cv2.INTER_AREA)


@dataclass(frozen=True, slots=True, eq=False)
class Water:
    """Maps that turn the mirrored picture into a lake; noise maps are two widths wide, to slide."""

    x: Float  # [h, w] source position in the picture above, without waves
    y: Float
    ripple: Float  # [h, 2w] pixels to the side
    swell: Float  # [h, 2w] pixels up and down
    tint: Bytes  # [h, w, 3] multiplied with the mirrored picture
    glow: Bytes  # [h, w, 3] its own light
    sparkle: Bytes  # [h, 2w] two copies slide against each other
    shine: Bytes  # [h, w, 3] color of a sparkle there


def water(width: int, height: int) -> Water:
    above = round(height * HORIZON)
    rows = height - above
    near = (np.arange(rows, dtype=np.float32)[:, None] + 0.5) / rows  # 0 at the horizon, 1 here
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(rows, dtype=np.float32))
    # At this flat angle, the mirror image is slightly compressed.
    mirrored = above - 1 - y * (above - 1) / rows * 0.98
    reach = 0.15 + near**1.2
    waves = _in_perspective(noise(rows * 2, width, 1.5, 20, 41), rows)
    chop = _in_perspective(noise(rows * 2, width, 1.1, 22, 42), rows)
    ripple = (waves + 0.35 * chop) * reach * height * 0.0085
    swell = (0.6 * waves + chop) * reach * height * 0.0075
    tint = color_ramp(
        [(0.0, (236, 226, 214)), (0.35, (190, 202, 212)), (1.0, (96, 138, 160))], rows
    )
    glow = color_ramp([(0.0, (10, 8, 6)), (1.0, (4, 22, 34))], rows)
    path = np.exp(-(((x / width - SUN[0]) / (0.016 + 0.10 * near)) ** 2))
    shine = rgb(255, 226, 160) * (0.28 * (1 - 0.25 * near) + 0.72 * path)[..., None]
    sparkle = _in_perspective(noise(rows * 2, width, 0.8, 18, 43), rows)
    return Water(
        x,
        np.clip(mirrored, 0, above - 1).astype(np.float32),
        np.tile(ripple.astype(np.float32), (1, 2)),
        np.tile(swell.astype(np.float32), (1, 2)),
        np.repeat(to_bytes(tint)[:, None], width, axis=1),
        np.repeat(to_bytes(glow)[:, None], width, axis=1),
        np.tile(to_bytes(64 + 24 * sparkle), (1, 2)),
        to_bytes(shine),
    )


def _in_perspective(values: Float, rows: int) -> Float:
    height, width = values.shape
    near = (np.arange(rows) + 0.5) / rows
    at = (1 - 1 / (0.16 + near)) * rows * 0.30
    x, y = np.meshgrid(np.arange(width), np.mod(at, height - 1))
    return cv2.remap(values, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR).astype(
        np.float32
    )
