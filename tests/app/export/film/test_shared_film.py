"""A film made by several processes equals the film of one, in any order of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from app.export.film.job import FilmJob
from app.export.film.parts.request import FilmCancelled, FilmProgress
from app.export.film.parts.shared import Said, SharedFilm
from app.export.film.parts.split import Part, split
from app.export.film.parts.work import FilmWork, LineCount, MadePart, make_parts
from app.export.film.reader import FilmReading, film_info, read_frames
from app.export.film.store import SegmentStore, store_folder
from tests.app.export.film.conftest import Plain, request
from tests.helpers.films import Look, numbered, packets_of, times_of, write_film

TIMES = [1001 * n + (n % 3) for n in range(120)]
EVERY_TEN = Look(options=(("crf", "1"), ("g", "10"), ("keyint_min", "10"), ("sc_threshold", "0")))
# Key frames followed by frames that are shown earlier, and key frames that are complete only a
# few frames later.
OPEN = "open-gop=1:keyint=10:min-keyint=10:scenecut=0"
REFRESHED = (("crf", "1"), ("intra-refresh", "1"), ("g", "10"), ("sc_threshold", "0"))
ONE_KEY = Look(options=(("g", "1000"), ("sc_threshold", "0")))


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return write_film(tmp_path / "film.mp4", TIMES, look=EVERY_TEN, sound="aac")


class Heard:
    def __init__(self) -> None:
        self.on_stop: Callable[[], object] = lambda: None
        self.said: list[Said] = []

    def answer(self, item: object, value: object) -> None:
        assert isinstance(item, Part)
        assert value is None or isinstance(value, MadePart)
        self.said.append((item, value))

    def news(self, value: object) -> None:
        assert isinstance(value, LineCount)
        self.said.append(value)


def made(
    film: Path,
    out: Path,
    order: Callable[[Sequence[Part]], Sequence[Part]] = lambda parts: parts,
    progress: Callable[[FilmProgress], object] = lambda now: None,
    sharing: int = 2,
):
    """Make a film in FFV1 with several processes, one after another, in an order of parts."""
    info = film_info(film)

    def makers(work: FilmWork, left: Sequence[Part]) -> Iterator[Said]:
        ordered = order(left)
        for number in range(sharing):
            heard = Heard()
            end = make_parts(work, Plain(), ordered[number::sharing], heard, [])
            yield from heard.said
            yield end

    parts = split(info, 20)
    return SharedFilm(request(film, out, "ffv1"), parts, sharing, progress, print).run(makers)


def pictures(path: Path) -> list[bytes]:
    return [each.frame.pixels.tobytes() for each in read_frames(film_info(path), FilmReading())]


def test_parts_begin_at_key_frames_and_hold_every_frame_once(film):
    parts = split(film_info(film), 20).parts
    assert [part.frames for part in parts] == [20] * 6
    assert [part.first for part in parts] == TIMES[::20]
    assert all(one.until == other.first for one, other in pairwise(parts))
    assert parts[-1].until is None


def test_a_film_with_one_key_frame_is_not_split_and_says_why(tmp_path):
    film = write_film(tmp_path / "film.mp4", TIMES, look=ONE_KEY)
    found = split(film_info(film), 20)
    assert len(found.parts) == 1
    assert "no second key frame" in found.reason


@pytest.mark.parametrize(
    "look",
    [
        Look(options=(("crf", "1"), ("x264-params", f"{OPEN}:bframes=3"))),
        Look("libx265", options=(("crf", "1"), ("x265-params", f"{OPEN}:log-level=none"))),
        Look(options=REFRESHED),
    ],
    ids=["open H.264", "open HEVC", "refreshed"],
)
def test_key_frames_that_are_no_clean_cut_leave_no_seam(tmp_path, look):
    film = write_film(
        tmp_path / "film.mp4", TIMES, lambda n: numbered(n)[:, :: 1 - 2 * (n % 2)], look
    )
    info = film_info(film)
    parts = split(info, 20).parts
    assert len(parts) > 3
    joined = [
        frame
        for part in parts
        for frame in read_frames(info, FilmReading(), part.first - 1, part.until)
    ]
    assert [frame.pts for frame in joined] == TIMES
    assert [frame.frame.pixels.tobytes() for frame in joined] == pictures(film)


def test_a_shared_film_is_that_of_one_process_bit_for_bit(film, tmp_path):
    alone, shared = tmp_path / "alone.mkv", tmp_path / "shared.mkv"
    FilmJob(request(film, alone, "ffv1"), Plain()).run()
    report = made(film, shared, order=lambda parts: parts[::-1])
    assert (report.frames, report.faults) == (len(TIMES), ())
    assert times_of(shared) == times_of(alone)
    assert pictures(shared) == pictures(alone)
    assert packets_of(shared, "audio") == packets_of(alone, "audio")
    assert not store_folder(shared).exists()


def test_a_codec_that_decodes_frames_in_another_order_is_joined_without_a_seam(film, tmp_path):
    out = tmp_path / "out.mp4"

    def makers(work: FilmWork, left: Sequence[Part]) -> Iterator[Said]:
        heard = Heard()
        end = make_parts(work, Plain(), left, heard, [])
        yield from [*heard.said, end]

    parts = split(film_info(film), 20)
    SharedFilm(request(film, out, "h264"), parts, 1, lambda now: None, print).run(makers)
    assert times_of(out) == times_of(film)
    decoded = [packet[0] for packet in packets_of(out, "video")]
    assert len(decoded) == len(TIMES)


@pytest.mark.full
def test_a_shared_film_that_was_stopped_goes_on_with_the_parts_that_are_left(film, tmp_path):
    out = tmp_path / "out.mkv"
    with pytest.raises(FilmCancelled, match="40 frames are finished"):
        made(film, out, order=lambda parts: [parts[4], parts[1]])
    seen: list[int] = []

    def left(parts: Sequence[Part]) -> Sequence[Part]:
        seen.extend(part.number for part in parts)
        return parts

    counts: list[FilmProgress] = []
    report = made(film, out, left, counts.append)
    assert seen == [0, 2, 3, 5]
    assert (report.resumed, report.frames) == (40, len(TIMES))
    made(film, tmp_path / "whole.mkv")
    assert times_of(out) == times_of(tmp_path / "whole.mkv")
    assert pictures(out) == pictures(tmp_path / "whole.mkv")
    assert counts[-1].done == counts[-1].count == len(TIMES)


def test_parts_of_one_process_are_not_mixed_with_those_of_several(film, tmp_path):
    out = tmp_path / "out.mkv"
    with pytest.raises(FilmCancelled):
        made(film, out, order=lambda parts: parts[:1])
    alone = request(film, out, "ffv1")
    with SegmentStore(out, alone.whole_identity) as store:
        assert not store.segments


def test_a_part_of_which_no_frame_can_be_read_is_answered_too(film, tmp_path):
    between = Part(3, TIMES[5] + 1, TIMES[5] + 2, 1)
    heard = Heard()
    make_parts(
        FilmWork(request(film, tmp_path / "out.mkv", "ffv1"), tmp_path),
        Plain(),
        [between],
        heard,
        [],
    )
    assert heard.said == [(between, None)]
