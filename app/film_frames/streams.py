"""The choice of a film's picture and sound streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from utils.pyav import av

_Playable = TypeVar("_Playable", av.VideoStream, av.AudioStream)


def moving_picture(container: av.container.InputContainer) -> av.VideoStream | None:
    """Choose the picture of a film, as FFmpeg does: the default stream, then the one that moves.

    None if every video stream is a cover or has an unknown codec.
    """
    cover = av.stream.Disposition.attached_pic
    pictures = [each for each in container.streams.video if not each.disposition & cover]
    stream = _best(container, "video", pictures)
    if stream is not None:
        stream.thread_type = "AUTO"  # type: ignore[assignment]
    return stream


def sound_stream(container: av.container.InputContainer) -> av.AudioStream | None:
    """Choose the sound of a film in the same way; return None if no codec is known."""
    return _best(container, "audio", container.streams.audio)


def _best(
    container: av.container.InputContainer,
    kind: Literal["video", "audio"],
    streams: Sequence[_Playable],
) -> _Playable | None:
    """Return FFmpeg's choice; if that cannot be played, the default stream or the first one."""
    playable = [each for each in streams if each.codec_context is not None]
    best, default = container.streams.best(kind), av.stream.Disposition.default
    ranked = sorted(playable, key=lambda each: (each is not best, not each.disposition & default))
    return next(iter(ranked), None)
