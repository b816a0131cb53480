"""The result contains everything in the film besides the picture, unchanged."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

from app.export.film.copying import add_copied_streams, copied_packets
from app.export.film.fault import FilmError
from app.export.film.reader import open_film
from app.sound.film_sound import FilmSound
from app.sources.video_decoder import VideoReader
from tests.app.export.film.conftest import copy, request
from tests.helpers.errors import mentions
from tests.helpers.fakes import number_of
from tests.helpers.films import Look, packets_of, remuxed, times_of, write_film
from tests.helpers.sound import beginnings, write_talkie
from utils.pyav import av

CHAPTERS = [(0, 200, "one"), (200, 450, "two")]
ABOUT = {"title": "A walk", "artist": "Nobody", "com.example.lens": "50 mm"}


@pytest.fixture
def film(tmp_path):
    return write_film(
        tmp_path / "film.mp4",
        sound="aac",
        subtitles=[(0, 100, "first"), (200, 400, "second")],
        about=ABOUT,
        chapters=CHAPTERS,
    )


def test_sound_and_subtitles_are_copied_bit_by_bit_with_their_times(film, tmp_path):
    report = copy(film, tmp_path / "out.mp4")
    assert report.remarks == ()
    for kind in ("audio", "subtitle"):
        packets = packets_of(film, kind)
        assert len(packets) > 2
        assert packets_of(tmp_path / "out.mp4", kind) == packets


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_chapters_languages_and_metadata_are_kept(film, tmp_path, ending):
    copy(film, tmp_path / f"out.{ending}")
    with av.open(str(tmp_path / f"out.{ending}")) as made:
        said = {key.lower(): value for key, value in made.metadata.items()}
        assert {**said, **ABOUT} == said
        chapters = [
            (
                chapter["start"] * (chapter["time_base"] or 0),
                chapter["end"] * (chapter["time_base"] or 0),
                chapter["metadata"]["title"],
            )
            for chapter in made.chapters()
        ]
        assert chapters == [(Fraction(a, 1000), Fraction(b, 1000), name) for a, b, name in CHAPTERS]
        languages = {stream.type: stream.metadata.get("language") for stream in made.streams}
        assert languages["video"] == "spa"
        assert languages["audio"] == "fin"


def test_the_sound_of_a_matroska_film_comes_through_with_its_subtitles(tmp_path):
    film = write_film(
        tmp_path / "film.mkv",
        sound="flac",
        subtitles=[(0, 100, "first"), (200, 400, "second")],
        base=Fraction(1, 1000),
        times=range(0, 480, 40),
    )
    copy(film, tmp_path / "out.mkv")
    for kind in ("audio", "subtitle"):
        assert packets_of(tmp_path / "out.mkv", kind) == packets_of(film, kind)
    assert times_of(tmp_path / "out.mkv") == times_of(film)


def test_subtitles_that_the_file_cannot_hold_are_named(film, tmp_path):
    report = copy(film, tmp_path / "out.mkv")
    (remark,) = report.remarks
    assert mentions(remark, "Matroska", "subtitles (mov_text)")


def test_sound_that_the_file_cannot_hold_ends_the_film_before_it_is_made(tmp_path):
    film = write_film(tmp_path / "film.avi", range(12), sound="adpcm_ms", base=Fraction(1, 30))
    with pytest.raises(FilmError, match=r"'out.mp4' .*'film.avi'.*MP4"):
        request(film, tmp_path / "out.mp4")


def test_sound_that_is_refused_in_the_head_of_the_file_ends_the_film_before_it_is_made(tmp_path):
    """QuickTime files accept FLAC as a codec, but not as a stream."""
    film = write_film(tmp_path / "film.mkv", sound="flac", base=Fraction(1, 1000))
    with pytest.raises(FilmError, match=r"QuickTime .*\(flac\)"):
        request(film, tmp_path / "out.mov")


def test_packets_of_sound_without_a_time_are_left_out_and_counted(film, tmp_path):
    with (
        open_film(film) as (source, picture),
        av.open(str(tmp_path / "out.mkv"), "w") as result,
    ):
        result.add_stream_from_template(picture, opaque=True)
        copied = add_copied_streams(source, picture, result)
        turned = [source.streams[index] for index in copied.targets]
        packets = list(copied_packets(Backwards(source), copied))  # type: ignore[arg-type]
    assert len(turned) == 1
    assert 0 < len(packets) < len(packets_of(film, "audio"))
    hidden = 1  # AAC's first packet, by the film's edit list
    lost = len(packets_of(film, "audio")) - len(packets) - hidden
    assert lost == 1
    assert mentions(copied.all_remarks[-1], "1 packet", "timestamp", "sound")


class Backwards:
    """A film whose clock jumps back once."""

    def __init__(self, film):
        self.streams, self._film = film.streams, film

    def demux(self, *streams):
        for number, packet in enumerate(self._film.demux(*streams)):
            if number == 9 and packet.size:
                packet.dts -= 5000
            yield packet


def test_fonts_and_covers_of_a_matroska_film_are_kept(tmp_path):
    plain = write_film(tmp_path / "plain.mkv")
    with av.open(str(plain)) as film, av.open(str(tmp_path / "film.mkv"), "w") as rich:
        picture = rich.add_stream_from_template(film.streams.video[0], opaque=True)
        rich.add_attachment("a.ttf", "font/ttf", b"no font" * 9)
        rich.add_attachment("cover.jpg", "image/jpeg", _jpeg())
        for packet in film.demux(video=0):
            if packet.size:
                packet.stream = picture
                rich.mux(packet)
    copy(tmp_path / "film.mkv", tmp_path / "out.mkv")
    with av.open(str(tmp_path / "out.mkv")) as made:
        (font,) = made.streams.attachments
        assert font.data == b"no font" * 9
        cover = made.streams.video[1]
        assert cover.disposition & av.stream.Disposition.attached_pic
        assert [bytes(packet) for packet in made.demux(cover) if packet.size] == [_jpeg()]


def _jpeg() -> bytes:
    from io import BytesIO

    from PIL import Image

    file = BytesIO()
    Image.new("RGB", (16, 16), (200, 0, 0)).save(file, "JPEG")
    return file.getvalue()


def test_a_broadcast_begins_at_nought_with_its_sound_beside_it(tmp_path):
    base = Fraction(1, 90000)
    times = [126_000 + 3600 * number for number in range(12)]
    film = write_film(tmp_path / "film.ts", times, sound="mp2", base=base)
    copy(film, tmp_path / "out.mp4")
    before = min(packets_of(film, "audio")[0][0], times_of(film)[0])
    assert [time - before for time in times_of(film)] == times_of(tmp_path / "out.mp4")
    sound = [time - before for time, _, _ in packets_of(film, "audio")]
    made = [time for time, _, _ in packets_of(tmp_path / "out.mp4", "audio")]
    assert [float(time) for time in made] == pytest.approx([float(t) for t in sound], abs=1e-3)


def test_a_turned_film_is_upright_without_being_turned_again(tmp_path):
    film = write_film(tmp_path / "film.mp4", look=Look(turned=90, aspect=Fraction(4, 3)))
    copy(film, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as made:
        frame = next(made.decode(video=0))
        assert (frame.width, frame.height, frame.rotation) == (48, 64, 0)
        assert made.streams.video[0].sample_aspect_ratio == Fraction(3, 4)


EVEN = [number / 25 for number in range(75)]
FLASH, BEEP_S = 50, 2.0  # the number of a frame, and its time in the whole film
CUT = Fraction(4, 5)  # seconds
PACKET_S = 1024 / 44_100  # AAC


def seen_and_heard(path) -> tuple[float, float]:
    """Return the times at which the frame FLASH is shown and the beep begins."""
    reader = VideoReader(path)
    shown = next(seconds for seconds, pixels in reader if number_of(pixels) == FLASH)
    reader.close()
    sound = FilmSound(str(path), 44_100, 1)
    pieces = []
    while (samples := sound.read()) is not None:
        pieces.append(samples)
    sound.close()
    (heard,) = beginnings(np.concatenate(pieces), 44_100)
    return shown, heard


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_sound_that_was_trimmed_off_is_not_heard_again(tmp_path, ending):
    whole = write_talkie(tmp_path / "whole.mp4", EVEN, [BEEP_S])
    film = remuxed(whole, tmp_path / "film.mp4", CUT)
    assert seen_and_heard(film) == pytest.approx((1.2, 1.2), abs=0.005)
    report = copy(film, tmp_path / f"out.{ending}")
    assert (report.frames, report.remarks, report.faults) == (55, (), ())
    shown, heard = seen_and_heard(tmp_path / f"out.{ending}")
    assert heard == pytest.approx(shown, abs=0.005)
    assert shown == pytest.approx(1.2, abs=0.002)
    late = PACKET_S if ending == "mkv" else 0  # the first packet is heard in full
    with av.open(str(tmp_path / f"out.{ending}")) as made:
        begins = [(each.start_time or 0) * (each.time_base or 0) for each in made.streams]
        assert max(begins) <= late + 0.001
        assert made.duration == pytest.approx(2.2e6, abs=1e6 * (late + 0.001))


def test_packets_before_the_first_time_are_hidden_where_a_file_has_edit_lists(tmp_path):
    """Audio decoders need one such packet to warm up."""
    film = write_film(tmp_path / "film.mp4", sound="aac")
    copy(film, tmp_path / "out.mov")
    copy(film, tmp_path / "out.mkv")
    packets = packets_of(film, "audio")
    assert packets[0][0] < 0
    assert packets_of(tmp_path / "out.mov", "audio") == packets
    made = packets_of(tmp_path / "out.mkv", "audio")
    assert [data for _, _, data in made] == [data for _, _, data in packets[1:]]
    assert times_of(tmp_path / "out.mkv")[0] == made[0][0] == 0


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_sound_that_an_edit_list_cuts_out_of_the_middle_is_not_copied(tmp_path, ending):
    """The file starts with half a second of silence, followed by sound; both become sound."""
    film = write_talkie(tmp_path / "film.mp4", EVEN, [], starts=0.5, seconds=2.5)
    data = bytearray(film.read_bytes())
    edits = data.rindex(b"elst") + 8
    (count, *_) = struct.unpack_from(">I", data, edits)
    assert count == 2
    for number, (length, begins) in enumerate(((500, 1024), (1000, 1024 + 44_100))):
        struct.pack_into(">Ii", data, edits + 4 + 12 * number, length, begins)
    film.write_bytes(data)
    heard = sum(samples for _, samples in sound_of(film))
    report = copy(film, tmp_path / f"out.{ending}")
    assert report.remarks == ()
    made = sum(samples for _, samples in sound_of(tmp_path / f"out.{ending}"))
    assert made == pytest.approx(heard, abs=2048)


def sound_of(path) -> list[tuple[int | None, int]]:
    with av.open(str(path)) as film:
        return [(frame.pts, frame.samples) for frame in film.decode(film.streams.audio[0])]


def with_sounds(path, codecs, unknown=0):
    """Write a film with one audio track per codec.

    The last `unknown` tracks are AAC under an unknown name.
    """
    plain = write_film(path.with_stem("plain"), range(0, 480, 40), base=Fraction(1, 1000))
    with av.open(str(plain)) as film, av.open(str(path), "w") as made:
        picture = made.add_stream_from_template(film.streams.video[0], opaque=True)
        tracks = [made.add_stream(codec, 44_100, layout="mono") for codec in codecs]
        for packet in film.demux(video=0):
            if packet.size:
                packet.stream = picture
                made.mux(packet)
        for track in tracks:
            for number in range(20):
                samples = np.full((1, 1024), 900 * (number % 2), np.int16)
                frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
                frame.sample_rate, frame.pts = 44_100, 1024 * number
                made.mux(track.encode(frame))
            made.mux(track.encode(None))
    data = bytearray(path.read_bytes())
    names = {b"A_AAC": b"A_XYZ"} if path.suffix == ".mkv" else {b"esds": b"dapa", b"mp4a": b"apac"}
    for known, other in names.items():
        at = len(data)
        for _ in range(unknown):
            at = data.rindex(known, 0, at)
            data[at : at + len(known)] = other
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
@pytest.mark.parametrize("source", ["mp4", "mkv"])
def test_a_second_track_of_an_unknown_kind_is_left_out_with_a_remark(tmp_path, source, ending):
    film = with_sounds(tmp_path / f"film.{source}", ["aac", "aac"], unknown=1)
    report = copy(film, tmp_path / f"out.{ending}")
    title = {"mp4": "MP4", "mov": "QuickTime", "mkv": "Matroska"}[ending]
    (remark,) = report.remarks
    assert mentions(remark, "1 of", "(unknown codec)", title)
    assert report.faults == ()
    with av.open(str(tmp_path / f"out.{ending}")) as made:
        assert [stream.type for stream in made.streams] == ["video", "audio"]
    assert [data for *_, data in packets_of(tmp_path / f"out.{ending}", "audio")][-19:] == [
        data for *_, data in packets_of(film, "audio")
    ][-19:]


def test_tracks_that_the_file_cannot_hold_are_left_out_while_one_is_kept(tmp_path):
    film = with_sounds(tmp_path / "film.mkv", ["flac", "aac", "flac", "aac"], unknown=1)
    report = copy(film, tmp_path / "out.mov")
    known, unknown = report.remarks
    assert mentions(known, "2 of", "(flac)", "QuickTime")
    assert mentions(unknown, "1 of", "(unknown codec)", "QuickTime")
    with av.open(str(tmp_path / "out.mov")) as made:
        assert [stream.codec_context.name for stream in made.streams.audio] == ["aac"]
    assert copy(film, tmp_path / "out.mkv").remarks[0].startswith("1 of its sound")


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_a_film_whose_only_sound_is_of_an_unknown_kind_is_refused(tmp_path, ending):
    film = with_sounds(tmp_path / "film.mp4", ["aac"], unknown=1)
    with pytest.raises(FilmError, match="unknown kind"):
        request(film, tmp_path / f"out.{ending}")


def test_the_kind_of_sound_that_another_file_holds_is_named_beside_an_unknown_one(tmp_path):
    film = with_sounds(tmp_path / "film.mkv", ["flac", "aac"], unknown=1)
    with pytest.raises(FilmError, match=r"QuickTime .*\(flac\)"):
        request(film, tmp_path / "out.mov")


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_the_cover_of_an_mp4_film_is_kept_or_named(tmp_path, ending):
    plain = write_film(tmp_path / "plain.mp4")
    film = tmp_path / "film.mp4"
    with av.open(str(plain)) as source, av.open(str(film), "w") as made:
        picture = made.add_stream_from_template(source.streams.video[0], opaque=True)
        cover = made.add_stream("mjpeg")
        cover.width, cover.height, cover.pix_fmt = 16, 16, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        still = av.Packet(_jpeg())
        still.stream, still.pts, still.dts, still.is_keyframe = cover, 0, 0, True
        made.mux(still)
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = picture
                made.mux(packet)
    report = copy(film, tmp_path / f"out.{ending}")
    lost = ("its other pictures are left out",) if ending == "mov" else ()
    assert report.remarks == lost
    with av.open(str(tmp_path / f"out.{ending}")) as made:
        covers = made.streams.video[1:]
        assert len(covers) == (0 if lost else 1)
        for cover in covers:
            assert [bytes(packet) for packet in made.demux(cover) if packet.size] == [_jpeg()]
