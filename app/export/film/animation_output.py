"""Animations as results of films: encoding and assembly of their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import BinaryIO

from app.export.film.animation import gif, webp
from app.export.film.animation.parts import FramesWriter, frames_in
from app.export.film.animation.timing import frame_delays
from app.export.film.codecs import QUALITIES
from app.export.film.fault import FAULTS, FilmError, named, reason, unmade
from app.export.film.info import FilmInfo, StyledFilmFrame
from app.export.film.reader import open_film
from app.export.film.segment import Encoding
from app.export.film.store import SegmentStore
from utils.files.atomic import replacing, sync
from utils.images.animation import GIF_UNIT, WEBP_UNIT
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

_Write = Callable[[BinaryIO, tuple[int, int], int, Iterable[tuple[bytes, int]]], None]
# Streams that an animation leaves out, by the kind of stream in the film.
_LEFT_OUT = {
    ("audio",): mark("its sound is left out, since {format} files hold only pictures"),
    ("subtitle",): mark("its subtitles are left out, since {format} files hold only pictures"),
    ("audio", "subtitle"): mark(
        "its sound and subtitles are left out, since {format} files hold only pictures"
    ),
}


@dataclass(frozen=True, slots=True)
class AnimationFormat:
    """A file format.

    Attributes:
        coded: Encoders of a frame, one for each of QUALITIES.
        unit: Unit of the delays, in seconds.
        least: The shortest delay, in units, that browsers honor.
        most_side: Largest side in pixels.
    """

    title: str
    coded: Mapping[str, Callable[[StyledFilmFrame], bytes]]
    write: _Write
    unit: Fraction
    least: int
    most_side: int
    soft: bool


_FEW = partial(gif.coded_frame, colors=64, dithered=False)
_MANY = partial(gif.coded_frame, colors=256, dithered=True)
FORMATS: dict[str, AnimationFormat] = {
    "gif": AnimationFormat(
        "GIF",
        dict(zip(QUALITIES, (_FEW, _MANY, _MANY), strict=True)),
        gif.write_file,
        GIF_UNIT,
        2,
        gif.MOST_SIDE,
        False,
    ),
    "webp": AnimationFormat(
        "WebP",
        {
            quality: partial(webp.coded_frame, quality=number)
            for quality, number in zip(QUALITIES, (60, 80, 95), strict=True)
        },
        webp.write_file,
        WEBP_UNIT,
        11,
        webp.MOST_SIDE,
        True,
    ),
}


class AnimationOutput:
    """An Output that makes an animation.

    Raises:
        FilmError: If a side of the film exceeds the format's limit in pixels.
    """

    def __init__(self, info: FilmInfo, encoding: Encoding, key: str) -> None:
        self._info, self._encoding, self._format = info, encoding, FORMATS[key]
        self._coded = self._format.coded[encoding.quality]
        self._soft = False  # whether a frame has soft edges
        if max(encoding.width, encoding.height) > self._format.most_side:
            raise FilmError(
                tr(
                    "{file} is too large for {format}, which allows {n} pixels a side",
                    file=named(info.path),
                    format=self._format.title,
                    n=self._format.most_side,
                )
            )

    def coded(self, frame: StyledFilmFrame) -> bytes:
        if frame.alpha is not None and not self._soft:
            self._soft = bool(((frame.alpha > 0) & (frame.alpha < 255)).any())
        return self._coded(frame)

    def part(self, path: Path) -> FramesWriter:
        return FramesWriter(path)

    def assemble(self, store: SegmentStore, target: Path) -> tuple[str, ...]:
        info, kind = self._info, self._format
        shown = [
            (segment.start + time) * info.time_base
            for segment in store.segments
            for time in segment.times
        ]
        end = shown[-1] + store.segments[-1].duration * info.time_base
        same = info.animation is not None and info.animation.unit == kind.unit
        delays = frame_delays(shown, end, kind.unit, 1 if same else kind.least)
        plays = info.animation.plays if info.animation else 0
        size = self._encoding.width, self._encoding.height
        frames = (frame for part in store.segments for frame in frames_in(store.folder / part.name))
        kept = (
            (frame, delay) for frame, delay in zip(frames, delays, strict=True) if delay is not None
        )
        try:
            with replacing(target) as temporary:
                with temporary.open("wb") as file:
                    kind.write(file, size, plays, kept)
                sync(temporary)
        except FAULTS as exc:
            raise unmade(target, info.path, reason(exc)) from exc
        except FilmError as exc:
            raise unmade(target, info.path, str(exc)) from exc
        return tuple(self._remarks(delays))

    def _remarks(self, delays: list[int | None]) -> Iterator[str]:
        info, title = self._info, self._format.title
        if lost := delays.count(None):
            most = 1 / (self._format.least * self._format.unit)
            yield tr(
                "{lost} of its {n} frames are left out, since {format} files show at most {most} a "
                "second",
                lost=number(lost),
                n=number(len(delays)),
                format=title,
                most=int(most),
            )
        if self._soft and not self._format.soft:
            yield tr(
                "its half-transparent pixels became fully transparent or opaque, as in any "
                "{format} file",
                format=title,
            )
        if info.aspect != 1:
            yield tr(
                "its pixels became square, since {format} files have only square pixels",
                format=title,
            )
        if info.animation is None:
            with open_film(info.path) as (film, _):
                kinds = {stream.type for stream in film.streams}
            if not info.sound:
                kinds.discard("audio")
            if kept_out := tuple(kind for kind in ("audio", "subtitle") if kind in kinds):
                yield tr(_LEFT_OUT[kept_out], format=title)
