"""Assembly of a film from the packets of its parts and the streams copied from its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

from app.export.film.copying import about_stream, add_copied_streams, copied_packets, needed_options
from app.export.film.fault import FAULTS, FilmError, reason, unmade
from app.export.film.info import FilmInfo, StyledFilmFrame
from app.export.film.reader import open_film
from app.export.film.segment import Encoding, SegmentWriter, coded_frame, open_segment
from app.export.film.selection import shift_of
from app.export.film.store import SegmentStore
from app.film_frames.converter import Converter
from utils.files.atomic import replacing, sync
from utils.pyav import av
from utils.translation.texts import tr


class FilmOutput:
    """An Output that turns a film into a film; `container` is FFmpeg's name of its format."""

    def __init__(self, info: FilmInfo, encoding: Encoding, container: str) -> None:
        self._info, self._encoding, self._container = info, encoding, container
        self._converter = Converter(encoding.colors)
        self._transparent = False

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling for another process, which creates its own converter."""
        return type(self), (self._info, self._encoding, self._container)

    def coded(self, frame: StyledFilmFrame) -> av.VideoFrame:
        self._transparent |= frame.alpha is not None
        return coded_frame(frame.pixels, self._encoding, self._converter)

    def part(self, path: Path) -> SegmentWriter:
        """Begin a part.

        Raises:
            FilmError: If the encoder cannot be opened.
        """
        return SegmentWriter(path, self._encoding)

    def assemble(self, store: SegmentStore, target: Path) -> tuple[str, ...]:
        encoding = self._encoding
        lost = assemble(self._info, store, encoding, target, self._container)
        if self._transparent:
            white = tr(
                "its transparent parts became white, since {format} has no transparency",
                format=encoding.codec.title,
            )
            lost = (*lost, white)
        return lost


def assemble(
    info: FilmInfo, store: SegmentStore, encoding: Encoding, target: Path, container: str
) -> tuple[str, ...]:
    """Write a film atomically; from an animation, only the picture is taken.

    Args:
        store: At least one part.
        container: FFmpeg's name of the format.

    Returns:
        The losses compared with the source, one clause each.

    Raises:
        FilmError: If the film cannot be written; the parts stay.
    """
    try:
        with replacing(target) as temporary:
            remarks = _write(info, store, encoding, temporary, container)
            sync(temporary)
    except FAULTS as exc:
        raise unmade(target, info.path, reason(exc)) from exc
    except FilmError as exc:
        raise unmade(target, info.path, str(exc)) from exc
    return remarks


def _write(
    info: FilmInfo, store: SegmentStore, encoding: Encoding, path: Path, container: str
) -> tuple[str, ...]:
    with ExitStack() as files:
        opened = None if info.animation else files.enter_context(open_film(info.path))
        first = files.enter_context(open_segment(store.folder / store.segments[0].name))
        options = needed_options(opened[0] if opened else None, container, shift_of(info))
        result = files.enter_context(
            av.open(str(path.absolute()), "w", format=container, container_options=options)
        )
        stream = result.add_stream_from_template(first.streams.video[0], opaque=True)
        if encoding.codec.tag and container in ("mp4", "mov"):
            stream.codec_context.codec_tag = encoding.codec.tag
        stream.time_base = encoding.time_base
        if opened is None:
            begin = info.span.begin if info.span else 0
            for packet in _pictures(store, encoding.time_base, stream, begin):
                result.mux(packet)
            return ()
        film, picture = opened
        about_stream(picture, stream)
        copied = add_copied_streams(film, picture, result, info)
        shift = round(copied.shift / encoding.time_base)
        pictures = _pictures(store, encoding.time_base, stream, shift)
        waiting = next(pictures, None)
        for packet in copied_packets(film, copied):
            while waiting is not None and _time(waiting) <= _time(packet):
                result.mux(waiting)
                waiting = next(pictures, None)
            result.mux(packet)
        while waiting is not None:
            result.mux(waiting)
            waiting = next(pictures, None)
    return copied.all_remarks


def _pictures(
    store: SegmentStore, time_base: Fraction, stream: av.VideoStream, shift: int
) -> Iterator[av.Packet]:
    """Yield the packets of all parts, with times in the whole film."""
    shown = [segment.start + time - shift for segment in store.segments for time in segment.times]
    durations = durations_of(shown, store.segments[-1].duration)
    decoded = decode_times(shown)
    number = 0
    for segment in store.segments:
        with open_segment(store.folder / segment.name) as part:
            packets = [packet for packet in part.demux(part.streams.video[0]) if packet.size]
            if len(packets) != len(segment.times):
                raise FilmError(tr("a finished part ('{file}') is damaged", file=segment.name))
            for packet in packets:
                packet.time_base = time_base
                packet.pts, packet.dts = shown[number], decoded[number]
                packet.duration = durations[number]
                packet.stream = stream
                number += 1
                yield packet


def decode_times(shown: Sequence[int]) -> list[int]:
    """Return the decode times (DTS) of packets from presentation times in decode order.

    They increase strictly, none later than its packet is shown: the film's times, delayed by the
    encoder's reordering depth in frames.
    """
    ordered = sorted(shown)
    rank = {time: number for number, time in enumerate(ordered)}
    late = max(number - rank[time] for number, time in enumerate(shown))
    step = max(1, (ordered[late] - ordered[0]) // late) if late else 0
    before = [ordered[0] - step * (late - number) for number in range(late)]
    return before + ordered[: len(ordered) - late]


def durations_of(shown: Sequence[int], last: int) -> list[int]:
    """Return the packets' durations: the time until the next one, and `last` for the last one."""
    ordered = sorted(shown)
    following = dict(zip(ordered, [*ordered[1:], ordered[-1] + last], strict=True))
    return [following[time] - time for time in shown]


def _time(packet: av.Packet) -> Fraction:
    when = packet.dts if packet.dts is not None else packet.pts
    return (when or 0) * packet.time_base
