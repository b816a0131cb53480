"""The number of frames that a film shows, its rate and its length."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from app.film_frames.decoding import FAULTS
from utils.pyav import av

MOST_RATE = 1000  # frames per second; a higher rate is the clock of the file
USUAL_RATE = Fraction(25)  # frames per second if the film does not tell
# Size limit in bytes of an MPEG-4 packet that repeats the previous frame: a start code and a
# header.
_MOST_REPEATING = 8
_MOST_RIFFS = 1000  # limit of the chunks, each up to a gigabyte, in an AVI file


def frame_rate(container: av.container.InputContainer, stream: av.VideoStream) -> Fraction:
    """Return the average frames per second; an AVI header counts ticks, many without a frame."""
    rate = stream.average_rate or stream.guessed_rate or USUAL_RATE
    if _is_avi(container) and stream.frames and _is_whole_riff(container.name):
        rate *= min(Fraction(1), Fraction(len(_indexed(stream)), stream.frames))
    return rate if 0 < rate <= MOST_RATE else USUAL_RATE


def length_s(container: av.container.InputContainer, stream: av.VideoStream) -> float:
    """Return the declared length of a film's picture in seconds; 0 if there is none."""
    if stream.frames and stream.average_rate and not _has_edit_lists(container):
        return float(stream.frames / stream.average_rate)  # FFmpeg shortens a truncated AVI
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return _tagged_length_s(stream)


def shown_frames(container: av.container.InputContainer, stream: av.VideoStream) -> int:
    """Count the frames that a film shows, by its index; 0 if the file does not tell.

    The header also counts frames that an edit list hides, frames before the first key frame, and
    ticks that show the previous frame again. This reads packets of the film's beginning, so it must
    not have been read yet.
    """
    if not stream.frames or (_is_avi(container) and not _is_whole_riff(container.name)):
        return 0
    if not (_is_avi(container) or _has_edit_lists(container)):
        return stream.frames
    shown = [entry for entry in _indexed(stream) if not entry.is_discard]
    return max(0, len(shown) - _before_the_first_key(container, stream))


def _indexed(stream: av.VideoStream) -> list[av.index.IndexEntry]:
    """Return the index of a stream without packets that repeat a frame."""
    repeating = _MOST_REPEATING if stream.codec_context.name == "mpeg4" else 0
    return [entry for entry in stream.index_entries if entry.size > repeating]


def _before_the_first_key(container: av.container.InputContainer, stream: av.VideoStream) -> int:
    """Count the undecodable frames shown before the first key frame; 0 without a key frame."""
    if not any(entry.is_keyframe for entry in stream.index_entries):
        return 0
    early: list[int] = []
    key: int | None = None
    try:
        for packet in container.demux(stream):
            decoded = packet.dts if packet.dts is not None else packet.pts
            shown = packet.pts if packet.pts is not None else decoded
            if decoded is None or shown is None or (key is not None and decoded >= key):
                break
            if key is None and packet.is_keyframe:
                key = shown
            elif not packet.is_discard:
                early.append(shown)
    except FAULTS:
        pass  # reading the frames meets the fault again and reports it
    return sum(shown < key for shown in early) if key is not None else 0


def _is_avi(container: av.container.InputContainer) -> bool:
    return container.format.name == "avi"


def _has_edit_lists(container: av.container.InputContainer) -> bool:
    return "mov" in container.format.name.split(",")


def _tagged_length_s(stream: av.VideoStream) -> float:
    """Return the picture's length in seconds by its Matroska tag; 0 without a tag.

    The tag, such as 00:01:02.500000000, is the time of the end, so the start time is subtracted.
    """
    found = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if not found:
        return 0.0
    hours, minutes, seconds = map(float, found.groups())
    begins = float((stream.start_time or 0) * (stream.time_base or 0))
    return max(0.0, 3600 * hours + 60 * minutes + seconds - begins)


def _is_whole_riff(name: str) -> bool:
    """Check whether an AVI file has its declared length; a truncated one lacks its index."""
    at = 0
    if "://" in name:
        return False
    with Path(name).open("rb") as file:
        for _ in range(_MOST_RIFFS):
            file.seek(at)
            kind, size = file.read(4), int.from_bytes(file.read(4), "little")
            if kind != b"RIFF":
                break
            if not size:
                return False
            at += 8 + size + size % 2
    return at <= Path(name).stat().st_size + 1  # the last byte of padding may be missing
