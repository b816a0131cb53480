"""Everything beside the picture is in the result as it was in the film."""

from __future__ import annotations

from fractions import Fraction

import pytest

from app.export.film.copying import add_copied_streams, copied_packets
from app.export.film.fault import FilmError
from app.export.film.reader import open_film
from tests.app.export.film.conftest import copy, request
from tests.helpers.films import Look, packets_of, times_of, write_film
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
    assert report.remarks == (
        "its subtitles (mov_text) are left out, since Matroska files cannot hold them",
    )


def test_sound_that_the_file_cannot_hold_ends_the_film_before_it_is_made(tmp_path):
    film = write_film(tmp_path / "film.avi", range(12), sound="adpcm_ms", base=Fraction(1, 30))
    with pytest.raises(
        FilmError, match=r"'out.mp4' cannot be made of 'film.avi': MP4 files cannot"
    ):
        request(film, tmp_path / "out.mp4")


def test_sound_that_is_refused_in_the_head_of_the_file_ends_the_film_before_it_is_made(tmp_path):
    """QuickTime files take FLAC as a codec, and not as a stream."""
    film = write_film(tmp_path / "film.mkv", sound="flac", base=Fraction(1, 1000))
    with pytest.raises(FilmError, match=r"QuickTime files cannot hold its sound \(flac\)"):
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
    lost = len(packets_of(film, "audio")) - len(packets)
    assert copied.all_remarks[-1] == f"{lost} packets of its sound have no time"


class Backwards:
    """A film whose clock goes back once."""

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
