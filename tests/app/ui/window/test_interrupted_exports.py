"""The next start offers to resume an export that ended with the program."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.engine.config import EngineConfig
from app.export.film.plan import film_request
from app.export.film.store import SegmentStore, store_folder
from app.settings import Settings
from app.ui.film import exporter as film_exporter
from app.ui.film.options import FilmOptions
from app.ui.film.order import ExportOrder, read_order
from app.ui.main_window import MainWindow
from models.precision import Precision
from tests.app.ui.window.test_film_export import Held, film, held, playing
from tests.helpers.errors import mentions
from tests.helpers.films import times_of
from tests.helpers.windows import show_window
from utils.stroke_directions import Handle

__all__ = ["film", "held", "playing"]  # fixtures


@pytest.fixture
def interrupted(playing, film, held, tmp_path, qtbot, monkeypatch) -> ExportOrder:
    """Return an export that the user quit after its first part of two frames."""
    monkeypatch.setattr(film_exporter, "film_request", partial(film_request, part=2))
    out = tmp_path / "out.mp4"
    playing.film_exporter.export(film, out)
    qtbot.waitUntil(lambda: len(held.seen) == 4, timeout=5000)
    held.allow(1)  # the first part is written once the frames behind it are there
    qtbot.waitUntil(lambda: any(store_folder(out).glob("*.coded")), timeout=5000)
    playing.closing.leave()
    held.allow()
    qtbot.waitUntil(lambda: not playing.isVisible(), timeout=5000)
    (kept,) = records(playing)
    return read_order(kept)


def records(window: MainWindow) -> list[Path]:
    return list(window.film_exporter.folder.glob("*"))


@pytest.fixture
def styling() -> Held:
    made = Held()
    made.allow()
    return made


@pytest.fixture
def later(interrupted, session, styling, qtbot, monkeypatch):
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    monkeypatch.setattr(window.film_exporter, "_styling", lambda catalog, config: styling)
    monkeypatch.setattr(film_exporter, "SHOWN_EVERY_S", 0.0)
    show_window(window, qtbot)
    yield window
    window.theme.choice = "system"


def asks(window: MainWindow, qtbot) -> None:
    qtbot.waitUntil(window.questions.isVisible, timeout=5000)
    assert mentions(window.questions.accessibleDescription(), "out.mp4", "interrupted")


def test_it_is_resumed_behind_its_finished_parts(interrupted, later, styling, film, qtbot):
    asks(later, qtbot)
    later.questions.accept.click()
    qtbot.waitUntil(lambda: later.notices.text.startswith("Saved "), timeout=10_000)
    assert times_of(interrupted.target) == times_of(film)
    assert len(styling.seen) < len(times_of(film))
    assert not store_folder(interrupted.target).exists()
    assert not records(later)
    later.close()


@pytest.fixture
def damaged(interrupted, playing) -> Path:
    """Write a second record that no program can read, sorted before the good one."""
    (good,) = records(playing)
    path = good.with_name("0.json")
    path.write_bytes(good.read_bytes()[:-9])
    return path


def test_a_damaged_record_hides_no_good_one_beside_it(damaged, later, interrupted, qtbot):
    asks(later, qtbot)
    (problem,) = later.problems.problems
    assert str(damaged) in problem.summary
    assert damaged.exists()
    later.questions.accept.click()
    qtbot.waitUntil(lambda: later.notices.text.startswith("Saved "), timeout=10_000)
    assert records(later) == [damaged]
    later.close()


def test_its_parts_are_deleted(interrupted, later, qtbot):
    asks(later, qtbot)
    later.questions.other.click()
    qtbot.waitUntil(lambda: not records(later), timeout=5000)
    assert not store_folder(interrupted.target).exists()
    assert not interrupted.target.exists()
    later.close()


@pytest.mark.full
def test_who_answers_neither_is_asked_again(interrupted, later, session, qtbot):
    asks(later, qtbot)
    later.questions.cancel.click()
    later.close()
    again = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(again)
    again.show()
    asks(again, qtbot)
    again.questions.dismiss()
    again.close()


def test_nothing_is_offered_of_an_export_that_another_window_makes(interrupted, session, qtbot):
    with SegmentStore(interrupted.target, {}):
        window = MainWindow(session, Settings(), lambda _: None)
        qtbot.addWidget(window)
        window.show()
        qtbot.wait(300)
        assert not window.questions.isVisible()
        window.close()


def test_a_canceled_export_is_not_offered(playing, film, held, tmp_path, qtbot):
    playing.film_exporter.export(film, tmp_path / "out.mp4")
    qtbot.waitUntil(lambda: len(held.seen) == 4, timeout=5000)
    assert len(records(playing)) == 1
    playing.film_exporter.cancel()
    held.allow()
    qtbot.waitUntil(lambda: not playing.film_exporter.under_way, timeout=5000)
    assert not records(playing)


def test_a_damaged_record_is_told(session, qtbot):
    folder = session.catalog.user.parent / "exports"
    folder.mkdir(parents=True)
    (folder / "0.json").write_text("{}")
    window = MainWindow(session, Settings(), lambda _: None)
    qtbot.addWidget(window)
    qtbot.waitUntil(lambda: bool(window.problems.problems), timeout=5000)
    assert "0.json is damaged" in window.problems.problems[0].summary
    window.close()


ORDER = ExportOrder(
    Path("/films/a.mp4").absolute(),
    Path("/films/b.gif").absolute(),
    replace(
        EngineConfig(style="candy", mix="mosaic", mix_amount=0.1 + 0.2, mix_more=(("udnie", 0.1),)),
        precision=Precision.fp16,
        texture=0.7,
        size=640,
        strokes_handles=(Handle(0.25, 0.4, 30.0), Handle(0.7, 0.6, 120.5)),
    ),
    FilmOptions("gif", "cpu", "small"),
)


@pytest.mark.parametrize("config", [ORDER.config, EngineConfig()])
def test_a_record_holds_everything(tmp_path, config):
    order = replace(ORDER, config=config)
    order.write(tmp_path)
    assert repr(read_order(order.file(tmp_path))) == repr(order)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [('"texture": "much"', "texture"), ('"source": 3', "3 is no text"), ('"precision": "f"', "f")],
)
def test_a_record_with_a_wrong_value_is_damaged(tmp_path, wrong, said):
    ORDER.write(tmp_path)
    path = ORDER.file(tmp_path)
    name = wrong.partition(":")[0]
    lines = path.read_text().splitlines()
    changed = [f"{wrong}," if line.strip().startswith(name) else line for line in lines]
    path.write_text("\n".join(changed).replace(",\n }", "\n }"))
    assert changed != lines
    with pytest.raises(ValueError, match=said):
        read_order(path)
