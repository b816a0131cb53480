"""The benchmark measures a real window and reports what ran."""

from __future__ import annotations

import numpy as np
import pytest

from app.styles.any_style_networks import SHIPPED
from app.styles.catalog import BUILTIN, Catalog
from benchmarks.live import moving_stream, processor, window
from benchmarks.network.cpu.variants import TransformerNetByLayers
from benchmarks.tables.live import dropped_sentence, moving_table, processor_table, window_table
from models.transformer_net import ALL_VARIANTS
from tests.helpers.any_style import save_tiny


@pytest.mark.full
def test_a_stream_through_the_window_is_measured(qapp, native_kernels, monkeypatch):
    monkeypatch.setattr(window, "WARM_UP_S", 0.5)
    monkeypatch.setattr(window, "SECONDS", 0.5)
    monkeypatch.setattr(window, "CASES", (("strength", (64, 48), {"size": 32, "strength": 0.5}),))
    said: list[str] = []
    (found,) = window.measure(said.append)
    assert found["processed_fps"] > 1
    assert 0 < found["displayed_fps"] <= 1.5 * found["processed_fps"]  # over other half seconds
    assert found["running"].startswith("Fused, ")
    assert found["latency_ms"] > found["deliver_ms"] + found["paint_ms"] > 0
    assert said[0].startswith("64x48, strength: ")
    _, line = window_table([found])
    assert line[:2] == ("64x48", "strength")


@pytest.mark.full
def test_a_processor_is_measured_with_our_kernels_and_with_those_before(
    qapp, native_kernels, monkeypatch
):
    monkeypatch.setattr(window, "WARM_UP_S", 0.5)
    monkeypatch.setattr(processor, "SECONDS", 0.5)
    monkeypatch.setattr(processor, "FRAME", (128, 72))
    monkeypatch.setattr(processor, "NETWORKS", ("lite",))
    monkeypatch.setattr(processor, "SIZES", (64,))
    usual, painted = ALL_VARIANTS["fused"], list[type]()
    forward = TransformerNetByLayers.forward

    def counted(self, *given):
        painted.append(type(self))
        return forward(self, *given)

    monkeypatch.setattr(TransformerNetByLayers, "forward", counted)
    said: list[str] = []
    (found,) = processor.measure(said.append)
    assert painted, "the layers of before painted"
    assert found["layers"]["running"] == found["fused"]["running"]
    assert found["fused"]["processed_fps"] > 1
    assert ALL_VARIANTS["fused"] is usual, "only the measurement replaces the network"
    assert len(said) == 2
    _, line = processor_table([found])
    assert line[:2] == ("lite", "64 px")
    assert line[2] == f"{found['layers']['processed_fps']:.1f}"


@pytest.mark.full
def test_a_moving_stream_is_measured_with_what_it_paints_and_what_it_shows(
    qapp, native_kernels, monkeypatch, tmp_path
):
    monkeypatch.setattr(moving_stream, "FRAME", (128, 72))
    monkeypatch.setattr(moving_stream, "SIZE", 64)
    monkeypatch.setattr(moving_stream, "FILM_S", 1.0)
    monkeypatch.setattr(moving_stream, "WARM_UP_S", 1.0)
    monkeypatch.setattr(moving_stream, "SECONDS", 1)
    monkeypatch.setattr(moving_stream, "NETWORKS", ("lite",))
    film = tmp_path / "hand.mp4"
    moving_stream.write_film(film)
    first, *_, last = moving_stream.frames()
    assert first.shape == (72, 128, 3)
    assert np.abs(first.astype(int) - last).mean() > 5
    said: list[str] = []
    (found,) = moving_stream.measure(film, said.append)
    assert found["painted_fps"] > 1
    assert found["displayed_fps"] > 1
    assert found["latency_p95_ms"] >= found["latency_ms"] > 0
    assert len(said) == 1
    _, line = moving_table([found])
    assert line[:3] == ("lite", "64 px", f"{found['painted_fps']:.1f}")


@pytest.mark.full
def test_pictures_become_styles_within_the_time_that_is_told(qapp, monkeypatch, tmp_path):
    monkeypatch.setattr(window, "PICTURES", 2)
    monkeypatch.setattr(window, "PICTURE_SIZE", (64, 48))
    for name in SHIPPED:
        save_tiny(tmp_path / "any_style" / name)
    catalog = Catalog(BUILTIN, tmp_path / "styles")
    first, second = window.dropped(catalog, tmp_path)
    assert {"picture0", "picture1"} <= {style.key for style in catalog.styles}
    assert 0 < first < 60
    assert 0 < second < 60
    sentence = dropped_sentence([first, second])
    assert f"{first:.2f} s, the next {second:.2f} to {second:.2f} s" in sentence
