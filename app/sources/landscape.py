"""Draws the parts of the animated scene: a mountain lake in the late afternoon.

Every part is drawn once, with fixed random seeds, for one picture size. Colors are RGB. The colors
of a layer are premultiplied by its coverage, so that compositing is one multiplication and one
addition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from utils.opencv import cv2

Float = NDArray[np.float32]
Real = NDArray[np.floating]
Bytes = NDArray[np.uint8]

HORIZON = 0.565  # position of the horizon, as a fraction of the height
SUN = (0.685, 0.335)  # position, as fractions of width and height
SUPERSAMPLING = 3  # factor at which sprites are drawn before they are scaled down


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Pixels to composite over a picture with the top left corner at (x, y)."""

    colors: Bytes  # [h, w, 3], premultiplied by coverage
    transparency: Bytes  # [h, w, 3], 255 where the picture below is unchanged
    x: int = 0
    y: int = 0

    @classmethod
    def from_color_and_cover(cls, colors: Real, cover: Real, x: int = 0, y: int = 0) -> Layer:
        """Make a layer from colors [h, w, 3] in 0-255, not premultiplied, and coverage [h, w] in
        0-1.
        """
        cover = np.clip(cover, 0, 1)[..., None]
        keep = np.repeat(1 - cover, 3, axis=2)
        return cls(_bytes(colors * cover), _bytes(keep * 255), x, y)

    def crop(self, top: int, bottom: int, left: int, right: int) -> Layer:
        """Return the part within these rows and columns of the layer."""
        rows, columns = slice(top, bottom), slice(left, right)
        return Layer(
            np.ascontiguousarray(self.colors[rows, columns]),
            np.ascontiguousarray(self.transparency[rows, columns]),
            self.x + left,
            self.y + top,
        )

    def composite_onto(self, picture: Bytes) -> None:
        """Composite the layer over `picture` in place, clipped to it."""
        height, width = self.transparency.shape[:2]
        top, left = max(self.y, 0), max(self.x, 0)
        bottom = min(self.y + height, picture.shape[0])
        right = min(self.x + width, picture.shape[1])
        if top >= bottom or left >= right:
            return
        rows = slice(top - self.y, bottom - self.y)
        columns = slice(left - self.x, right - self.x)
        below = picture[top:bottom, left:right]
        cv2.multiply(below, self.transparency[rows, columns], below, 1 / 255)
        cv2.add(below, self.colors[rows, columns], below)


def _bytes(values: Real) -> Bytes:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def _color(*rgb: float) -> Float:
    return np.array(rgb, np.float32)


def _mix(a: Real, b: Real, share: Real) -> Float:
    """Interpolate: `a` where `share` [h, w] is 0, `b` where it is 1."""
    share = np.clip(share, 0, 1)[..., None]
    return (a * (1 - share) + b * share).astype(np.float32, copy=False)


def _ramp(stops: list[tuple[float, tuple[float, float, float]]], count: int) -> Float:
    """Colors [count, 3] interpolated between stops of (position in 0-1, color)."""
    places = [place for place, _ in stops]
    at = np.linspace(0, 1, count)
    channels = [np.interp(at, places, [color[c] for _, color in stops]) for c in range(3)]
    return np.stack(channels, axis=1).astype(np.float32)


def noise(
    height: int, width: int, smooth: float, wide: float, seed: int, most: float = 0.0
) -> Float:
    """Return tileable noise [height, width] with mean 0 and standard deviation 1.

    Args:
        height: in pixels.
        width: in pixels.
        smooth: the spectrum falls as frequency to the power -`smooth`.
        wide: features are this many times as wide as high.
        seed: of the random numbers.
        most: the spectrum falls from this many features per height on.
    """
    white = np.random.default_rng(seed).standard_normal((height, width)).astype(np.float32)
    fy = np.fft.fftfreq(height)[:, None] * height
    fx = np.fft.rfftfreq(width)[None] * width * (height / width) * wide
    frequency = np.sqrt(fy**2 + fx**2 + most**2)
    frequency[0, 0] = np.inf
    values = np.fft.irfft2(np.fft.rfft2(white) / frequency**smooth, (height, width))
    return (values / values.std()).astype(np.float32)


def sky(width: int, height: int) -> Bytes:
    """Draw the sky with the sun, down to the horizon."""
    rows = round(height * HORIZON)
    ramp = _ramp(
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
    picture = _mix(picture, _color(255, 214, 140), 0.8 * np.exp(-distance * 6.5))
    picture = _mix(picture, _color(255, 240, 196), np.exp(-((distance / 0.1) ** 2)) * 0.75)
    edge = np.clip((0.05 - distance) * height / 1.5 + 0.5, 0, 1)
    picture = _mix(picture, _color(255, 250, 228), edge)
    picture += noise(rows, width, 1.1, 4, 11)[..., None] * 2.2  # brush texture
    return _bytes(picture)


def clouds(
    width: int, height: int, cover: float, wide: float, seed: int, gold: float, thick: float
) -> tuple[Bytes, Bytes]:
    """Draw a sheet of clouds (colors, transparency) that repeats every `width` columns.

    Args:
        width: in pixels.
        height: in pixels.
        cover: fraction of the sky that is covered.
        wide: features are this many times as wide as high.
        seed: of the random numbers.
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
    shadow = _color(142, 150, 182) * (1 - gold) + _color(196, 150, 150) * gold
    light = _color(255, 250, 240) * (1 - gold) + _color(255, 226, 178) * gold
    colors = _mix(np.broadcast_to(shadow, (height, width, 3)), light, lit)
    layer = Layer.from_color_and_cover(colors, body * thick)
    return layer.colors, layer.transparency


def _ridge(width: int, smooth: float, seed: int) -> Float:
    """A random skyline [width] with values in 0-1."""
    line = noise(2, width * 2, smooth, 1.0, seed)[0, :width]
    return (line - line.min()) / (line.max() - line.min())


def mountains(width: int, height: int) -> Layer:
    """Draw two mountain chains with snow behind wooded hills, down to the horizon."""
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
        face = _mix(np.broadcast_to(rock[0], (rows, width, 3)), rock[1], lit)
        if snow:
            white = np.clip((snow * height * (0.9 + 0.5 * ribs) - depth) / (0.02 * height), 0, 1)
            shaded = np.broadcast_to(_color(128, 152, 204), face.shape)
            face = _mix(face, _mix(shaded, _color(255, 242, 228), lit * 1.15), white)
        face = _mix(face, haze[0], haze[1] + 0.6 * np.clip(depth / (0.3 * height), 0, 1) ** 1.5)
        edge = np.clip(depth + 0.5, 0, 1)
        together = edge + cover * (1 - edge)
        colors = _mix(colors, face, edge / np.maximum(together, 1e-6))
        cover = together

    ridge = _ridge(width, 1.25, 21)
    far = rows - height * (0.05 + 0.15 * ridge + 0.26 * np.exp(-(((x[0] - 0.37) / 0.12) ** 2)))
    far += height * 0.05 * (_ridge(width, 1.15, 23) - 0.5)
    chain(
        far, (_color(64, 84, 140), _color(206, 168, 160)), (_color(196, 184, 196), 0.12), 0.10, 22
    )
    near = rows - height * (0.02 + 0.10 * _ridge(width, 1.25, 24))
    near -= height * 0.15 * np.exp(-(((x[0] - 0.96) / 0.13) ** 2))
    near -= height * 0.10 * np.exp(-(((x[0] - 0.04) / 0.16) ** 2))
    chain(near, (_color(44, 70, 104), _color(178, 132, 108)), (_color(186, 164, 150), 0.1), 0.0, 25)
    hills = rows - height * (0.006 + 0.085 * _ridge(width, 1.5, 27))
    hills -= height * 0.04 * np.exp(-(((x[0] - 0.82) / 0.10) ** 2))
    chain(hills, (_color(48, 82, 66), _color(150, 152, 84)), (_color(158, 148, 112), 0.0), 0.0, 28)
    _forest(colors, cover, hills, height)
    return _trimmed(Layer.from_color_and_cover(colors, cover))


def _forest(colors: Float, cover: Float, hills: Float, height: int) -> None:
    """Draw spruces on the hills and along the shore; near ones are larger and darker."""
    rows, width = cover.shape
    random = np.random.default_rng(31)
    fine = 2
    paint = cv2.resize(colors, None, fx=fine, fy=fine, interpolation=cv2.INTER_LINEAR)
    mask = cv2.resize(cover, None, fx=fine, fy=fine, interpolation=cv2.INTER_LINEAR)
    woods = noise(64, 256, 1.3, 1.0, 32)  # clearings between them
    for near in np.sort(random.random(1500)):
        at = random.random() * width
        if woods[int(near * 40), int(at / width * 256)] < 0.1 and near < 0.93:
            continue
        ground = hills[int(at)] + (rows - hills[int(at)]) * near
        size = height * (0.012 + 0.022 * near) * random.uniform(0.55, 1.35)
        shade = _mix(
            np.broadcast_to(_color(86, 112, 92), (1, 1, 3)),
            _color(22, 48, 44),
            np.full((1, 1), near),
        )[0, 0] * random.uniform(0.8, 1.2)
        light = shade + _color(92, 74, 20) * (0.9 - 0.3 * near)
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


def _trimmed(layer: Layer) -> Layer:
    """Crop the empty margins of a layer."""
    rows = np.flatnonzero((layer.transparency < 255).any(axis=(1, 2)))
    columns = np.flatnonzero((layer.transparency < 255).any(axis=(0, 2)))
    return layer.crop(rows[0], rows[-1] + 1, columns[0], columns[-1] + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Water:
    """Maps that turn the mirrored picture into a lake; the noise maps are two widths wide, to
    slide.
    """

    x: Float  # [h, w] source position in the picture above, without waves
    y: Float
    ripple: Float  # [h, 2w] pixels to the side
    swell: Float  # [h, 2w] pixels up and down
    tint: Bytes  # [h, w, 3] multiplied with the mirrored picture
    glow: Bytes  # [h, w, 3] light of its own
    sparkle: Bytes  # [h, 2w] two copies slide against each other
    shine: Bytes  # [h, w, 3] color of a sparkle there


def water(width: int, height: int) -> Water:
    """Compute the maps of the lake, from the horizon down."""
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
    tint = _ramp([(0.0, (236, 226, 214)), (0.35, (190, 202, 212)), (1.0, (96, 138, 160))], rows)
    glow = _ramp([(0.0, (10, 8, 6)), (1.0, (4, 22, 34))], rows)
    path = np.exp(-(((x / width - SUN[0]) / (0.016 + 0.10 * near)) ** 2))
    shine = _color(255, 226, 160) * (0.28 * (1 - 0.25 * near) + 0.72 * path)[..., None]
    sparkle = _in_perspective(noise(rows * 2, width, 0.8, 18, 43), rows)
    return Water(
        x,
        np.clip(mirrored, 0, above - 1).astype(np.float32),
        np.tile(ripple.astype(np.float32), (1, 2)),
        np.tile(swell.astype(np.float32), (1, 2)),
        np.repeat(_bytes(tint)[:, None], width, axis=1),
        np.repeat(_bytes(glow)[:, None], width, axis=1),
        np.tile(_bytes(64 + 24 * sparkle), (1, 2)),
        _bytes(shine),
    )


def _in_perspective(values: Float, rows: int) -> Float:
    """Compress the noise towards the horizon."""
    height, width = values.shape
    near = (np.arange(rows) + 0.5) / rows
    at = (1 - 1 / (0.16 + near)) * rows * 0.30
    x, y = np.meshgrid(np.arange(width), np.mod(at, height - 1))
    return cv2.remap(values, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR).astype(
        np.float32
    )


def shore(width: int, height: int) -> Layer:
    """Draw the near shore: a meadow with grass, poppies and reeds, and a birch at the left."""
    fine = 2
    w, h = width * fine, height * fine
    paint = np.zeros((h, w, 3), np.uint8)
    mask = np.zeros((h, w), np.uint8)
    random = np.random.default_rng(51)
    bank = h * (0.93 - 0.10 * (1 - np.linspace(0, 1, w) ** 0.6) + 0.02 * (_ridge(w, 1.7, 52) - 0.5))
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
    return _trimmed(Layer(_bytes(colors), _bytes(255 * (1 - np.repeat(cover[..., None], 3, 2)))))


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
    """Draw a striped hot-air balloon."""
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
    """Draws polygons in coordinates of 0-1 with supersampling."""

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
