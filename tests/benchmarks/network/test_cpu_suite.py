"""The suite of a processor compares its ways fairly, and counts what a layer needs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

from benchmarks.network.candidates import BASELINE
from benchmarks.network.cpu import suite
from benchmarks.network.cpu.layers import layer_rows, measure_layers
from benchmarks.network.cpu.peers import PEERS
from benchmarks.network.cpu.variants import BY_LAYERS, FUSED, VARIANTS
from benchmarks.tables.cpu import OF_ONEDNN, OUR_PEAK, layers_table, summary, ways_notes, ways_table
from benchmarks.tables.pages import markdown
from kernels.network.cpu.launchers import cpu_network
from kernels.network.cpu.work import RESIDUAL, products
from kernels.table.registry import STYLE, prepare
from models.inference.winograd import WinogradExecutor
from models.network_config import CONFIGS, NetworkConfig
from models.runtimes.runtime import Runtime
from models.transformer_net import TransformerNetFused
from tests.conftest import add_style
from tests.helpers.errors import mentions

SMALL = NetworkConfig(num_residual_blocks=1, widths=(16, 16, 16), end_kernel=5)


@pytest.fixture(scope="module", autouse=True)
def native_kernels():
    prepare(family=STYLE)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the suite's measurement of a small network, without torch.compile."""
    folder = tmp_path_factory.mktemp("data")
    add_style(folder, "sketch", 0, SMALL)
    weights = folder / "styles" / "sketch" / "weights.safetensors"
    told: list[str] = []
    found = suite.measure(
        *(weights, 40, 24, 2, 1e9),
        lambda **say: told.append(str(say.get("description", ""))),
        compile_mode=None,
    )
    assert told[0].startswith("40x24: ")
    return found


@pytest.mark.full
def test_every_way_that_is_installed_paints_the_same_picture(measured):
    rows = {row["kernels"]: row for row in measured["rows"]}
    assert list(rows) == list(VARIANTS)
    there = {key for key, each in VARIANTS.items() if not getattr(each, "runtime", None)}
    there |= {peer.key for peer in PEERS if not peer.missing} | {"openvino", "onnxruntime"}
    assert {key for key, row in rows.items() if "median_ms" in row} == there
    for key in there:
        assert rows[key]["difference"] < 0.1, "FP32, close to float64"
        assert rows[key]["iterations"] == 2


@pytest.mark.skipif(find_spec("MNN") is not None, reason="MNN is installed here")
@pytest.mark.full
def test_a_peer_that_is_not_installed_says_how_to_install_it(measured):
    (row,) = (row for row in measured["rows"] if row["kernels"] == "mnn")
    assert mentions(row["not_run"], "MNN", "styleforge[peers]")
    assert "MNN" in " ".join(ways_notes([measured]))


@pytest.mark.full
def test_layers_are_timed_in_both_ways_and_add_up_to_the_network(measured):
    layers = {row["layer"]: row for row in measured["layers"]}
    assert list(layers) == list(products(SMALL, 40, 24))
    for row in layers.values():
        assert 0 < row["min_ms"] <= row["median_ms"]
        assert 0 < row["before_min_ms"] <= row["before_median_ms"]
        assert row["floor_ms"] == row["products"] / 1e6, "at 10^9 products a second"
    assert set(measured["peak_mb"]) == {FUSED, BY_LAYERS}
    assert all(0 < peak < 200 for peak in measured["peak_mb"].values()), "without this process"


def test_the_way_before_runs_no_layer_of_the_native_network(monkeypatch):
    networks = {key: VARIANTS[key](1, (16, 16, 16), 5).eval() for key in (FUSED, BY_LAYERS)}
    networks[BY_LAYERS].load_state_dict(networks[FUSED].state_dict())
    names: dict[str, list[str]] = {key: [] for key in networks}
    picture = torch.rand(1, 3, 24, 40) * 255
    pictures = []
    with torch.inference_mode():
        for key, network in networks.items():
            network.by_layer = True
            pictures.append(network(picture, names[key].append))
    assert names[FUSED] == names[BY_LAYERS], "layers of one name are compared"
    assert torch.allclose(*pictures, atol=0.01)
    times = measure_layers(networks, picture, 3, 0.0)
    assert {len(each) for way in times.values() for each in way.values()} == {3}, "none of warm-up"

    frames = torch.zeros(1, 24, 40, 3, dtype=torch.uint8)
    with torch.inference_mode():
        for key, network in networks.items():
            assert isinstance(network, TransformerNetFused)
            assert (network.paint_bytes(frames) is None) == (key == BY_LAYERS)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the native network ran")

    monkeypatch.setattr(WinogradExecutor, "__call__", refuse)
    with torch.inference_mode():
        networks[BY_LAYERS](picture)
        with pytest.raises(AssertionError):
            networks[FUSED](picture)


def test_products_are_a_third_of_a_direct_convolution():
    needed = products(CONFIGS["full"], 640, 480)
    in_units = {layer: round(count / 1e9, 2) for layer, count in needed.items()}
    assert in_units["conv1"] == 0.60, "2.25 * 9 for each output, 3 colors and 32 channels"
    assert in_units[RESIDUAL] == 7.08, "2.25 instead of 9 for each of ten layers"
    assert in_units["deconv1"] + in_units["deconv2"] == pytest.approx(1.97, abs=0.02)
    assert in_units["deconv3"] == 0.74
    direct = 2.39 + 2.83 + 28.31 + 5.03 + 2.39
    assert 0.25 < sum(needed.values()) / 1e9 / direct < 0.34


def test_the_rate_counts_products_of_all_threads():
    native = cpu_network()
    assert native is not None
    threads = torch.get_num_threads()
    once, twice = native.multiply(1000), native.multiply(2000)
    assert twice == 2 * once
    try:
        torch.set_num_threads(1)
        assert native.multiply(1000) * threads == once
    finally:
        torch.set_num_threads(threads)
    assert suite.facts()["products_per_second"] > 1e8


def row(key: str, median_ms: float | None) -> dict[str, object]:
    times = {} if median_ms is None else {"median_ms": median_ms, "min_ms": median_ms - 1}
    return {"kernels": key, "title": key.title(), "difference": 0.001, "psnr": 95.0, **times}


def test_ours_is_compared_with_the_fastest_other_and_with_the_way_before():
    rows = [row(FUSED, 40.0), row(BY_LAYERS, 50.0), row(BASELINE, 200.0), row("mnn", 90.0)]
    assert summary(rows) == {"of_before": 0.8, "ahead": 2.25}, "MNN's time by ours"
    assert summary([row(FUSED, 40.0), row(BY_LAYERS, None)]) == {"of_before": None, "ahead": None}
    faster = [row(FUSED, 40.0), row(BY_LAYERS, 50.0), row("mnn", 20.0)]
    assert summary(faster)["ahead"] == 0.5, "where another wins, it shows"


def test_the_tables_show_medians_minima_and_floors():
    times = {layer: [4.0, 2.0, 3.0] for layer in products(SMALL, 40, 24)}
    before = {layer: [12.0, 6.0, 9.0] for layer in times}
    layers = layer_rows(times, before, dict.fromkeys(times, 3e9), 2e12)
    size = {
        "width": 40,
        "height": 24,
        "rows": [row(FUSED, 40.0), row(BY_LAYERS, 50.0), {**row("ncnn", None), "not_run": "why"}],
        "layers": layers,
        "peak_mb": {FUSED: 61.0, BY_LAYERS: 70.0},
    }
    cells = {line[0]: line[1:] for line in ways_table([size])}
    assert cells[FUSED.title()][0] == "40 (39)"
    assert cells[OF_ONEDNN][0] == "0.80"
    assert cells[OUR_PEAK][0] == "61"
    first, *_, whole = layers_table(size)[1:]
    assert first[1:5] == ("3", "14 %", "9", "3.00x")
    assert first[6:] == ("1.5", "50 %")
    assert whole[0] == "all"
    assert whole[1] == "21"
    without_rate = layer_rows(times, before, dict.fromkeys(times, 3e9), None)
    assert layers_table({**size, "layers": without_rate})[-1][-1] == "-"
    report = {
        "cpu": {"lite": [size]},
        "products_per_second": 66e9,
        "runtimes": {"ncnn": "1.0"},
        "machine": {"gpu": "", "cpu": "A CPU", "threads": 2},
        "versions": {"torch": "2.13", "python": "3.11"},
        "taken": "2026-11-29",
        "commit": None,
    }
    text = markdown(report)
    assert "ncnn 1.0 on this processor, which multiplies 66 * 10^9 times a second" in text
    assert "Not run at 40x24: Ncnn: why." in text


def test_a_peer_asks_for_its_package_before_it_is_imported(monkeypatch):
    for peer in PEERS:
        assert isinstance(peer, Runtime)
        monkeypatch.setattr(peer, "packages", ("no_such_package",))
        assert mentions(peer.refusal(), "no_such_package", "styleforge[peers]")
