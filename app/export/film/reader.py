"""Readers of films: their properties, and every frame upright in RGB with its exact time."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from app.export.film.animation.reading import animation_frames, animation_info
from app.export.film.fault import FAULTS, FilmError, named, reason
from app.export.film.info import MOST_PIXELS, FilmFrame, FilmInfo, FilmReading
from app.export.film.threads.ahead import mapped_ahead
from app.film_frames.color import ColorError, Colors, colors_of
from app.film_frames.converter import Converter
from app.film_frames.decoding import decoded
from app.film_frames.extent import frame_rate, length_s, shown_frames
from app.film_frames.orientation import orientation_of
from app.film_frames.streams import moving_picture
from app.film_frames.transparency import may_be_transparent
from app.frame import Frame
from utils.files.regular import check_regular
from utils.images.animation import read_animation
from utils.pyav import av
from utils.translation.texts import tr


@contextmanager
def open_film(path: Path) -> Generator[tuple[av.container.InputContainer, av.VideoStream]]:
    """Open a film and its picture, for one thread.

    Raises:
        FilmError: If the file has no moving picture.
        av.error.FFmpegError: If FFmpeg cannot open the file.
    """
    # Absolute, because FFmpeg reads the part before the colon in "12:30.mp4" as a protocol.
    with av.open(str(path.absolute())) as container:
        yield container, _video(container, path)


def film_info(path: Path) -> FilmInfo:
    """Open a film or an animation and decode its first frame.

    Raises:
        FilmError: If the file cannot be read.
    """
    try:
        check_regular(path)  # a pipe could block forever
        if animation := read_animation(path):
            return animation_info(path, animation)
        with open_film(path) as (container, stream):
            shown = shown_frames(container, stream)
        with open_film(path) as (container, stream):
            frame = next(decoded(container, stream, FilmReading()), None)
            if frame is None:
                raise FilmError(
                    tr("{file} is damaged: no frame of it can be decoded", file=named(path))
                )
            if frame.width * frame.height > MOST_PIXELS:
                raise FilmError(
                    tr(
                        "{file} has frames of {width}x{height} pixels, too large for a film",
                        file=named(path),
                        width=frame.width,
                        height=frame.height,
                    )
                )
            try:
                colors = colors_of(frame)
            except ColorError as exc:
                raise FilmError(
                    tr("{file} cannot be read: {fault}", file=named(path), fault=exc)
                ) from exc
            return _info(path, container, stream, frame, colors, shown)
    except FAULTS as exc:
        raise FilmError(
            tr("{file} cannot be read as a film: {fault}", file=named(path), fault=reason(exc))
        ) from exc


def _info(
    path: Path,
    container: av.container.InputContainer,
    stream: av.VideoStream,
    frame: av.VideoFrame,
    colors: Colors,
    shown: int,
) -> FilmInfo:
    turn = orientation_of(frame)
    rate = frame_rate(container, stream)
    base = stream.time_base or 1 / rate
    seconds = length_s(container, stream)
    timed = seconds > 0
    if not seconds and container.duration:
        seconds = container.duration / 1e6
    aspect = stream.sample_aspect_ratio or Fraction(1)
    if turn.transposed:
        aspect = 1 / aspect
    remarks: list[str] = []
    if colors.hdr:
        remarks.append(tr("it is HDR: its colors are painted as they are stored, in 8 bits"))
    if may_be_transparent(frame):
        remarks.append(tr("its transparency is not kept"))
    if frame.interlaced_frame:
        remarks.append(tr("it is interlaced: both fields of a frame are painted together"))
    return FilmInfo(
        path,
        *turn.size(frame.width, frame.height),
        rate,
        base,
        seconds,
        shown or round(seconds * rate),
        shown > 0,
        aspect,
        colors,
        turn,
        tuple(remarks),
        timed=timed,
        start=stream.start_time or 0,
        ticking=container.format.name == "avi",
    )


def read_frames(
    info: FilmInfo, reading: FilmReading, after: int | None = None, until: int | None = None
) -> Generator[FilmFrame]:
    """Read the frames of a film, or of its span. One thread must use and close the generator.

    Args:
        reading: Receives faults; reading continues after a damaged packet.
        after: Yield only frames later than this time, in the film's time base; None for all.
        until: Yield only frames earlier than this time; None for all.

    Yields:
        Frames in the order of their times, which increase strictly.

    Raises:
        FilmError: If the film can no longer be opened.
    """
    if info.span is not None:
        begin, end = info.span.begin - 1, info.span.end
        after = begin if after is None else max(after, begin)
        until = end if until is None else min(until, end)
    try:
        if info.animation is not None:
            yield from animation_frames(info, info.animation, reading, after, until)
            return
        if after is not None:
            with open_film(info.path) as (container, stream):
                frames = _from(container, stream, after, reading)
                if frames is not None:
                    yield from _converted(info, frames, reading, after, until)
                    return
        with open_film(info.path) as (container, stream):
            frames = decoded(container, stream, reading)
            yield from _converted(info, frames, reading, after, until)
    except FAULTS as exc:
        raise FilmError(
            tr("{file} cannot be read: {fault}", file=named(info.path), fault=reason(exc))
        ) from exc


def _from(
    container: av.container.InputContainer, stream: av.VideoStream, after: int, reading: FilmReading
) -> Iterator[av.VideoFrame] | None:
    """Seek to the last key frame not later than the first frame after `after`.

    Return the frames from there. Return None if the file cannot be entered there, or its
    frames have no times.
    """
    try:
        container.seek(after + 1, stream=stream, backward=True)
        frames = decoded(container, stream, reading)
        first = next(frames, None)
    except FAULTS:
        return None
    if first is None or first.pts is None or first.pts > after + 1:
        return None

    def all_of_them() -> Iterator[av.VideoFrame]:
        yield first
        yield from frames

    return all_of_them()


def _converted(
    info: FilmInfo,
    frames: Iterator[av.VideoFrame],
    reading: FilmReading,
    after: int | None,
    until: int | None,
) -> Generator[FilmFrame]:
    converter, turn = Converter(info.colors, info.orientation), info.orientation
    # Transposing twice restores the stored order.
    stored, whole = turn.size(info.width, info.height), turn.size(*info.whole_size)
    usual = max(1, round(1 / info.rate / info.time_base))

    def timed() -> Iterator[tuple[int, int, av.VideoFrame]]:
        previous: int | None = None
        for frame in frames:
            pts = frame.pts
            if pts is None:
                pts = 0 if previous is None else previous + usual
            if previous is not None and pts <= previous:
                pts = previous + 1
            previous = pts
            if until is not None and pts >= until:
                return
            if after is None or pts > after:
                reading.scaled += (frame.width, frame.height) != whole
                known = 0 if info.ticking else frame.duration
                yield pts, known or usual, frame

    def converted(timed: tuple[int, int, av.VideoFrame]) -> FilmFrame:
        pts, duration, coded = timed
        begun = time.perf_counter()
        pixels = converter.to_rgb(coded, *stored)
        now = time.perf_counter()
        return FilmFrame(Frame(pixels, captured_at=now, read_ms=(now - begun) * 1e3), pts, duration)

    yield from mapped_ahead(converted, timed(), "film reader")


def _video(container: av.container.InputContainer, path: Path) -> av.VideoStream:
    stream = moving_picture(container)
    if stream is None:
        raise FilmError(tr("{file} contains no video", file=named(path)))
    return stream
