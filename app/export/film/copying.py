"""Copying of a film's other streams: sound, subtitles, covers, fonts, chapters and metadata."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any

from app.export.film.fault import FAULTS, FilmError
from app.export.film.info import FilmInfo
from app.export.film.reader import open_film
from app.export.film.selection import cut_chapters, cut_subtitle, end_of, shift_of
from utils.pyav import av
from utils.translation.numbers import number
from utils.translation.texts import mark, tr, trn

# Metadata that containers write themselves.
_OF_THE_FILE = {
    "major_brand", "minor_version", "compatible_brands", "encoder", "duration",
    "_statistics_writing_app", "_statistics_writing_date_utc", "_statistics_tags",
    "bps", "number_of_frames", "number_of_bytes",
}  # fmt: skip
# Metadata names for which MP4 and QuickTime files have a place of their own.
_KNOWN = {
    "title", "artist", "album_artist", "author", "composer", "album", "date", "comment", "genre",
    "copyright", "grouping", "lyrics", "description", "synopsis", "show", "episode_id", "network",
    "keywords", "track", "disc", "creation_time", "encoder", "encoded_by", "performer",
    "compilation", "rating", "media_type", "hd_video", "gapless_playback", "tool",
}  # fmt: skip
_FASTEST_CLOCK = 2**31 - 1  # ticks per second of an MP4 file
_COVER = av.stream.Disposition.attached_pic
_WITH_EDIT_LISTS = ("mp4", "mov")
_TITLES = {"mp4": "MP4", "mov": "QuickTime", "matroska": "Matroska"}
_KINDS = {
    "audio": mark("sound"),
    "subtitle": mark("subtitles"),
    "video": mark("a second picture"),
    "data": mark("data"),
}


@dataclass(frozen=True, slots=True)
class Copied:
    """The copied streams of a film.

    Attributes:
        remarks: The losses, one clause each.
        shift: Seconds subtracted from all times.
        end: The time in the source from which on nothing is copied, in seconds; None copies all.
        hides: Whether the result has edit lists, which hide packets before its first time.
        lost: Per kind, the number of packets that were dropped because their times are damaged.
    """

    targets: dict[int, av.stream.Stream]
    remarks: tuple[str, ...]
    shift: Fraction
    end: Fraction | None = None
    hides: bool = False
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def all_remarks(self) -> tuple[str, ...]:
        """The remarks and the dropped packets, one clause each."""
        lost = (
            trn(
                "{n} packet has no timestamp ({kind})",
                "{n} packets have no timestamp ({kind})",
                count,
                n=number(count),
                kind=tr(kind),
            )
            for kind, count in self.lost.items()
        )
        return (*self.remarks, *lost)


def needed_options(
    source: av.container.InputContainer | None, container: str, shift: Fraction | None = None
) -> dict[str, str]:
    """Return the options of FFmpeg's `container` that preserve a film; None copies nothing.

    `shift` is the begin of a part in seconds; None for the whole film.
    """
    if container not in _WITH_EDIT_LISTS:
        return {}
    flags = "+faststart"
    if source is None:
        return {"movflags": flags}
    if any(key.lower() not in _KNOWN for key in kept_metadata(source.metadata)):
        flags += "+use_metadata_tags"
    options = {"movflags": flags}
    begins = clock_shift(source) if shift is None else shift
    starts = [start - begins for start in _starts(source)]
    clock = math.lcm(*(start.denominator for start in starts))
    if max(starts, default=0) > 0 and clock <= _FASTEST_CLOCK:
        # otherwise a later start is rounded to milliseconds
        options["movie_timescale"] = str(clock)
    return options


def kept_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Return the metadata without the entries that containers write themselves."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower().removesuffix("-eng") not in _OF_THE_FILE
    }


def clock_shift(source: av.container.InputContainer) -> Fraction:
    """Return the first time of a film whose container may start anywhere (broadcasts), else 0."""
    if not source.format.flags & av.format.Flags.ts_discont.value:
        return Fraction(0)
    return min(_starts(source), default=Fraction(0))


def _starts(source: av.container.InputContainer) -> list[Fraction]:
    """Return the start of each stream in seconds."""
    return [
        stream.start_time * stream.time_base
        for stream in source.streams
        if stream.start_time is not None and stream.time_base
    ]


def add_copied_streams(
    source: av.container.InputContainer,
    picture: av.VideoStream,
    result: av.container.OutputContainer,
    info: FilmInfo | None = None,
) -> Copied:
    """Add streams for all but a film's picture, before the header is written.

    Args:
        info: The part of the film that is copied, and whether its sound is; None copies all.

    Raises:
        FilmError: If the film has sound and the container supports none of it.
    """
    targets: dict[int, av.stream.Stream] = {}
    remarks: list[str] = []
    silent: list[av.stream.Stream] = []
    chapters = source.chapters()
    for stream in source.streams:
        if stream.index == picture.index:
            continue
        if stream.type == "audio" and info is not None and not info.sound:
            continue
        cover = bool(stream.disposition & _COVER)
        if isinstance(stream, av.stream.AttachmentStream):
            _attach(stream, result, remarks)
        elif stream.type == "video" and (not cover or result.format.name == "mov"):
            remarks.append(tr("its other pictures are left out"))
        elif cover and stream.codec_context and result.format.name == "matroska":
            _attach_cover(source, stream, result)
        elif stream.type == "data" and (chapters or stream.metadata.get("timecode")):
            pass  # QuickTime's chapter and time code tracks, which the container writes itself
        elif (target := _added(stream, result)) is not None:
            targets[stream.index] = target
        elif stream.type == "audio":
            silent.append(stream)
        else:
            remarks.append(_left_out(stream, result))
    remarks += _about_sound(silent, len(source.streams.audio), result)
    begins = shift_of(info) if info is not None else None
    end = end_of(info) if info is not None else None
    shift = clock_shift(source) if begins is None else begins
    result.set_chapters(list(cut_chapters(chapters, shift, end)))
    result.metadata.update(kept_metadata(source.metadata))
    hides = result.format.name in _WITH_EDIT_LISTS and end is None
    return Copied(targets, tuple(dict.fromkeys(remarks)), shift, end, hides)


def check_copying(info: FilmInfo, container: str) -> None:
    """Check before a film is made that its sound can be copied, see `add_copied_streams`."""
    with open_film(info.path) as (film, picture):
        result = av.open(BytesIO(), "w", format=container)
        add_copied_streams(film, picture, result, info)


def copied_packets(source: av.container.InputContainer, copied: Copied) -> Iterator[av.Packet]:
    """Yield the visible packets of the copied streams, with the result's stream and time."""
    streams = [source.streams[index] for index in copied.targets]
    if not streams:
        return
    last: dict[int, int] = {}
    for packet in source.demux(*streams):
        if not packet.size:
            continue
        shift = round(copied.shift / packet.time_base)
        if packet.pts is None and packet.stream.disposition & _COVER:
            packet.pts = packet.dts = shift  # a cover has no time
        decoded = packet.dts if packet.dts is not None else packet.pts
        before = last.get(packet.stream_index)
        shown = packet.pts if packet.pts is not None else decoded
        if shown is not None and copied.end is not None:
            end = round(copied.end / packet.time_base)
            if packet.stream.type == "subtitle":
                if not cut_subtitle(packet, shown, shift, end):
                    continue
                decoded = shown = packet.pts
            elif shown >= end:
                continue
        if shown is not None and _is_hidden(packet, shown - shift, copied):
            continue
        if (
            decoded is None
            or shown is None
            or (before is not None and decoded < before)
            or shown < decoded
        ):
            if not packet.is_discard:  # one in the middle prepares decoders and is not played
                copied.lost[_KINDS.get(packet.stream.type, packet.stream.type)] += 1
            continue
        last[packet.stream_index] = decoded
        packet.pts, packet.dts = shown - shift, decoded - shift
        packet.stream = copied.targets[packet.stream_index]
        yield packet


def about_stream(stream: av.stream.Stream, target: av.stream.Stream) -> None:
    """Copy a stream's language, title and role."""
    target.metadata.update(kept_metadata(stream.metadata))
    target.disposition = stream.disposition


def _is_hidden(packet: av.Packet[Any], begins: int, copied: Copied) -> bool:
    """Return whether to drop a packet that a player of the result must not play.

    `begins` is the packet's time in the result, in its time base; the result starts at 0. Edit
    lists hide earlier packets, so a result with edit lists keeps them. Without edit lists, the last
    packet before 0 stays unless the source discards it, because audio decoders start with it.
    """
    if begins < 0 and copied.hides:
        return False
    return packet.is_discard or (begins < 0 and begins + 2 * (packet.duration or 0) <= 0)


def _added(
    stream: av.stream.Stream, result: av.container.OutputContainer
) -> av.stream.Stream | None:
    """Add a stream to the result; return None if the codec is unsupported or unknown."""
    if stream.codec_context is None:
        return None
    try:
        _try(stream, result.format.name)
        target = result.add_stream_from_template(stream, opaque=True)
    except FAULTS:
        return None
    about_stream(stream, target)
    return target


def _left_out(stream: av.stream.Stream, result: av.container.OutputContainer) -> str:
    return tr(
        "a track is left out, since {container} files cannot hold it: {kind} ({codec})",
        kind=tr(_KINDS.get(stream.type, stream.type)),
        codec=_codec_of(stream),
        container=_TITLES[result.format.name],
    )


def _about_sound(
    silent: Sequence[av.stream.Stream], tracks: int, result: av.container.OutputContainer
) -> Iterator[str]:
    """Report the missing sound tracks, per codec.

    Raises:
        FilmError: If no track is supported.
    """
    container = _TITLES[result.format.name]
    if silent and len(silent) == tracks:
        known = next((each for each in silent if each.codec_context is not None), None)
        if known is None:
            raise FilmError(tr("its sound is of an unknown kind, which cannot be copied"))
        raise FilmError(
            tr(
                "{container} files cannot hold its sound ({codec}); Matroska files (.mkv) hold "
                "any sound",
                container=container,
                codec=_codec_of(known),
            )
        )
    for codec, count in Counter(map(_codec_of, silent)).items():
        yield trn(
            "{n} of its sound tracks ({codec}) is left out: it cannot be copied to {container} "
            "files",
            "{n} of its sound tracks ({codec}) are left out: they cannot be copied to {container} "
            "files",
            count,
            n=number(count),
            codec=codec,
            container=container,
        )


def _codec_of(stream: av.stream.Stream) -> str:
    context: Any = stream.codec_context
    return tr("unknown codec") if context is None else context.codec.canonical_name


def _try(stream: av.stream.Stream, container: str) -> None:
    """Write the header of a file with only this stream; raises one of FAULTS on failure.

    A container may accept a codec and refuse it when it is too late, as QuickTime does with FLAC.
    """
    with av.open(BytesIO(), "w", format=container) as trial:
        trial.add_stream_from_template(stream, opaque=True)
        trial.start_encoding()


def _attach(
    stream: av.stream.AttachmentStream, result: av.container.OutputContainer, remarks: list[str]
) -> None:
    if result.format.name != "matroska":
        remarks.append(tr("its attached files are left out, since only Matroska files hold them"))
        return
    name = stream.metadata.get("filename", "attachment")
    result.add_attachment(name, stream.mimetype or "application/octet-stream", stream.data)


def _attach_cover(
    source: av.container.InputContainer,
    stream: av.stream.Stream,
    result: av.container.OutputContainer,
) -> None:
    kind = {"png": "png"}.get(stream.codec_context.name, "jpeg")
    for packet in source.demux(stream):
        if packet.size:
            result.add_attachment(f"cover.{kind.replace('e', '')}", f"image/{kind}", bytes(packet))
            break
    source.seek(0)
