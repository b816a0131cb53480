"""The jobs for all open pictures have a folder and names that overwrite nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.batch.queue.description import Kind, described
from app.batch.queue.job import JobState, QueuedJob
from app.commands.queue.arguments import job_arguments
from app.engine.config import EngineConfig
from app.ui.film_strip.paint_all import order
from app.ui.film_strip.paint_all.order import (
    PaintAllOrder,
    chosen_place,
    free_folder,
    usual_folder,
)
from tests.conftest import picture
from utils.images.writing import write_pixels

CANDY = EngineConfig(style="candy", strength=0.5, smoothing=0.5, device="cpu")


@pytest.fixture
def paths(tmp_path) -> tuple[Path, ...]:
    made = tuple(tmp_path / "trip" / f"{number}.jpg" for number in range(3))
    made[0].parent.mkdir()
    for path in made:
        write_pixels(path, picture(20, 16))
    return made


def test_each_style_is_one_job_with_all_pictures_under_names_of_its_own(paths):
    looks = (CANDY, replace(CANDY, style="udnie"))
    folder = paths[0].parent / "Painted"
    made = PaintAllOrder(paths, looks, folder, 1280).jobs(())
    assert [described(words).styles for words in made] == [(("candy", 0),), (("udnie", 0),)]
    for words in made:
        found = described(words)
        assert (found.kind, found.output) == (Kind.SEVERAL, str(folder))
        assert found.inputs == tuple(map(str, paths))
        args = job_arguments(words)
        assert (args.long_side, str(args.name)) == (1280, order.NAME)
        assert (args.strength, args.smoothing) == (0.5, 0.0)  # pictures are no film


def test_pictures_keep_their_size_unless_a_smaller_one_is_chosen(paths):
    (words,) = PaintAllOrder(paths, (CANDY,), paths[0].parent / "Painted").jobs(())
    assert job_arguments(words).long_side is None


def test_pictures_of_one_name_from_two_folders_have_numbers(paths, tmp_path):
    other = tmp_path / "other" / paths[0].name
    other.parent.mkdir()
    write_pixels(other, picture(20, 16))
    (words,) = PaintAllOrder((*paths, other), (CANDY,), tmp_path / "Painted").jobs(())
    assert str(job_arguments(words).name) == order.NUMBERED


def test_a_folder_in_use_and_the_folder_of_another_job_stay_theirs(paths, tmp_path):
    wanted = tmp_path / "Painted"
    wanted.mkdir()
    assert free_folder(wanted) == wanted  # it is empty
    (wanted / "mine.txt").touch()
    second = tmp_path / "Painted 2"
    assert free_folder(wanted) == second
    job = QueuedJob(1, (f"--output={second}", "--", str(paths[0])), 0.0)
    (words,) = PaintAllOrder(paths, (CANDY,), wanted).jobs([job])
    assert described(words).output == str(tmp_path / "Painted 3")


def test_a_chosen_folder_with_other_files_takes_the_paintings(paths, tmp_path):
    (tmp_path / "mine.txt").touch()
    (tmp_path / "0-udnie.jpg").touch()
    looks = (CANDY, replace(CANDY, style="udnie"))
    place = chosen_place(tmp_path, paths, looks, ())
    assert place.of([0]) == tmp_path
    assert place.of([0, 1]) == place.of([1]) == tmp_path / "Painted"
    (words,) = PaintAllOrder(paths, (CANDY,), tmp_path, chosen=True).jobs(())
    assert described(words).output == str(tmp_path)
    made = PaintAllOrder(paths, looks, tmp_path, chosen=True).jobs(())
    assert {described(words).output for words in made} == {str(tmp_path / "Painted")}


def test_the_pictures_own_folder_takes_paintings_but_none_that_would_replace_a_picture(paths):
    folder = paths[0].parent
    assert chosen_place(folder, paths, (CANDY,), ()).of([0]) == folder
    copy = folder / "0-candy.jpg"
    write_pixels(copy, picture(20, 16))
    assert chosen_place(folder, (*paths, copy), (CANDY,), ()).of([0]) == folder / "Painted"


def test_paintings_that_wait_for_the_same_folder_keep_their_names(paths, tmp_path):
    made = PaintAllOrder(paths, (CANDY,), tmp_path, chosen=True).jobs(())
    job = QueuedJob(1, tuple(made[0]), 0.0)
    looks = (CANDY, replace(CANDY, style="udnie"))
    place = chosen_place(tmp_path, paths, looks, [job])
    assert (place.of([0]), place.of([1])) == (tmp_path / "Painted", tmp_path)
    done = replace(job, state=JobState.DONE)  # the user deleted its results
    assert chosen_place(tmp_path, paths, looks, [done]).of([0]) == tmp_path


def test_paintings_go_beside_the_pictures_unless_nothing_can_be_written_there(paths, monkeypatch):
    assert usual_folder(paths).parent == paths[0].parent
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert usual_folder(paths).parent == order.pictures_folder()
