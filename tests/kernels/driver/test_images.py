"""The image that a GPU runs, and the messages for a missing, truncated or altered one."""

from __future__ import annotations

import hashlib
import json
import lzma

import pytest

from kernels.driver import images
from kernels.driver.compiling import runs_on
from kernels.driver.images import Image, ImageList, too_old
from kernels.jit.errors import BuildError
from tools.prebuild.cuda import ARCHITECTURES

CODE = b"machine code\0"


def listed(*architectures, source="a.cu"):
    digest = hashlib.sha256(CODE).hexdigest()
    rows = tuple(Image(f"{name}.xz", source, name, digest) for name in architectures)
    return ImageList("a", "", {}, {source: {}}, rows)


EVERY = listed(*(name for names in ARCHITECTURES.values() for name in names))


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((7, 5), "sm_75"),
        ((8, 0), "sm_80"),
        ((8, 6), "sm_80"),
        ((8, 7), "sm_80"),
        ((8, 9), "sm_80"),
        ((9, 0), "sm_90a"),
        ((10, 0), "sm_100"),
        ((10, 3), "sm_100"),
        ((11, 0), "compute_90"),
        ((12, 0), "sm_120"),
        ((12, 1), "sm_120"),
        ((13, 0), "compute_90"),
    ],
)
def test_a_gpu_runs_the_image_of_its_generation(capability, expected):
    image = EVERY.image_for("a.cu", capability)
    assert image is not None
    assert image.architecture == expected


def test_hopper_runs_what_was_compiled_for_every_gpu():
    image = listed("sm_80", "sm_86", "sm_90", "compute_90").image_for("a.cu", (9, 0))
    assert image is not None
    assert image.architecture == "sm_90"


@pytest.mark.parametrize("capability", [(7, 0), (6, 1)])
def test_an_old_gpu_runs_none_and_is_told_why(capability):
    assert EVERY.image_for("a.cu", capability) is None
    assert f"compute capability {capability[0]}.{capability[1]}" in too_old(capability)


def test_the_oldest_gpu_is_not_too_old():
    assert not too_old((7, 5))


@pytest.mark.parametrize("capability", [(9, 1), (10, 0), (8, 9)])
def test_an_image_with_features_of_one_architecture_runs_there_alone(capability):
    assert listed("sm_90a").image_for("a.cu", capability) is None


def test_an_image_of_another_source_is_not_taken():
    assert listed("sm_80", source="b.cu").image_for("a.cu", (8, 0)) is None


def test_a_source_is_compiled_for_what_it_runs_on():
    names = [name for names in ARCHITECTURES.values() for name in names]
    assert [name for name in names if runs_on("90a", name)] == ["sm_90a"]
    assert [name for name in names if runs_on("80", name)] == [
        "sm_80",
        "sm_90",
        "compute_90",
        "sm_100",
        "sm_120",
    ]
    assert next(name for name in names if runs_on("75", name)) == "sm_75"
    assert [name for name in names if runs_on("75", name, "80")] == ["sm_75"]


def test_the_list_survives_its_file(tmp_path):
    (tmp_path / "a.json").write_text(EVERY.to_json(), "utf-8")
    assert ImageList.read(tmp_path, "a") == EVERY


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"images": [1]}', '{"images": [{"file": "x"}]}', "\0"]
)
def test_a_damaged_list_is_one_sentence(text, tmp_path):
    (tmp_path / "a.json").write_text(text, "utf-8")
    with pytest.raises(BuildError, match=r"^the list of images .*a\.json is damaged$"):
        ImageList.read(tmp_path, "a")


def test_a_list_with_an_unknown_field_is_damaged(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(json.loads(EVERY.to_json()) | {"more": 1}))
    with pytest.raises(BuildError, match="is damaged"):
        ImageList.read(tmp_path, "a")


def test_a_missing_list_is_one_sentence(tmp_path):
    with pytest.raises(BuildError, match=r"^cannot read .*a\.json: No such file"):
        ImageList.read(tmp_path, "a")


@pytest.fixture
def stored(tmp_path):
    found = listed("sm_80")
    (tmp_path / "sm_80.xz").write_bytes(lzma.compress(CODE))
    return tmp_path, found, found.images[0]


def test_an_image_is_read_as_it_was_written(stored):
    folder, found, image = stored
    assert found.load(folder, image) == CODE


def test_a_truncated_image_is_one_sentence(stored):
    folder, found, image = stored
    path = folder / image.file
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BuildError, match=r"^the image .*sm_80\.xz is truncated or damaged$"):
        found.load(folder, image)


def test_an_image_that_is_no_archive_is_one_sentence(stored):
    folder, found, image = stored
    (folder / image.file).write_bytes(CODE)
    with pytest.raises(BuildError, match=r"^the image .*sm_80\.xz is truncated or damaged$"):
        found.load(folder, image)


def test_an_altered_image_is_one_sentence(stored):
    folder, found, image = stored
    (folder / image.file).write_bytes(lzma.compress(CODE + b"more"))
    with pytest.raises(
        BuildError, match=r"^the image .*sm_80\.xz does not match its entry in .*a\.json"
    ):
        found.load(folder, image)


def test_an_image_that_unpacks_without_end_is_refused(stored, monkeypatch):
    folder, found, image = stored
    monkeypatch.setattr(images, "MOST_BYTES", 1 << 16)
    (folder / image.file).write_bytes(lzma.compress(bytes(1 << 24)))
    with pytest.raises(BuildError, match="does not match its entry"):
        found.load(folder, image)


def test_a_missing_image_is_one_sentence(stored):
    folder, found, image = stored
    (folder / image.file).unlink()
    with pytest.raises(BuildError, match=r"^cannot read the image .*sm_80\.xz: No such file"):
        found.load(folder, image)
