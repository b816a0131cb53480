"""Long jobs on styles run one after another, report their steps, and can be canceled."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PIL import Image

from app.background_jobs import Jobs
from app.live.style_jobs import StyleJobs
from app.styles.any_style_networks import SHIPPED
from app.styles.catalog import BUILTIN, Catalog
from tests.helpers.any_style import save_tiny
from tests.helpers.errors import mentions


@pytest.fixture
def catalog(tmp_path) -> Catalog:
    for seed, name in enumerate(SHIPPED):
        save_tiny(tmp_path / "builtin" / "any_style" / name, seed)
    return Catalog(tmp_path / "builtin" / "styles", tmp_path / "user" / "styles")


@pytest.fixture
def jobs(catalog, qtbot):
    pool = Jobs()
    jobs = StyleJobs(catalog, pool)
    yield jobs
    jobs.close()
    assert pool.close()


def picture(folder: Path, name: str) -> Path:
    path = folder / f"{name}.png"
    Image.new("RGB", (40, 30), name).save(path)
    return path


def test_pictures_become_styles_in_their_order(jobs, catalog, tmp_path, qtbot):
    made: list[str] = []
    said: list[str] = []
    jobs.progress.connect(said.append)
    for name in ("red", "teal", "gold"):
        path = picture(tmp_path, name)
        jobs.install_picture(path, "", lambda style: made.append(style.key))
    assert jobs.busy
    qtbot.waitUntil(lambda: not jobs.busy, timeout=10_000)
    assert made == ["red", "teal", "gold"]
    assert "red.png" in said[0]
    assert any(mentions(each, "red.png", "its style", "2 more") for each in said)
    assert any(mentions(each, "gold.png", "saving") for each in said)
    assert said[-1] == ""


def test_what_fails_is_a_problem_and_the_next_is_done(jobs, catalog, tmp_path, qtbot):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    problems: list[str] = []
    jobs.problem.connect(lambda problem: problems.append(problem.summary))
    made: list[str] = []
    for path in (bad, picture(tmp_path, "red")):
        jobs.install_picture(path, "", lambda style: made.append(style.key))
    qtbot.waitUntil(lambda: not jobs.busy, timeout=10_000)
    assert made == ["red"]
    [summary] = problems
    assert mentions(summary, "bad.png", "not a picture")


def test_a_style_in_use_is_prepared_before_the_pictures_that_wait(
    jobs, catalog, tmp_path, qtbot, monkeypatch
):
    style = catalog.install_picture(picture(tmp_path, "plum"))
    going, install = threading.Event(), catalog.install_picture

    def slow(*args, **how):
        assert going.wait(10)
        return install(*args, **how)

    monkeypatch.setattr(catalog, "install_picture", slow)
    ended: list[str] = []
    for name in ("red", "teal"):
        path = picture(tmp_path, name)
        jobs.install_picture(path, "", lambda style: ended.append(style.key))
    assert jobs.unprepared((style.key,)) == (style.key,)
    jobs.prepare((style.key,), lambda: ended.append("prepared"), ended.clear)
    going.set()
    qtbot.waitUntil(lambda: not jobs.busy, timeout=10_000)
    assert ended == ["red", "prepared", "teal"]
    assert jobs.unprepared((style.key,)) == ()
    jobs.forget(style.key)
    assert jobs.unprepared((style.key,)) == (style.key,)


def test_networks_of_their_own_need_no_preparing(qtbot, tmp_path):
    pool = Jobs()
    jobs = StyleJobs(Catalog(BUILTIN, tmp_path / "none"), pool)
    assert jobs.unprepared(("candy", "unknown")) == ()
    assert pool.close()


def test_cancel_ends_what_is_done_and_what_waits(jobs, catalog, tmp_path, qtbot, monkeypatch):
    going, install = threading.Event(), catalog.install_picture

    def slow(*args, **how):
        assert going.wait(10)
        return install(*args, **how)

    monkeypatch.setattr(catalog, "install_picture", slow)
    problems: list[object] = []
    jobs.problem.connect(problems.append)
    made: list[str] = []
    for name in ("red", "teal"):
        jobs.install_picture(picture(tmp_path, name), "", made.append)
    jobs.cancel()
    going.set()
    qtbot.waitUntil(lambda: not jobs.busy, timeout=10_000)
    assert (made, problems, catalog.styles) == ([], [], ())
    jobs.install_picture(picture(tmp_path, "gold"), "Sun", lambda style: made.append(style))
    qtbot.waitUntil(lambda: not jobs.busy, timeout=10_000)
    assert [style.title for style in catalog.styles] == ["Sun"]
