"""Scenes and networks are read from files, and unusable ones are refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.matting.files import KEPT, MatteError, is_learned, keep_scene, read_scene
from app.engine.matting.scene import FRAMES, Scene
from app.engine.matting.source import SceneMatte, matte_source
from tests.app.engine.matting.scenes import empty, room
from tests.helpers.errors import mentions
from utils.images.writing import write_pixels


def test_a_learned_scene_is_read_again(tmp_path):
    scene = Scene.of_frames(empty(FRAMES))
    path = keep_scene(scene, tmp_path / "new")
    again = read_scene(path)
    assert is_learned(path)
    assert np.array_equal(again.colors, scene.colors)
    assert np.abs(again.noise - scene.noise).max() < 1 / 32


def test_only_the_newest_scenes_are_kept(tmp_path):
    scene = Scene.of_picture(room())
    paths = [keep_scene(scene, tmp_path) for _ in range(KEPT + 2)]
    assert sorted(tmp_path.iterdir()) == sorted(paths[2:])


def test_a_picture_of_the_empty_scene_makes_mattes(tmp_path):
    path = tmp_path / "plate.png"
    write_pixels(path, room())
    assert isinstance(matte_source(str(path)), SceneMatte)


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}      ", b"x" * 100], ids=len)
def test_a_damaged_scene_is_named(tmp_path, content):
    path = tmp_path / "hall.scene"
    path.write_bytes(content)
    with pytest.raises(MatteError) as error:
        read_scene(path)
    assert mentions(str(error.value), "hall.scene", "damaged")


@pytest.mark.parametrize("name", ["gone.scene", "gone.png"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(MatteError) as error:
        matte_source(str(tmp_path / name))
    assert mentions(str(error.value), name)
