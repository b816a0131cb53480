"""Runs on disk: a paused one is found again and resumes, a canceled one leaves nothing."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from app.styles.catalog import Catalog
from app.styles.pack import StyleError
from app.training import controller as studio_module
from app.training.controller import TrainingController
from app.training.request import TrainingRequest
from app.training.run_store import RunDirectory, RunError, RunStore, read_run
from app.training.state import Phase
from models.training.style_pack import PackTexts, write_pack
from models.transformer_net import TransformerNetBaseline
from tests.app.training.conftest import LONG, PATIENCE, fields, learning, until
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.models.training.conftest import small_files


@pytest.mark.full
def test_a_paused_run_is_found_at_the_next_start_and_goes_on(
    studio, order, own_catalog, qtbot, runs
):
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    state = until(qtbot, studio, Phase.PAUSED)
    assert state.run is not None
    done = studio.history[-1].iteration
    assert state.run.checkpoint.is_file()
    assert state.run.iteration == done
    assert not studio._process.running
    studio.close()

    later = TrainingController(own_catalog)
    with qtbot.waitSignal(later.unfinished_changed) as found:
        later.look_for_unfinished()
    ((run,),) = found.args
    assert (run.title, run.iteration) == ("Red stripes", done)
    later.attach(run)
    later.resume()
    learning(qtbot, later, steps=done + 2)
    assert [p.iteration for p in later.history] == list(range(1, len(later.history) + 1))
    later.cancel()
    until(qtbot, later, Phase.IDLE)
    assert not list(runs.iterdir())
    later.close()


@pytest.mark.full
def test_cancelling_leaves_nothing(studio, order, own_catalog, qtbot, runs):
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    assert len(list(runs.iterdir())) == 1
    studio.cancel()
    state = until(qtbot, studio, Phase.IDLE)
    assert state.problem is None
    assert not list(runs.iterdir())
    assert not own_catalog.styles


@pytest.mark.full
def test_cancelling_while_measuring_leaves_nothing(studio, order, qtbot, runs):
    studio.start(order, None)
    until(qtbot, studio, Phase.MEASURING)
    studio.cancel()
    assert until(qtbot, studio, Phase.IDLE).problem is None
    assert not list(runs.iterdir())


def test_a_folder_that_is_being_made_is_deleted_only_after_a_day(tmp_path):
    new, old, discarded = (tmp_path / name for name in (".begun-new", ".begun-old", ".discarded-a"))
    for folder in (new, old, discarded):
        folder.mkdir()
    a_day_ago = time.time() - 86_500
    os.utime(old, (a_day_ago, a_day_ago))
    RunStore(tmp_path).clear_leftovers()
    assert [folder.exists() for folder in (new, old, discarded)] == [True, False, False]


def test_a_run_that_is_no_run_is_left_alone(tmp_path, order):
    (tmp_path / "runs" / "other").mkdir(parents=True)
    (tmp_path / "runs" / "other" / "run.json").write_text('{"format": 1, "title": 3}')
    runs = RunStore(tmp_path / "runs")
    assert runs.all() == ()
    run = runs.create(order, picture(), picture())
    assert runs.all() == (run,)
    assert read_run(run.path).arguments() == run.arguments()
    assert not runs.is_stale(run)
    with pytest.raises(RunError, match="not a training run"):
        runs.delete(read_elsewhere(run, tmp_path))
    runs.delete(run)
    assert runs.all() == ()


def read_elsewhere(run, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_bytes((run.path / "run.json").read_bytes())
    return read_run(elsewhere)


@pytest.mark.full
def test_a_run_another_window_works_on_is_not_offered(studio, order, own_catalog, qtbot):
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    run = until(qtbot, studio, Phase.PAUSED).run
    other = TrainingController(own_catalog)
    with qtbot.waitSignal(other.unfinished_changed) as found:
        other.look_for_unfinished()
    assert found.args == [()]
    assert run is not None
    other.attach(run)
    assert other.state.problem is not None
    assert "another window" in other.state.problem.summary
    other.close()


# After a crash


def begun(runs: Path, order: TrainingRequest) -> RunDirectory:
    run = RunStore(runs).create(order, picture(), picture())
    run.checkpoint.parent.mkdir()
    run.checkpoint.write_bytes(b"a checkpoint")
    return run


def offered(qtbot, catalog: Catalog) -> tuple[tuple[RunDirectory, ...], TrainingController]:
    studio = TrainingController(catalog)
    with qtbot.waitSignal(studio.unfinished_changed) as found:
        studio.look_for_unfinished()
    studio.close()
    return found.args[0], studio


@pytest.mark.full
def test_the_losses_of_a_killed_process_have_no_gap_and_no_duplicate(
    studio, order, qtbot, monkeypatch
):
    # writes checkpoints as often as possible
    monkeypatch.setattr(studio_module, "CHECKPOINT_INTERVAL_S", 0)
    studio.start(TrainingRequest(**{**fields(order), "preset": LONG}), None)
    qtbot.waitUntil(
        lambda: studio.state.run is not None and studio.state.run.checkpoint.is_file(),
        timeout=PATIENCE,
    )
    learning(qtbot, studio, len(studio.history) + 2)  # past the checkpoint
    process = studio._process._process
    assert process is not None
    psutil.Process(process.processId()).kill()
    until(qtbot, studio, Phase.PAUSED)
    before = len(studio.history)
    began = studio.history
    studio.resume()
    qtbot.waitUntil(lambda: studio.state.phase is Phase.TRAINING, timeout=PATIENCE)
    learning(qtbot, studio, before + 3)
    assert studio.history is began, "the curves follow this list"
    assert [p.iteration for p in studio.history] == list(range(1, len(studio.history) + 1))
    studio.cancel()
    until(qtbot, studio, Phase.IDLE)


@pytest.mark.parametrize("content", [b"", b"1\nanother\nmachine\n"])
def test_the_lock_of_a_dead_window_does_not_block(qtbot, order, own_catalog, runs, content):
    run = begun(runs, order)
    (run.path / "lock").write_bytes(content)
    found, _ = offered(qtbot, own_catalog)
    assert [each.path for each in found] == [run.path]


def test_half_a_run_is_never_offered_and_goes_in_time(qtbot, order, own_catalog, runs):
    run = begun(runs, order)
    made = runs / ".begun-a-run"  # killed during its creation, today and two days ago
    made.mkdir()
    old = runs / ".begun-an-older-run"
    old.mkdir()
    os.utime(old, (1e9, 1e9))
    run.path.rename(runs / ".discarded-a-run")  # killed during its deletion
    assert offered(qtbot, own_catalog)[0] == ()
    assert list(runs.iterdir()) == [made]


def test_a_run_that_cannot_be_completed_leaves_no_folder(order, runs):
    with small_files(100), pytest.raises(RunError, match="could not be written"):
        RunStore(runs).create(order, picture(), picture())
    assert list(runs.iterdir()) == []


@pytest.mark.parametrize(
    "history",
    [
        3,
        [[1, 2]],
        [["one", 1, 1, 1]],
        [[2, 1, 1, 1], [1, 1, 1, 1]],
        [[1, 1, 1, float("inf")]],
        None,
    ],
    ids=str,
)
def test_a_damaged_history_costs_only_the_history(order, runs, history):
    run = begun(runs, order)
    values = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(values | {"history": history}))
    assert RunStore(runs).all() == (run,)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\xff", b"[" * 100_000, b"3", b'{"format": 1, "title": "x"}'),
        *("endless", "elsewhere", "untitled"),
    ],
    ids=lambda content: str(content)[:20],
)
def test_a_damaged_description_is_told_with_what_can_be_used(
    qtbot, order, own_catalog, runs, content
):
    run = begun(runs, order)
    values = json.loads((run.path / "run.json").read_text())
    if content == "endless":
        content = json.dumps(values | {"iterations": float("inf")}).encode()
    elif content == "elsewhere":
        content = json.dumps(values | {"picture": "../elsewhere"}).encode()
    elif content == "untitled":
        content = json.dumps(values | {"title": " "}).encode()
    (run.path / "run.json").write_bytes(content)
    found, studio = offered(qtbot, own_catalog)
    assert found == ()
    assert studio.state.problem is not None
    told = studio.state.problem.summary
    assert mentions(told, str(run.path), "run.json", "missing")
    assert str(run.checkpoint) in told
    assert run.checkpoint.is_file()


def test_a_run_of_another_version_is_left_alone_in_silence(qtbot, order, own_catalog, runs):
    run = begun(runs, order)
    (run.path / "run.json").write_text('{"format": 2}')
    found, studio = offered(qtbot, own_catalog)
    assert found == ()
    assert studio.state.problem is None
    assert run.checkpoint.is_file()


# A style from another disk


@pytest.fixture
def pack_elsewhere(tmp_path: Path):
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    with tempfile.TemporaryDirectory(dir=memory) as place:
        pack = Path(place) / "style"
        write_pack(pack, PackTexts("Wave"), TransformerNetBaseline(1).state_dict(), picture(), {})
        yield pack


def test_a_pack_comes_from_another_disk_whole_or_not_at_all(own_catalog, pack_elsewhere):
    with small_files(50_000), pytest.raises(StyleError, match=r"could not .*too large"):
        own_catalog.move_in(pack_elsewhere)
    assert list(own_catalog.user.iterdir()) == []
    style = own_catalog.move_in(pack_elsewhere)
    assert [path.name for path in own_catalog.user.iterdir()] == ["wave"]
    assert style.title == "Wave"
    assert not pack_elsewhere.exists()


def test_the_title_of_a_run_is_shown_on_one_line(order, runs):
    run = begun(runs, order)
    values = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(values | {"title": "two\nlines" + "x" * 9000}))
    (found,) = RunStore(runs).all()
    assert found.title.startswith(r"two\nlines")
    assert len(found.title) <= 300
