"""Runs on disk: what is paused is found again and goes on, what is cancelled leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.studio.order import Order
from app.studio.runs import RunError, Runs, read
from app.studio.state import Phase
from app.studio.studio import Studio
from tests.conftest import picture
from tests.studio.conftest import LONG, fields, learning, until


def test_a_paused_run_is_found_at_the_next_start_and_goes_on(
    studio, order, own_library, qtbot, runs
):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    state = until(qtbot, studio, Phase.PAUSED)
    assert state.run is not None
    done = studio.history[-1].iteration
    assert state.run.checkpoint.is_file()
    assert state.run.iteration == done
    assert not studio._process.running
    studio.close()

    later = Studio(own_library)
    with qtbot.waitSignal(later.unfinished_changed) as found:
        later.look_for_unfinished()
    ((run,),) = found.args
    assert (run.title, run.iteration) == ("Red stripes", done)
    later.take_up(run)
    later.resume()
    learning(qtbot, later, steps=done + 2)
    assert [p.iteration for p in later.history] == list(range(1, len(later.history) + 1))
    later.cancel()
    until(qtbot, later, Phase.IDLE)
    assert not list(runs.iterdir())
    later.close()


def test_cancelling_leaves_nothing(studio, order, own_library, qtbot, runs):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    assert len(list(runs.iterdir())) == 1
    studio.cancel()
    state = until(qtbot, studio, Phase.IDLE)
    assert state.problem is None
    assert not list(runs.iterdir())
    assert not own_library.styles


def test_cancelling_while_measuring_leaves_nothing(studio, order, qtbot, runs):
    studio.begin(order, None)
    until(qtbot, studio, Phase.MEASURING)
    studio.cancel()
    assert until(qtbot, studio, Phase.IDLE).problem is None
    assert not list(runs.iterdir())


def test_a_run_that_is_no_run_is_left_alone(tmp_path, order):
    (tmp_path / "runs" / "other").mkdir(parents=True)
    (tmp_path / "runs" / "other" / "run.json").write_text('{"format": 1, "title": 3}')
    runs = Runs(tmp_path / "runs")
    assert runs.all() == ()
    run = runs.begin(order, picture(), picture())
    assert runs.all() == (run,)
    assert read(run.path).arguments() == run.arguments()
    assert not runs.is_stale(run)
    with pytest.raises(RunError, match="is not a training run"):
        runs.throw_away(read_elsewhere(run, tmp_path))
    runs.throw_away(run)
    assert runs.all() == ()


def read_elsewhere(run, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_bytes((run.path / "run.json").read_bytes())
    return read(elsewhere)


def test_a_run_another_window_works_on_is_not_offered(studio, order, own_library, qtbot):
    studio.begin(Order(**{**fields(order), "preset": LONG}), None)
    learning(qtbot, studio)
    studio.pause()
    run = until(qtbot, studio, Phase.PAUSED).run
    other = Studio(own_library)
    with qtbot.waitSignal(other.unfinished_changed) as found:
        other.look_for_unfinished()
    assert found.args == [()]
    assert run is not None
    other.take_up(run)
    assert other.state.problem is not None
    assert "another window" in other.state.problem.summary
    other.close()
