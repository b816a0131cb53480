"""Settings survive a restart, and damage affects only the damaged entries."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import fields

import pytest

from app.settings import Settings, settings_path
from utils.stroke_directions import Handle


def test_settings_survive_a_restart(tmp_path):
    settings = Settings(style="mosaic", strength=0.5, size=384, view="split")
    settings.save(tmp_path / "folder" / "settings.json")
    assert Settings.load(tmp_path / "folder" / "settings.json") == settings


def test_the_first_run_has_defaults_and_no_complaint(tmp_path):
    assert Settings.load(tmp_path / "none.json") == Settings()


def test_a_bad_value_costs_only_itself(tmp_path, caplog):
    path = tmp_path / "settings.json"
    path.write_text('{"style": 7, "source": "scene", "from_a_newer_version": 1}')
    assert Settings.load(path) == Settings(source="scene")
    assert "style" in caplog.text
    caplog.clear()


@pytest.mark.parametrize("bad", ["strength", "view", "theme", "size", "split"])
def test_a_value_out_of_range_becomes_the_default(bad, tmp_path, caplog):
    path = tmp_path / "settings.json"
    value = '"sideways"' if bad in ("view", "theme") else "-3"
    path.write_text(f'{{"{bad}": {value}, "overlay": true}}')
    assert Settings.load(path) == Settings(overlay=True)
    assert bad in caplog.text
    caplog.clear()


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b"null"])
def test_a_file_that_is_no_settings_file_gives_defaults_and_one_warning(content, tmp_path, caplog):
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert Settings.load(path) == Settings()
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    caplog.clear()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_a_pipe_or_a_device_in_place_of_the_settings_file_costs_no_time_and_memory(
    tmp_path, caplog
):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    for name, what in (("pipe.json", "it is a pipe"), ("endless.json", "it is a device")):
        assert Settings.load(tmp_path / name) == Settings()
        assert what in caplog.text
    caplog.clear()


def test_a_whole_number_is_a_good_strength(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"strength": 0}')
    assert Settings.load(path).strength == 0.0


def test_handles_are_stored_as_text(tmp_path, caplog):
    path, handles = tmp_path / "settings.json", (Handle(0.25, 0.4, 30.0), Handle(0.0, 1.0, 120.5))
    Settings(strokes_handles=handles).save(path)
    assert json.loads(path.read_text())["strokes_handles"] == "0.25,0.4,30;0,1,120.5"
    assert Settings.load(path).strokes_handles == handles
    path.write_text('{"strokes_handles": "0.25,2,30"}')
    assert Settings.load(path) == Settings()
    assert "strokes_handles" in caplog.text
    caplog.clear()


def test_saving_leaves_nothing_else_behind(tmp_path):
    path = tmp_path / "settings.json"
    for strength in (0.1, 0.2):
        Settings(strength=strength).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["settings.json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps other users out of the folder itself")
def test_only_the_user_may_read_the_settings_file(tmp_path):
    """A camera's address may contain its password."""
    path = tmp_path / "settings.json"
    for _ in range(2):  # created, then replaced
        Settings(source="http://me:s3cret@camera/").save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_in_the_users_own_folder_never_the_working_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert settings_path().parent.name == "styleforge"
    assert settings_path().parent != tmp_path


def test_every_default_is_valid(tmp_path):
    path = tmp_path / "settings.json"
    Settings().save(path)
    loaded = Settings.load(path)
    assert all(getattr(loaded, f.name) == f.default for f in fields(Settings))


def test_a_file_cut_short_costs_only_what_is_missing(tmp_path, caplog):
    path = tmp_path / "settings.json"
    path.write_text('{"style": "udnie", "strength": 0.5, "view": "split", "overl')
    assert Settings.load(path) == Settings(style="udnie", strength=0.5, view="split")
    caplog.clear()


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"strength": 1' + "0" * 400 + "}", '{"geometry": "\\ud800"}']
)
def test_values_that_no_program_wrote_become_defaults(content, tmp_path, caplog):
    path = tmp_path / "settings.json"
    path.write_text(content)
    assert Settings.load(path) == Settings()
    caplog.clear()


def test_damage_is_told_to_whoever_asks(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"strength": 7, "view": "sideways", "overlay": true}')
    told: list[str] = []
    assert Settings.load(path, told.append) == Settings(overlay=True)
    (sentence,) = told
    assert "strength, view" in sentence


@pytest.mark.parametrize(
    ("stored", "texture"), [("0.0", 0.0), ("0.4", 0.4), ("1", 1.0), ('"auto"', "auto")]
)
def test_an_amount_of_texture_is_kept_as_a_number_or_automatic(stored, texture, tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(f'{{"texture": {stored}}}')
    loaded = Settings.load(path)
    assert loaded.texture == texture
    assert type(loaded.texture) is type(texture)
    loaded.save(path)
    assert Settings.load(path) == loaded


@pytest.mark.parametrize("stored", ["2", "-1", "true", "null", '"much"', "[]"])
def test_an_amount_of_texture_that_is_none_becomes_automatic(stored, tmp_path, caplog):
    path = tmp_path / "settings.json"
    path.write_text(f'{{"texture": {stored}}}')
    assert Settings.load(path).texture == "auto"
    assert "texture" in caplog.text
    caplog.clear()
