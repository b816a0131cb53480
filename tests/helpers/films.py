"""Helpers that write films and read them back with PyAV itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from utils.pyav import av
from utils.scheduling import usual_scheduling

UNEVEN = (0, 1001, 2002, 3500, 4004, 5005, 9000, 9010, 10010, 12012, 13013, 14000)
BASE = Fraction(1, 30000)
BT709, BT601 = 1, 6
LIMITED, FULL = 1, 2
_HEADER = b"""[Script Info]
ScriptType: v4.00+
[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,16
[Events]
Format: Layer, Start, End, Style, Text
"""


def ramp(width: int = 256, height: int = 64) -> np.ndarray:
    """Return a gray ramp, [H, W, 3] uint8."""
    row = np.linspace(0, 255, width).round().astype(np.uint8)
    return np.repeat(np.repeat(row[None, :, None], height, 0), 3, 2)


def numbered(number: int, width: int = 64, height: int = 48) -> np.ndarray:
    """Return a frame whose gray encodes its number, with a white top left quarter."""
    pixels = np.full((height, width, 3), 20 + 9 * number % 200, np.uint8)
    pixels[: height // 2, : width // 2] = 255
    return pixels


@dataclass(frozen=True)
class Look:
    encoder: str = "libx264"
    pixels: str = "yuv420p"
    matrix: int | None = BT601
    full: bool = False
    options: tuple[tuple[str, str], ...] = (("crf", "1"),)
    turned: int = 0
    mirrored: bool = False
    aspect: Fraction = Fraction(1)


def write_film(
    path: Path,
    times: Sequence[int] = UNEVEN,
    picture: Callable[[int], np.ndarray] = numbered,
    look: Look = Look(),
    sound: str = "",
    subtitles: Sequence[tuple[int, int, str]] = (),
    about: dict[str, str] | None = None,
    chapters: Sequence[tuple[int, int, str]] = (),
    base: Fraction = BASE,
) -> Path:
    """Write a film. `times` are in units of `base`; subtitles and chapters are in milliseconds."""
    first = picture(0)
    options = {"movflags": "use_metadata_tags"} if path.suffix in (".mp4", ".mov") else {}
    with av.open(str(path), "w", container_options=options) as film:
        stream: Any = film.add_stream(look.encoder, Fraction(30000, 1001))
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = look.pixels
        context = stream.codec_context
        context.options = dict(look.options)
        context.time_base = stream.time_base = base
        context.sample_aspect_ratio = look.aspect
        if look.matrix is not None:
            context.colorspace = look.matrix
            context.color_range = FULL if look.full else LIMITED
        if look.turned or look.mirrored:
            stream.set_display_rotation(look.turned, hflip=look.mirrored)
        stream.metadata["language"] = "spa"
        other: Any = None
        if sound:
            other = film.add_stream(sound, 44100, layout="mono")
            other.metadata["language"] = "fin"
        text: Any = None
        if subtitles:
            text = film.add_stream("mov_text" if path.suffix == ".mp4" else "subrip")
            text.codec_context.subtitle_header = _HEADER
            text.metadata["language"] = "swe"
        film.metadata.update(about or {})
        with usual_scheduling():
            context.open()
        film.set_chapters(
            [
                {
                    "id": number,
                    "start": start,
                    "end": end,
                    "time_base": Fraction(1, 1000),
                    "metadata": {"title": title},
                }
                for number, (start, end, title) in enumerate(chapters)
            ]
        )
        if sound:
            _write_sound(film, other, float(times[-1] * base))
        for number, time in enumerate(times):
            frame = av.VideoFrame.from_ndarray(picture(number), format="rgb24").reformat(
                format=look.pixels,
                dst_colorspace={BT709: 1}.get(look.matrix or 0, 5),
                src_color_range=FULL,
                dst_color_range=FULL if look.full else LIMITED,
                interpolation=2 | 262144 | 8192 | 16384,
            )
            frame.pts, frame.time_base = time, base
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
        for start, end, words in subtitles:
            data = words.encode()
            packet = av.Packet(
                len(data).to_bytes(2, "big") + data if path.suffix == ".mp4" else data
            )
            packet.stream, packet.time_base = text, Fraction(1, 1000)
            packet.pts = packet.dts = start
            packet.duration = end - start
            film.mux(packet)
    return path


def _write_sound(film: Any, stream: Any, seconds: float) -> None:
    rng = np.random.default_rng(5)
    for number in range(round(seconds * 44100 / 1024)):
        samples = (rng.normal(0, 3000, (1, 1024))).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate, frame.pts = 44100, number * 1024
        film.mux(stream.encode(frame))
    film.mux(stream.encode(None))


def remuxed(
    source: Path,
    path: Path,
    earlier: Fraction = Fraction(0),
    change: Callable[[int, bytes], bytes | None] = lambda _, data: data,
) -> Path:
    """Copy the packets of a film into another file; MP4 and QuickTime files get an edit list.

    Args:
        source: The film.
        path: The file to write.
        earlier: Seconds to cut from the beginning; an edit list hides the rest of the cut part.
        change: Returns the new data of each video packet from its number; None drops the packet.
    """
    edited = {"avoid_negative_ts": "disabled", "use_editlist": "1"}
    options = edited if path.suffix in (".mp4", ".mov") else {}
    with av.open(str(source)) as film, av.open(str(path), "w", container_options=options) as made:
        streams = {
            each.index: made.add_stream_from_template(each, opaque=True) for each in film.streams
        }
        number = -1
        for packet in film.demux():
            data: bytes | None = bytes(packet)
            if not data or packet.pts is None or packet.dts is None:
                continue
            if packet.stream.type == "video":
                data = change(number := number + 1, data)
            if data is None:
                continue
            copy: Any = av.Packet(data)
            shift = round(earlier / packet.time_base)
            copy.time_base, copy.duration = packet.time_base, packet.duration
            copy.pts, copy.dts = packet.pts - shift, packet.dts - shift
            copy.is_keyframe = packet.is_keyframe
            copy.stream = streams[packet.stream_index]
            made.mux(copy)
    return path


def zeroed(path: Path, first: float = 0.4, last: float = 0.6) -> Path:
    """Overwrite part of a file with zeros, between two fractions of its length."""
    data = bytearray(path.read_bytes())
    begin, end = round(first * len(data)), round(last * len(data))
    data[begin:end] = bytes(end - begin)
    path.write_bytes(data)
    return path


def times_of(path: Path) -> list[Fraction]:
    """Return the presentation time of each frame in seconds."""
    with av.open(str(path)) as film:
        return [
            frame.pts * frame.time_base
            for frame in film.decode(film.streams.video[0])
            if frame.pts is not None and frame.time_base is not None
        ]


def packets_of(path: Path, kind: str) -> list[tuple[Fraction, Fraction, bytes]]:
    """Return (time, duration, data) of every packet in the first stream of a kind."""
    with av.open(str(path)) as film:
        stream = next(stream for stream in film.streams if stream.type == kind)
        return [
            (
                (packet.pts or 0) * packet.time_base,
                (packet.duration or 0) * packet.time_base,
                bytes(packet),
            )
            for packet in film.demux(stream)
            if packet.size
        ]
