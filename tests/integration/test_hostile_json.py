"""Every JSON reader answers hostile files with a sentence or a default, and keeps the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.batch.manifest import ManifestError, read_manifest
from app.batch.queue.job import QueueError, read_job
from app.export.film.store import SegmentStore
from app.looks.look import LookError, look_from, parse_look
from app.looks.look_file import LookFile
from app.measured_rates import RatesError, load_rates
from app.settings import Settings
from app.training.run_store import RunError, read_run
from benchmarks.quality.inputs import QualityError
from benchmarks.quality.report_file import other_styles
from kernels.driver.images import ImageList
from kernels.jit import build
from kernels.jit.errors import Damaged
from models.families.style_codes import CheckpointError
from models.vit_checkpoints import load_vit
from tests.utils.files.test_small_json import HOSTILE
from utils.images.metadata import read_metadata

WRONG = {"a list": "[]", "a number": "5", "null": "null", "a text": '"text"'}
LARGE = "200 MB"
NUMBER = HOSTILE["digits"]


def _run(path: Path) -> object:
    return read_run(path.parent)


def _images(path: Path) -> object:
    return ImageList.read(path.parent, path.stem)


def _note(path: Path) -> object:
    return build._recall(path, "key")


def _settings(path: Path) -> object:
    return Settings.load(path, lambda _: None)


READERS: dict[str, tuple[Callable[[Path], object], type[Exception] | None]] = {
    "job": (read_job, QueueError),
    "manifest": (read_manifest, ManifestError),
    "run": (_run, RunError),
    "looks": (lambda path: LookFile(path).read(), None),
    "rates": (load_rates, RatesError),
    "settings": (_settings, None),
    "images": (_images, Damaged),
    "note": (_note, None),
    "network": (load_vit, CheckpointError),
    "quality": (lambda path: other_styles(path, {"quality": {}}, []), QualityError),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_answers_hostile_files_in_its_own_words(reader: str, tmp_path: Path):
    read, error = READERS[reader]
    path = tmp_path / "run.json"
    for name, text in {**HOSTILE, **WRONG, LARGE: ""}.items():
        path.write_text(text)
        if name == LARGE:
            with path.open("wb") as file:
                file.truncate(200 << 20)
        if error is None:
            read(path)
            continue
        with pytest.raises(error) as told:
            read(path)
        assert "\n" not in str(told.value), name


@pytest.mark.parametrize("value", [NUMBER, "1e999", "NaN", "[" * 500 + "]" * 500])
def test_a_hostile_look_leaves_the_good_one_beside_it(value: str, tmp_path: Path):
    path = tmp_path / "looks.json"
    good = '{"name": "good", "styles": {"candy": 1.0}}'
    for bad in (
        f'{{"name": "bad", "styles": {{"candy": 1.0}}, "strength": {value}}}',
        f'{{"name": "bad", "styles": {{"candy": {value}}}}}',
        value,
    ):
        path.write_text(f'{{"looks": [{bad}, {good}]}}')
        looks, said = LookFile(path).read()
        assert [look.name for look in looks] == ["good"]
        assert "look 1" in said


def test_a_look_of_huge_numbers_is_no_look():
    huge = 10**400
    for stored in (
        {"styles": {"candy": 1.0}, "strength": huge},
        {"styles": {"candy": huge, "udnie": 0.5}},
        {"styles": {"candy": float("nan")}},
    ):
        with pytest.raises(LookError):
            look_from(stored)
    with pytest.raises(LookError):
        parse_look(f'{{"styles": {{"candy": 1.0}}, "strength": {NUMBER}}}')


@pytest.mark.parametrize("value", [NUMBER, "1e999", "NaN", "[" * 500 + "]" * 500])
def test_a_hostile_setting_leaves_the_others(value: str, tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(f'{{"size": {value}, "theme": "dark"}}')
    read = Settings.load(path, lambda _: None)
    assert (read.theme, read.size) == ("dark", Settings().size)


@pytest.mark.parametrize("value", [NUMBER, "1e999", "NaN", "[" * 500 + "]" * 500, "{}"])
def test_a_hostile_rate_leaves_the_good_one(value: str, tmp_path: Path):
    path = tmp_path / "measured.json"
    machine = {"gpu": "a card", "driver": "1", "styleforge": "1"}
    good = {"network": "full", "width": 5, "height": 5, "ms": 1.5, "taken": "", "machine": machine}
    bad = json.dumps({**good, "ms": "BAD"}).replace('"BAD"', value)
    path.write_text(f'{{"rates": [{bad}, {json.dumps(good)}]}}')
    with pytest.raises(RatesError) as told:
        load_rates(path)
    assert [rate.ms for rate in told.value.found] == [1.5]


@pytest.mark.parametrize("about", ["[" * 100_000, '{"times": [1e999]}', NUMBER])
def test_a_film_whose_notes_are_hostile_begins_anew(about: str, tmp_path: Path):
    target = tmp_path / "film.mp4"
    with SegmentStore(target, {}) as store:
        folder = store.folder
    for name in ("000000.json", "film.json"):
        (folder / name).write_text(about)
        with SegmentStore(target, {}) as store:
            assert store.segments == []


@pytest.mark.parametrize("comment", ["[" * 60_000, '{"a":' * 10_000, NUMBER, '{"a": 1e999}'])
@pytest.mark.parametrize("ending", ["jpg", "webp"])
def test_a_picture_with_a_hostile_comment_has_no_metadata(
    comment: str, ending: str, tmp_path: Path
):
    from PIL import Image

    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0" + comment.encode()
    path = tmp_path / f"picture.{ending}"
    Image.new("RGB", (8, 8)).save(path, exif=exif)
    assert read_metadata(path) == {}


def test_a_manifest_of_a_thousand_million_shards_is_none(tmp_path: Path):
    path = tmp_path / "manifest.json"
    values = {"format": 1, "shard": 1, "pictures": 0, "plan_sha256": "", "style": ""}
    path.write_text(json.dumps({**values, "shards": 10**9, "entries": [], "problems": []}))
    with pytest.raises(ManifestError, match="is no manifest"):
        read_manifest(path)
