"""Samples of a film: a few frames painted and encoded, to estimate its time and its size."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.engine.result import StyledFrame
from app.export.film.fault import FAULTS, FilmError, named, reason
from app.export.film.info import FilmFrame, FilmInfo, FilmReading, StyledFilmFrame
from app.export.film.parts.line import Styling
from app.export.film.parts.request import PART, FilmRequest
from app.export.film.reader import open_film, read_frames
from app.export.film.segment import open_segment
from utils.translation.texts import tr

# Frames of a sample. An encoder spends more on frames that later ones refer to: from 3 frames the
# size of a painted film in H.264 was estimated at 0.51 of its true size, from 12 at 0.99.
FEWEST, MOST = 12, 48
TIMED = 3  # frames from which the time is estimated; the first loads kernels and does not count
TIMED_S = 4.0  # after which a sample of at least FEWEST frames ends
MOST_BYTES = 256 << 20  # of the painted frames in memory
OnFrame = Callable[[FilmFrame, StyledFrame, float | None], object]
COPIED_S = 20.0  # of sound and subtitles that are read to learn their size


@dataclass(frozen=True, slots=True, eq=False)
class PaintedSample:
    """Consecutive painted frames of a film.

    Attributes:
        paint_s: Seconds to read and paint a frame.
        on_cpu: Whether the processor painted them, which also encodes.
    """

    frames: tuple[StyledFilmFrame, ...]
    paint_s: float
    on_cpu: bool


@dataclass(frozen=True, slots=True)
class EncodedSample:
    """The cost of encoded frames.

    Attributes:
        encode_s: Seconds to encode a frame.
        key_bytes: Mean size of a frame that decoders can start with.
        other_bytes: Mean size of the other frames; None if there are none.
    """

    encode_s: float
    key_bytes: float
    other_bytes: float | None


@dataclass(frozen=True, slots=True)
class FilmEstimate:
    """An estimate for a film that is not made yet; seconds and bytes."""

    seconds: float
    size: float


def frame_at(info: FilmInfo, seconds: float) -> FilmFrame:
    """Read the frame shown at a time, in seconds from the start of the picture.

    Raises:
        FilmError: If no frame can be read there.
    """
    whole = info.start if info.span is None else info.span.begin
    wanted = max(whole, info.start + math.ceil(seconds / info.time_base - 0.5))
    with closing(read_frames(info, FilmReading(), wanted - 1)) as frames:
        frame = next(frames, None)
    if frame is None:
        raise FilmError(tr("no frame of {file} can be decoded", file=named(info.path)))
    return frame


def paint_sample(
    info: FilmInfo,
    begin: int,
    styling: Styling,
    on_frame: OnFrame = lambda *_: None,
) -> PaintedSample:
    """Paint consecutive frames for TIMED_S, at least FEWEST and at most MOST.

    A shorter film is painted whole.

    Args:
        begin: Where the frames begin, in the film's time base; a film that ends too soon is
            sampled from an earlier time.
        styling: A styler without a history.
        on_frame: Called with each frame, as read and as painted, and the seconds that a frame
            takes, None for the first ones. It may raise utils.stop_flag.Stopped, which ends the
            sample.

    Raises:
        Stopped: If `on_frame` raised it, or a flag in force was set.
        StyleForgeError: If the film cannot be read or painted.
    """
    most = max(FEWEST, min(MOST, MOST_BYTES // (3 * info.width * info.height)))
    times, waiting = list[float](), deque[FilmFrame]()
    made: list[tuple[FilmFrame, StyledFrame]] = []

    def take(results: Iterator[StyledFrame]) -> None:
        for result in results:
            times.append(time.perf_counter())
            film = waiting.popleft()
            made.append((film, result))
            on_frame(film, result, per_frame() if len(made) >= TIMED else None)

    def per_frame() -> float:
        """Return the seconds of a frame, without the first one unless it is the only one."""
        first, count = (times[0], len(times) - 1) if len(times) > 1 else (begun, 1)
        return (times[-1] - first) / count

    begun = time.perf_counter()
    with closing(read_frames(info, FilmReading(), _begin(info, begin) - 1)) as frames:
        try:
            while len(made) < FEWEST or (times[-1] - times[0] < TIMED_S and len(made) < most):
                batch = list(islice(frames, styling.batch))
                if not batch:
                    break
                waiting.extend(batch)
                take(styling.begin([each.frame for each in batch]))
            take(styling.complete_all())
        except BaseException:
            styling.discard_all()
            raise
    if not made:
        raise FilmError(tr("no frame of {file} can be decoded", file=named(info.path)))
    kept = tuple(
        StyledFilmFrame(styled.frame.pixels, film.pts, film.duration, styled.frame.alpha)
        for film, styled in made
    )
    return PaintedSample(kept, per_frame(), made[0][1].running.device.startswith("CPU"))


def _begin(info: FilmInfo, begin: int) -> int:
    """Return the begin of a sample of FEWEST frames that ends before the film does."""
    length = round(info.seconds / info.time_base)
    last = info.start + length - round((FEWEST + 1) / info.rate / info.time_base)
    return max(info.start, min(begin, last)) if length else begin


def encode_sample(sample: PaintedSample, request: FilmRequest, folder: Path) -> EncodedSample:
    """Encode the frames of a sample into a file in `folder`, as a part of the film.

    Raises:
        FilmError: If the frames cannot be encoded.
    """
    path = folder / f"sample{request.target.suffix}"
    writer = request.output.part(path)
    try:
        begun = time.perf_counter()
        for frame in sample.frames:
            writer.write(request.output.coded(frame), frame.pts, frame.duration)
        writer.close()
        seconds = (time.perf_counter() - begun) / len(sample.frames)
    except BaseException:
        writer.discard()
        raise
    if request.encoding.codec.animation:
        return EncodedSample(seconds, path.stat().st_size / len(sample.frames), None)
    keys, others = list[int](), list[int]()
    with open_segment(path) as part:
        for packet in part.demux(part.streams.video[0]):
            if packet.size:
                (keys if packet.is_keyframe else others).append(packet.size)
    mean = sum(others) / len(others) if others else None
    return EncodedSample(seconds, sum(keys) / max(1, len(keys)), mean)


def copied_rate(info: FilmInfo, begin: int) -> float:
    """Return the bytes a second of the sound and subtitles that a film copies.

    It reads COPIED_S of the film from `begin` on, in the film's time base.

    Raises:
        FilmError: If the film can no longer be read.
    """
    if info.animation is not None:
        return 0.0
    try:
        with open_film(info.path) as (film, picture):
            kinds = ("audio", "subtitle") if info.sound else ("subtitle",)
            streams = [each for each in film.streams if each.type in kinds]
            if not streams:
                return 0.0
            film.seek(begin, stream=picture, backward=True)
            size, first, last = 0, math.inf, -math.inf
            for packet in film.demux(*streams):
                if not packet.size or packet.pts is None:
                    continue
                shown = float(packet.pts * packet.time_base)
                length = float((packet.duration or 0) * packet.time_base)
                first, last, size = min(first, shown), max(last, shown + length), size + packet.size
                if last - first > COPIED_S:
                    break
    except FAULTS as exc:
        raise FilmError(
            tr("{file} cannot be read: {fault}", file=named(info.path), fault=reason(exc))
        ) from exc
    return size / (last - first) if last > first else 0.0


def estimate(
    info: FilmInfo, painted: PaintedSample, encoded: EncodedSample, copied: float
) -> FilmEstimate | None:
    """Estimate a film from samples of it; None if its number of frames is unknown.

    The processor paints and encodes in turn; a GPU paints while the processor encodes.

    Args:
        copied: See `copied_rate`.
    """
    if not info.count:
        return None
    paint, encode = painted.paint_s, encoded.encode_s
    each = paint + encode if painted.on_cpu else max(paint, encode)
    keys = info.count if encoded.other_bytes is None else math.ceil(info.count / PART)
    others = (info.count - keys) * (encoded.other_bytes or 0.0)
    size = keys * encoded.key_bytes + others + copied * info.seconds
    return FilmEstimate(info.count * each, size)
