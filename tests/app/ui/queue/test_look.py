"""A new job: the command line understands it, and no result overwrites another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from app.batch.queue.description import Kind, described
from app.batch.queue.job import QueuedJob
from app.commands.queue.arguments import job_arguments
from app.engine.config import EngineConfig
from app.ui.queue.look import Order, look_words
from models.precision import Precision
from tests.conftest import picture
from tests.helpers.animations import write_animation
from utils.images.writing import write_pixels
from utils.stroke_directions import Handle

LOOK = EngineConfig(
    style="udnie",
    strength=0.5,
    keep_colors=True,
    network="lite",
    strokes="bold",
    texture=0.25,
    upsampling="smooth",
    smoothing=0.75,
    kernels="baseline",
    precision=Precision.fp16,
    device="cpu",
    size=512,
)


def photo(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_pixels(path, picture(20, 16))
    return path


def jobs(order: Order, *paths: Path, known: tuple[QueuedJob, ...] = ()) -> list[list[str]]:
    return order.jobs(paths, known)[0]


def test_every_control_of_the_look_reaches_the_command_line():
    args = job_arguments([*look_words(LOOK, Kind.FILM), "--output=x", "--", "a.mp4"])
    names = ("style", "strength", "keep_colors", "network", "strokes", "texture", "upsampling")
    for name in (*names, "smoothing", "kernels", "device", "size"):
        assert getattr(args, name) == getattr(LOOK, name), name
    assert args.precision == "fp16"
    usual = look_words(EngineConfig(), Kind.PICTURE)
    assert usual == [f"--style={EngineConfig().style}"]


def test_handles_reach_the_command_line_where_they_comb_the_strokes():
    handles = Handle(0.25, 0.4, 30.0), Handle(0.7, 0.6, 120.5)
    combed = replace(LOOK, strokes_direction="hand", strokes_handles=handles)
    args = job_arguments([*look_words(combed, Kind.PICTURE), "--output=x", "--", "a.png"])
    assert (args.strokes_direction, args.strokes_handles) == ("hand", handles)
    swirling = replace(combed, strokes_direction="swirl")
    assert not any("handles" in word for word in look_words(swirling, Kind.PICTURE))


def test_a_network_that_finds_people_goes_along_and_a_learned_scene_does_not():
    network = replace(LOOK, paint="background", feather=0.25, matte="/nets/people.onnx")
    args = job_arguments([*look_words(network, Kind.FILM), "--output=x", "--", "a.mp4"])
    assert (args.paint, args.feather, str(args.matte)) == ("background", 0.25, "/nets/people.onnx")
    words = look_words(replace(network, matte="/cache/1.scene"), Kind.FILM)
    assert not any(flag in word for word in words for flag in ("--paint", "--matte", "--feather"))


def test_pictures_that_do_not_follow_one_another_are_not_blended():
    for kind in (Kind.PICTURE, Kind.FOLDER):
        assert not any("smoothing" in word for word in look_words(LOOK, kind))


def test_an_animation_becomes_one_and_a_still_gif_a_picture(tmp_path):
    order = Order((LOOK,), tmp_path / "out", False)
    for name in ("dance.gif", "wave.webp"):
        (words,) = jobs(order, write_animation(tmp_path / name))
        assert described(words).output == str(tmp_path / "out" / name.replace(".", "-udnie."))
    Image.fromarray(picture(20, 16)).save(tmp_path / "still.gif")
    (words,) = jobs(order, tmp_path / "still.gif")
    assert described(words).output.endswith("still-udnie.png")


def test_a_mix_keeps_its_shares(tmp_path):
    mix = LOOK.mixed([("candy", 0.6), ("mosaic", 0.4)])
    (words,) = jobs(Order((mix,), tmp_path / "out", True), photo(tmp_path / "a.png"))
    args = job_arguments(words)
    assert (args.style, args.mix) == ("candy", [("mosaic", pytest.approx(0.4))])
    assert described(words).styles == (("candy", 60), ("mosaic", 40))


def test_each_file_is_painted_in_each_style_under_a_name_of_its_own(tmp_path):
    looks = tuple(replace(LOOK, style=style) for style in ("candy", "udnie"))
    order = Order(looks, tmp_path / "out", False)
    folder = photo(tmp_path / "trip" / "b.png").rename(tmp_path / "trip" / "b.tga").parent
    made = jobs(order, photo(tmp_path / "a.jpg"), folder, folder / "b.tga")
    outputs = [Path(described(words).output).name for words in made]
    assert outputs == [
        *("a-candy.jpg", "a-udnie.jpg", "trip-candy", "trip-udnie"),
        *("b-candy.png", "b-udnie.png"),
    ]
    assert all("--overwrite" in words and "--skip-existing" not in words for words in made)


def test_two_sources_of_one_name_have_two_results_and_one_has_its_own_again(tmp_path):
    order = Order((LOOK,), tmp_path / "out", True)
    one, other = photo(tmp_path / "one" / "a.png"), photo(tmp_path / "other" / "a.png")
    first = jobs(order, one)
    known = (QueuedJob(1, tuple(first[0]), 0.0),)
    second, again = jobs(order, other, one, known=known)
    assert Path(described(second).output).name == "a-udnie-2.png"
    assert again == first[0]
    assert "--skip-existing" in again


def test_the_results_in_a_painted_folder_are_not_painted_again(tmp_path):
    results = tmp_path / "pictures" / "StyleForge"
    order = Order((EngineConfig(),), results, skip=False)
    photo(tmp_path / "pictures" / "a.png")
    [made] = jobs(order, tmp_path / "pictures")
    assert job_arguments(made).leave_out == [results]
    photo(tmp_path / "other" / "a.png")
    [made] = jobs(order, tmp_path / "other")
    assert job_arguments(made).leave_out == []


def test_what_is_neither_picture_nor_film_is_left_out(tmp_path):
    letter = tmp_path / "letter.pdf"
    letter.write_bytes(b"%PDF-1.4")
    nameless = photo(tmp_path / "a.png").rename(tmp_path / "nameless")
    film = tmp_path / "film.ts"
    film.write_bytes(b"G")
    made, left_out = Order((LOOK,), tmp_path, True).jobs([letter, nameless, film], ())
    assert left_out == [letter]
    assert [described(words).kind for words in made] == [Kind.PICTURE, Kind.FILM]
    assert described(made[1]).output == str(tmp_path / "film-udnie.mp4")
