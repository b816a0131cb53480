"""The list of rows keeps its selection whatever is added, removed or moved."""

from __future__ import annotations

import random

import pytest
from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QAbstractItemModelTester

from app.batch.queue.description import Kind
from app.ui.queue.row_model import ROW, RowModel
from app.ui.queue.rows import Row, RowState
from app.ui.queue.thumbnails import SCALE, SIZE, Thumbnails, read_thumbnail
from tests.conftest import picture
from tests.helpers.films import write_film
from utils.images.writing import write_pixels


def rows(*numbers: int, state: RowState = RowState.WAITING) -> list[Row]:
    return [Row(number, f"{number}.png", Kind.PICTURE, "Candy", state) for number in numbers]


@pytest.fixture
def model(qapp) -> RowModel:
    return RowModel(Thumbnails(lambda work, done, *, failure: None))


def test_rows_change_step_by_step_and_what_is_chosen_stays_chosen(model):
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    chooser = QItemSelectionModel(model)
    rng = random.Random(7)
    here: list[int] = []
    chosen: set[int] = set()
    for _ in range(200):
        kept = [number for number in here if rng.random() < 0.8]
        new = [n for n in range(40) if n not in here and rng.random() < 0.1]
        here = [*kept, *new]
        rng.shuffle(here)
        chosen &= set(here)
        model.set_rows(rows(*here))
        assert [row.number for row in model.rows] == here
        assert {index.data(ROW).number for index in chooser.selectedRows()} == chosen
        if here:
            number = rng.choice(here)
            index = model.index(model.row_of(number))
            chooser.select(index, QItemSelectionModel.SelectionFlag.Toggle)
            chosen ^= {number}
    del tester


def test_a_row_that_did_not_change_is_not_painted_again(model):
    model.set_rows(rows(1, 2, 3))
    changed: list[int] = []
    model.dataChanged.connect(lambda index, *_: changed.append(index.row()))
    done = rows(2, state=RowState.DONE)
    model.set_rows([*rows(1), *done, *rows(3)])
    assert changed == [1]


@pytest.mark.parametrize(
    ("dragged", "at", "before"), [((1, 3), 4, 5), ((2, 3), 2, 4), ((1,), 5, None), ((4, 5), 0, 1)]
)
def test_dropped_rows_are_to_run_before_the_one_below(model, dragged, at, before):
    model.set_rows(rows(1, 2, 3, 4, 5))
    moved: list[tuple[list[int], int | None]] = []
    model.moved.connect(lambda numbers, place: moved.append((numbers, place)))
    data = model.mimeData([model.index(model.row_of(number)) for number in dragged])
    action = Qt.DropAction.MoveAction
    assert model.dropMimeData(data, action, at, 0, QModelIndex())
    assert moved == [(list(dragged), before)]


def test_thumbnails_cover_their_place_and_what_has_none_is_null(tmp_path, qapp):
    size = SIZE * SCALE
    (tmp_path / "trip").mkdir()
    write_pixels(tmp_path / "trip" / "tall.jpg", picture(30, 90))
    write_film(tmp_path / "film.mp4")
    (tmp_path / "broken.png").write_text("<html>")
    for name in ("trip/tall.jpg", "film.mp4", "trip"):
        assert read_thumbnail(tmp_path / name).size() == size, name
    for name in ("broken.png", "gone.png"):
        assert read_thumbnail(tmp_path / name).isNull()


def test_thumbnails_are_read_one_after_the_other_and_the_newest_row_first(qapp):
    asked: list = []
    thumbnails = Thumbnails(lambda work, done, *, failure: asked.append(done))
    loaded: list[int] = []
    thumbnails.loaded.connect(loaded.append)
    for number in (1, 2, 3):
        assert thumbnails.get(number, f"/{number}.png") is None
    assert len(asked) == 1
    for at in range(3):
        asked[at](QImage())
    assert loaded == [1, 3, 2]
    made = thumbnails.get(2, "/2.png")
    assert made is not None
    assert made.isNull()
    assert len(asked) == 3
