"""Settings and sources: their texts, and their conversion to a config and back."""

from __future__ import annotations

from dataclasses import replace

from app.engine.config import EngineConfig
from app.frame import SourceInfo
from app.settings import Settings
from app.ui.controllers.settings_mapping import (
    config_from_settings,
    settings_with_config,
    stored_source,
)
from app.ui.widgets.status_bar import source_text
from models.network_config import NetworkConfig
from models.precision import Precision
from models.runtimes.openvino import OpenVino
from tests.conftest import add_style


def test_the_source_is_described_in_words():
    info = SourceInfo("Camera", 640, 480, 30.0, note="requested 1280x720")
    assert source_text(info) == "Camera, 640x480, 30 fps; requested 1280x720"
    assert source_text(SourceInfo("film", 8, 8, 29.97, 3725.0)) == "film, 8x8, 29.97 fps, 1:02:05"
    assert source_text(SourceInfo("strip", 8, 8, count=3)) == "strip, 8x8, 3 pictures"
    assert source_text(None) == "No source"


def test_settings_survive_the_way_to_a_config_and_back(catalog, tmp_path):
    settings = Settings(
        precision="bf16",
        kernels="norm",
        size=256,
        strength=0.5,
        keep_colors=True,
        device="cpu",
        network="lite",
        mix="second",
        mix_amount=0.25,
        mix_more="third:0.5000\nfourth:0.1000",
        strokes="bold",
        upsampling="smooth",
        smoothing=0.75,
    )
    for seed, key in enumerate(("second", "third", "fourth")):
        add_style(tmp_path, key, seed, NetworkConfig(1, (4, 4, 4), 3))
    catalog.reload()
    config = config_from_settings(settings, catalog)
    assert (config.mix, config.mix_amount, config.network) == ("second", 0.25, "lite")
    assert config.mix_more == (("third", 0.5), ("fourth", 0.1))
    assert config.precision is Precision.bf16
    assert config.size == 256
    assert settings_with_config(settings, config) == replace(settings, style=config.style)


def test_settings_that_name_what_is_gone_become_the_default(catalog):
    settings = Settings(
        style="removed",
        precision="fp7",
        kernels="magic",
        mix="gone",
        network="tiny",
        strokes="thin",
        upsampling="magic",
    )
    config = config_from_settings(settings, catalog)
    default = EngineConfig()
    assert replace(config, style=default.style) == default
    assert config.style != "removed"


def test_a_runtime_that_is_gone_becomes_the_default(catalog, monkeypatch):
    settings = Settings(kernels="openvino")
    assert config_from_settings(settings, catalog).kernels == "openvino"
    monkeypatch.setattr(OpenVino, "refusal", lambda self: "gone")
    assert config_from_settings(settings, catalog).kernels == EngineConfig().kernels


def test_what_is_left_of_a_mix_is_mixed(catalog, tmp_path):
    add_style(tmp_path, "third", 1, NetworkConfig(1, (4, 4, 4), 3))
    catalog.reload()
    kept = "candy:0.1\nno share\nthird:7\nthird:0.4\nthird:0.2"
    settings = Settings(style="candy", mix="gone", mix_amount=0.3, mix_more=kept)
    assert config_from_settings(settings, catalog).parts == (("candy", 0.6), ("third", 0.4))


def test_a_path_is_kept_from_wherever_the_program_is_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stored_source("film.mp4") == str(tmp_path / "film.mp4")
    assert stored_source(["a.png", "/b.png"]) == f"{tmp_path / 'a.png'}\n/b.png"
    for spec in ("", "scene", "camera:0", "http://cam/x"):
        assert stored_source(spec) == spec
