"""The pictures of a film with texture and smoothing do not depend on where a run was cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.engine.engine import Engine, EngineError
from app.export.film.fault import FilmError
from app.export.film.job import FilmJob, FilmProgress
from app.export.film.reader import FilmReading, film_info, read_frames
from app.export.film.report import FilmReport
from app.export.film.store import History, SegmentStore, store_folder
from app.export.film.styling import FilmStyling
from app.styles.catalog import Catalog
from tests.app.export.film.conftest import request
from tests.helpers.films import Look, write_film

FRAMES, PART = 40, 8
CUT = 21  # the first frame of another scene
PATIENCE_S = 60.0

Make = Callable[..., FilmReport]


def scene(number: int) -> np.ndarray:
    """Return a view of dark things on a wall, moving right; from CUT on, another, moving down.

    The wall is flat enough to get texture.
    """
    rng = np.random.default_rng(3 + (number >= CUT))
    wall = np.full((240, 320, 3), 150 - 30 * (number >= CUT), np.uint8)
    for x, y in rng.integers(0, (320, 240), (14, 2)):
        wall[y : y + 7, x : x + 7] = rng.integers(0, 90, 3)
    x, y = (2 * number, 0) if number < CUT else (40, 2 * (number - CUT))
    return np.ascontiguousarray(wall[y + 20 : y + 116, x + 20 : x + 148])


def pictures(path: Path) -> np.ndarray:
    """Return the frames of a film, [N, H, W, 3]."""
    return np.array([each.frame.pixels for each in read_frames(film_info(path), FilmReading())])


@pytest.fixture
def film(tmp_path: Path) -> Path:
    look = Look(options=(("crf", "1"), ("g", "12")))
    return write_film(tmp_path / "film.mp4", range(0, FRAMES * 1001, 1001), scene, look)


@pytest.fixture
def make(film: Path, catalog: Catalog, native_kernels) -> Make:
    """Return a function that makes the film, with a new engine for each run."""

    def made(
        out: Path,
        *,
        batch: int = 1,
        stop: int = 0,
        device: str = "cpu",
        smoothing: float = 0.8,
        texture: float = 0.7,
    ) -> FilmReport:
        """Make the film; a run with `stop` fails after that many frames."""
        engine = Engine(catalog)
        look = EngineConfig(device=device, size=96, network="lite", smoothing=smoothing)
        engine.configure(replace(look, texture=texture))

        def fail(progress: FilmProgress) -> None:
            if stop and progress.done >= stop:
                end, parts = time.monotonic() + PATIENCE_S, stop // PART - 1
                while not (store_folder(out) / f"{parts - 1:06d}.json").exists():
                    assert time.monotonic() < end
                    time.sleep(0.01)
                raise Stopped

        styling = FilmStyling(engine, batch)
        planned = request(film, out, "ffv1", part=PART)
        return FilmJob(planned, styling, fail).run()

    return made


class Stopped(Exception):
    """Raised to stop a run."""


def stopped(make: Make, out: Path, stop: int, **how: object) -> None:
    with pytest.raises(Stopped):
        make(out, stop=stop, **how)


LOOKS = {
    "both": {},
    "smoothing": {"texture": 0.0},
    "texture": {"smoothing": 0.0},
}
DAILY = ("both", 3), ("smoothing", 1)
looks_in_batches = pytest.mark.parametrize(
    ("look", "batch"),
    [
        pytest.param(look, batch, marks=[] if (look, batch) in DAILY else pytest.mark.full)
        for look in LOOKS
        for batch in (1, 3)
    ],
)


def shows_no_cut(make: Make, folder: Path, *, batch: int, **how: object) -> None:
    """Make the film in one run and in three, and compare every frame."""
    make(folder / "whole.mkv", batch=batch, **how)
    out = folder / "out.mkv"
    stopped(make, out, 16 + batch, batch=batch, **how)
    stopped(make, out, 32, batch=batch, **how)
    report = make(out, batch=batch, **how)
    assert report.resumed >= 2 * PART
    assert report.frames == FRAMES
    whole, resumed = pictures(folder / "whole.mkv"), pictures(out)
    assert [int(np.abs(a.astype(int) - b).max()) for a, b in zip(whole, resumed, strict=True)] == [
        0
    ] * FRAMES


@looks_in_batches
def test_a_film_that_was_stopped_twice_is_that_of_one_run(make, tmp_path, look, batch):
    shows_no_cut(make, tmp_path, batch=batch, **LOOKS[look])


@pytest.mark.gpu
@looks_in_batches
def test_on_a_gpu_a_film_that_was_stopped_twice_is_that_of_one_run(make, tmp_path, look, batch):
    shows_no_cut(make, tmp_path, batch=batch, device="cuda", **LOOKS[look])


@pytest.mark.full
def test_without_what_was_kept_a_film_would_differ_behind_the_cut_of_a_run(
    make, tmp_path, monkeypatch
):
    """This shows that the tests above can fail."""
    make(tmp_path / "whole.mkv")
    out = tmp_path / "out.mkv"
    stopped(make, out, 24)
    monkeypatch.setattr(FilmStyling, "restore", lambda self, history: None)
    report = make(out)
    first = report.resumed
    error = np.abs(pictures(tmp_path / "whole.mkv").astype(int) - pictures(out))
    assert error[:first].max() == 0
    assert error[first].max() > 10


@pytest.mark.full
def test_where_the_newest_history_is_damaged_the_part_before_it_is_gone_on_from(make, tmp_path):
    make(tmp_path / "whole.mkv")
    out = tmp_path / "out.mkv"
    stopped(make, out, 32)
    histories = sorted(store_folder(out).glob("*.npz"))
    assert len(histories) == 2
    data = bytearray(histories[-1].read_bytes())
    data[len(data) // 2] ^= 0xFF
    histories[-1].write_bytes(data)
    report = make(out)
    assert report.resumed == PART * int(histories[-1].stem)
    assert np.array_equal(pictures(tmp_path / "whole.mkv"), pictures(out))


def test_frames_that_leave_nothing_have_no_history(make, tmp_path):
    out = tmp_path / "out.mkv"
    stopped(make, out, 24, smoothing=0.0, texture=0.0)
    assert not list(store_folder(out).glob("*.npz"))
    assert make(out, smoothing=0.0, texture=0.0).resumed >= 2 * PART


def test_what_other_kernels_have_kept_is_a_sentence_and_no_jump(make, tmp_path, monkeypatch):
    out = tmp_path / "out.mkv"
    stopped(make, out, 24)

    def other(self, history):
        raise EngineError("the saved state of the stream comes from other kernels")

    monkeypatch.setattr(FilmStyling, "restore", other)
    with pytest.raises(FilmError, match=r"'out.mkv': .* delete .*film'"):
        make(out)


def test_a_store_gives_back_what_it_was_given(tmp_path):
    kept = {"a.b": np.arange(6, dtype=np.int16).reshape(2, 3), "c": np.array(True)}
    with SegmentStore(tmp_path / "film.mkv", {}) as store:
        for number in range(3):
            part = store.begin(number)
            part.write_bytes(b"packets")
            store.add(number, part, 100 * number, [0, 10, 20], 10, History(100 * number + 10, kept))
    with SegmentStore(tmp_path / "film.mkv", {}) as store:
        assert store.frames == 9
        assert store.history is not None
        assert store.history.after == 210
        assert store.frames_behind_history == 1
        for name, array in kept.items():
            assert np.array_equal(store.history.kept[name], array)
            assert store.history.kept[name].dtype == array.dtype
        store.remove()
