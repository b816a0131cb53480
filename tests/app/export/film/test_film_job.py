"""A film has every frame of its source in its colors; a stopped one resumes where it ended."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.export.film.assembly import FilmOutput, decode_times
from app.export.film.codecs import CODECS, CONTAINERS
from app.export.film.fault import FilmError
from app.export.film.job import FilmCancelled, FilmJob
from app.export.film.reader import FilmReading, film_info, read_frames
from app.export.film.store import SegmentStore, store_folder
from tests.app.export.film.conftest import Plain, copy, request
from tests.helpers.errors import mentions
from tests.helpers.films import (
    BT601,
    BT709,
    UNEVEN,
    Look,
    numbered,
    packets_of,
    ramp,
    times_of,
    write_film,
)
from utils.pyav import av

ROOT = Path(__file__).parents[4]
FILMS = {codec: row for codec, row in CODECS.items() if not row.animation}
FILES = [(codec, ending) for codec, row in FILMS.items() for ending in row.containers]


def pictures(path: Path) -> list[np.ndarray]:
    return [each.frame.pixels for each in read_frames(film_info(path), FilmReading())]


@pytest.mark.parametrize(("codec", "ending"), FILES)
def test_every_frame_comes_out_at_its_time(tmp_path, codec, ending):
    film = write_film(tmp_path / "film.mp4", picture=lambda n: numbered(n, 128, 96))
    out = tmp_path / f"out{ending}"
    report = copy(film, out, codec)
    assert (report.frames, report.faults) == (len(UNEVEN), ())
    exact = CONTAINERS[ending] != "matroska"  # its clock counts milliseconds
    assert [float(time) for time in times_of(out)] == pytest.approx(
        [float(time) for time in times_of(film)], abs=0 if exact else 5.1e-4
    )
    levels = [int(pixels[-4, -4, 0]) for pixels in pictures(out)]
    assert levels == pytest.approx([int(numbered(n)[-1, -1, 0]) for n in range(12)], abs=3)
    assert not store_folder(out).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"film.mp4", out.name})


LOSSLESS = {"h264": {"qp": "0"}, "hevc": {"x265-params": "log-level=none:lossless=1"}}


@pytest.mark.parametrize("codec", FILMS)
@pytest.mark.parametrize("full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", [BT601, BT709], ids=["601", "709"])
def test_a_gray_ramp_comes_out_within_one_of_255(tmp_path, matrix, full, codec):
    look = Look(matrix=matrix, full=full, options=(("qp", "0"),))
    film = write_film(tmp_path / "ramp.mp4", [0, 1001], lambda _: ramp(256, 128), look)
    out = tmp_path / f"out{CODECS[codec].containers[0]}"
    planned = request(film, out, codec)
    encoding = planned.encoding
    if codec in LOSSLESS:  # losses of the codec itself do not concern colors
        encoder = replace(encoding.encoder, options={}, qualities={"best": LOSSLESS[codec]})
        encoding = replace(encoding, encoder=encoder)
        output = FilmOutput(planned.info, encoding, CONTAINERS[out.suffix])
        planned = replace(planned, encoding=encoding, output=output)
    FilmJob(planned, Plain()).run()
    first = pictures(out)[0].astype(int)
    assert np.abs(first - ramp(256, 128)).max() <= 1
    if CODECS[codec].rgb:
        return
    colors = film_info(out).colors
    assert (colors.matrix, colors.full) == (matrix, full and not CODECS[codec].limited)


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize(("quality", "share"), [("good", 0.015), ("best", 0.005)])
def test_a_codec_that_loses_something_moves_few_grays_by_two(tmp_path, codec, quality, share):
    look = Look(matrix=BT709, options=(("qp", "0"),))
    film = write_film(tmp_path / "ramp.mp4", range(0, 5000, 1001), lambda _: ramp(640, 360), look)
    copy(film, tmp_path / "out.mp4", codec, quality=quality)
    off = np.abs(np.array(pictures(tmp_path / "out.mp4"), int) - ramp(640, 360))
    assert off.max() <= 3
    assert (off > 1).mean() <= share


def test_ten_bits_come_in(tmp_path):
    look = Look(pixels="yuv420p10le", matrix=BT709, options=(("qp", "0"),))
    film = write_film(tmp_path / "ramp.mp4", [0], lambda _: ramp(256, 128), look)
    copy(film, tmp_path / "out.mkv", "ffv1")
    assert np.abs(pictures(tmp_path / "out.mkv")[0].astype(int) - ramp(256, 128)).max() <= 1


def test_an_odd_size_is_cut_to_an_even_one_and_said(tmp_path):
    look = Look(pixels="yuv444p")
    film = write_film(tmp_path / "film.mp4", picture=lambda n: numbered(n, 75, 61), look=look)
    report = copy(film, tmp_path / "out.mp4")
    (remark,) = report.remarks
    assert mentions(remark, "74x60", "75x61", "H.264")
    lossless = copy(film, tmp_path / "out.mkv", "ffv1")
    assert lossless.remarks == ()
    assert pictures(tmp_path / "out.mkv")[0].shape == (61, 75, 3)


def test_packets_are_decoded_in_time_and_in_order():
    shown = [0, 3003, 1001, 2002, 9000, 4004, 8000, 9001]
    decoded = decode_times(shown)
    assert all(a < b for a, b in itertools.pairwise(decoded))
    assert all(decode <= show for decode, show in zip(decoded, shown, strict=True))
    assert decode_times([5, 6, 9]) == [5, 6, 9]


class Stopped(Exception):
    """Raised by a test to stop a film."""


class Stopping(Plain):
    """A styling that fails after a number of frames."""

    def __init__(self, after: int, batch: int = 2) -> None:
        super().__init__(batch)
        self._after = after

    def begin(self, frames):
        if len(self.seen) >= self._after:
            raise Stopped
        yield from super().begin(frames)


def stopped(film, out, after, batch=2, **how):
    """Run a job that fails after `after` frames, and return the number of finished frames."""
    job = FilmJob(request(film, out, **how), Stopping(after, batch))
    with pytest.raises(Stopped):
        job.run()
    assert not out.exists()
    with SegmentStore(out, job._identity()) as store:
        return store.frames


def test_a_film_goes_on_behind_its_finished_parts_and_ends_in_the_same_bits(tmp_path):
    """FFV1 is deterministic; x264 does not always code small frames identically twice."""
    film = write_film(tmp_path / "film.mp4", sound="aac")
    copy(film, tmp_path / "whole.mkv", "ffv1")
    out = tmp_path / "out.mkv"
    assert stopped(film, out, 10, codec="ffv1") in (4, 8)
    styling = Plain()
    report = FilmJob(request(film, out, "ffv1"), styling).run()
    assert report.resumed in (4, 8)
    assert len(styling.seen) == len(UNEVEN) - report.resumed
    for kind in ("video", "audio"):
        assert packets_of(out, kind) == packets_of(tmp_path / "whole.mkv", kind)
    assert not store_folder(out).exists()


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_where_results_depend_on_those_before_them_batches_stay_the_same(
    tmp_path, monkeypatch, batch
):
    """A resumed film begins its batches at the same frames as an uninterrupted one."""
    monkeypatch.setattr(Plain, "has_history", True)
    film = write_film(tmp_path / "film.mp4")
    whole = Plain(batch)
    FilmJob(request(film, tmp_path / "whole.mp4"), whole).run()
    out = tmp_path / "out.mp4"
    finished = stopped(film, out, 9, batch)
    styling = Plain(batch)
    FilmJob(request(film, out), styling).run()
    assert styling.seen == whole.seen[finished // batch * batch :]
    assert times_of(out) == times_of(film)


@pytest.mark.parametrize("change", [{"quality": "small"}, {"identity": {"style": "other"}}])
def test_parts_that_were_made_otherwise_are_not_used(tmp_path, change):
    film = write_film(tmp_path / "film.mp4")
    stopped(film, tmp_path / "out.mp4", 10)
    report = FilmJob(request(film, tmp_path / "out.mp4", **change), Plain()).run()
    assert (report.resumed, report.frames) == (0, len(UNEVEN))


def test_a_part_that_was_cut_off_is_made_again(tmp_path):
    film = write_film(tmp_path / "film.mp4")
    out = tmp_path / "out.mp4"
    finished = stopped(film, out, 10)
    last = sorted(store_folder(out).glob("*.coded"))[-1]
    last.write_bytes(last.read_bytes()[:-1])
    report = FilmJob(request(film, out), Plain()).run()
    assert report.resumed == finished - 4
    assert times_of(out) == times_of(film)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from app.export.film.job import FilmJob
    from tests.app.export.film.conftest import Plain, request

    class Dying(Plain):
        def begin(self, frames):
            out = Path(sys.argv[2])
            if len(self.seen) >= 10:
                from app.export.film.store import store_folder
                while not (store_folder(out) / "000000.json").exists():
                    pass
                os.kill(os.getpid(), signal.SIGKILL)
            yield from super().begin(frames)

    FilmJob(request(Path(sys.argv[1]), Path(sys.argv[2])), Dying()).run()
"""


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_process_that_was_killed_leaves_parts_that_are_used(tmp_path):
    film, out = write_film(tmp_path / "film.mp4"), tmp_path / "out.mp4"
    script = textwrap.dedent(KILLED)
    done = subprocess.run(
        [sys.executable, "-c", script, str(film), str(out)], cwd=ROOT, check=False
    )
    assert done.returncode == -signal.SIGKILL
    report = copy(film, out)
    assert report.resumed >= 4
    assert times_of(out) == times_of(film)


def test_a_second_process_is_kept_out(tmp_path):
    film, out = write_film(tmp_path / "film.mp4"), tmp_path / "out.mp4"
    job = FilmJob(request(film, out), Plain())
    with (
        SegmentStore(out, job._identity()),
        pytest.raises(FilmError, match=r"another process .*'out.mp4'"),
    ):
        job.run()


def test_a_cancelled_film_keeps_what_is_finished(tmp_path):
    film, out = write_film(tmp_path / "film.mp4", range(0, 60_000, 1001)), tmp_path / "out.mp4"
    job = FilmJob(request(film, out), Plain(), lambda progress: progress.done > 30 and job.cancel())
    with pytest.raises(FilmCancelled, match=r"'out.mp4' .*\d+ frames are"):
        job.run()
    assert not out.exists()
    report = copy(film, out)
    assert report.resumed >= 4
    assert times_of(out) == times_of(film)


def test_a_paused_film_waits_until_it_goes_on(tmp_path):
    film, out = write_film(tmp_path / "film.mp4"), tmp_path / "out.mp4"
    seen: list[int] = []
    paused = threading.Event()

    def progressed(progress):
        seen.append(progress.done)
        if progress.done == 4:
            job.pause()
            paused.set()

    job = FilmJob(request(film, out), Plain(), progressed)
    thread = threading.Thread(target=job.run)
    thread.start()
    assert paused.wait(30)
    thread.join(0.2)
    assert thread.is_alive()
    assert seen == [2, 4]
    job.resume()
    thread.join(30)
    assert seen[-1] == len(UNEVEN)
    assert times_of(out) == times_of(film)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of files")
def test_a_full_disk_keeps_what_is_finished(tmp_path):
    import resource

    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (12, 128, 128, 3), np.uint8)
    noise[:8] = 90  # some parts fit, and one does not
    film = write_film(tmp_path / "film.mp4", picture=lambda n: noise[n])
    out = tmp_path / "out.mp4"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(FilmError, match=r"'out.mp4' .*8 frames"):
            copy(film, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not out.exists()
    assert not list(tmp_path.rglob("*.part"))
    report = copy(film, out)
    assert report.resumed == 8
    assert times_of(out) == times_of(film)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("ending", [".mp4", ".gif", ".webp"])
def test_a_disk_that_holds_the_parts_and_not_the_film_keeps_them(tmp_path, ending):
    import resource

    noise = np.random.default_rng(0).integers(0, 255, (12, 96, 96, 3), np.uint8)
    film = write_film(tmp_path / "film.mp4", picture=lambda n: noise[n])
    out = tmp_path / f"out{ending}"
    codec = "h264" if ending == ".mp4" else ending[1:]
    copy(film, out, codec)
    whole = out.stat().st_size
    out.unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole * 2 // 3, before[1]))
    try:
        with pytest.raises(FilmError, match=r"cannot make .*12 frames"):
            copy(film, out, codec)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not out.exists()
    assert copy(film, out, codec).resumed == 12
    assert out.stat().st_size == pytest.approx(whole, rel=0.1)


def test_damaged_packets_are_passed_over_and_counted(tmp_path):
    look = Look(options=(("crf", "1"), ("g", "1"), ("bf", "0")))
    film = write_film(tmp_path / "film.mkv", range(0, 30_000, 1001), look=look)
    with av.open(str(film)) as whole:
        packets = [bytes(packet) for packet in whole.demux(video=0) if packet.size]
    data = film.read_bytes()
    broken = packets[9]
    film.write_bytes(data.replace(broken[4:], bytes(len(broken) - 4)))
    out = tmp_path / "out.mp4"
    report = copy(film, out)
    assert report.frames == len(packets) - 1
    assert mentions(report.faults[0], "1 packet", "decoded")
    assert len(times_of(out)) == report.frames


def test_a_film_that_was_cut_off_is_made_up_to_there_and_says_so(tmp_path):
    look = Look(options=(("crf", "1"), ("g", "1")))
    made = write_film(tmp_path / "film.mp4", range(0, 60_000, 1001), look=look, sound="aac")
    copy(made, tmp_path / "whole.mp4")  # its index is at the front
    whole = (tmp_path / "whole.mp4").read_bytes()
    made.write_bytes(whole[: len(whole) // 2])
    out = tmp_path / "out.mp4"
    report = copy(made, out)
    assert 10 < report.frames < 55
    assert any(f"{report.frames} of 60" in each for each in report.faults)
    assert len(times_of(out)) == report.frames


def test_a_request_reaches_another_process(tmp_path):
    film = write_film(tmp_path / "film.mp4")
    for out in (tmp_path / "out.mp4", tmp_path / "out.webp"):
        planned = request(film, out, "webp" if out.suffix == ".webp" else "h264")
        again = pickle.loads(pickle.dumps(planned))
        assert (again.encoding, again.info) == (planned.encoding, planned.info)
        assert FilmJob(again, Plain()).run().frames == len(UNEVEN)


def test_progress_says_how_far_a_film_is(tmp_path):
    seen = []
    film = write_film(tmp_path / "film.mp4")
    FilmJob(request(film, tmp_path / "out.mp4"), Plain(), seen.append).run()
    assert [progress.done for progress in seen] == [2, 4, 6, 8, 10, 12]
    assert {progress.count for progress in seen} == {12}
    assert seen[-1].seconds_left == 0
    assert all(progress.fps > 0 for progress in seen)
    assert int(seen[-1].styled.frame.pixels[-4, -4, 0]) == pytest.approx(119, abs=2)


def test_the_last_frame_is_shown_as_long_as_it_was(tmp_path):
    film = write_film(tmp_path / "film.mp4", [0, 3000, 6000], base=Fraction(1, 30000))
    copy(film, tmp_path / "out.mp4")
    assert packets_of(tmp_path / "out.mp4", "video")[-1][1] == packets_of(film, "video")[-1][1]
