"""Few networks stay in memory, however many styles have been shown."""

from __future__ import annotations

import gc
from weakref import WeakSet

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.network_pool import NETWORKS_KEPT, Network, NetworkPool
from app.engine.stage_timer import Stopwatch
from app.engine.style_weights import ActiveWeights
from models.families.feed_forward import FeedForwardFamily
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import TransformerNetBaseline, TransformerNetFused
from tests.app.engine.conftest import shown
from tests.conftest import add_style


def test_the_networks_used_last_stay_in_memory_and_no_others(
    engine, catalog, tmp_path, monkeypatch, frame
):
    used: WeakSet[Network] = WeakSet()
    render = Network.render

    def watched(self, pixels, **how):
        used.add(self)
        return render(self, pixels, **how)

    monkeypatch.setattr(Network, "render", watched)
    styles = [f"style{n}" for n in range(NETWORKS_KEPT + 2)]
    for n, key in enumerate(styles):
        add_style(tmp_path, key, n, NetworkConfig(1, (4, 4, 4 + n), 3))
    catalog.reload()
    for key in styles:
        shown(engine, EngineConfig(key, device="cpu", size=32, network="full"), frame)
    gc.collect()
    assert len(used) == NETWORKS_KEPT


CPU = torch.device("cpu")
SIZES = [(16, 16), (17, 42), (34, 35), (67, 20)]


@pytest.fixture
def weights(native_kernels):
    """Return weights of a network that the kernels of the CPU run."""
    shape = NetworkConfig(1, (16, 16, 32), 5)
    torch.manual_seed(3)
    state = TransformerNetBaseline(1, shape.widths, 5).state_dict()
    state["deconv3.conv2d.weight"] *= 200  # beyond black and white
    state["deconv3.conv2d.bias"] += 120
    return ActiveWeights(1, "", state, shape, False, FeedForwardFamily())


def painted(width: int, height: int, seed: int = 0):
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (height, width, 3), dtype=np.uint8)


def rounded(network: Network, pixels):
    return (network.raw(pixels).clamp(0, 255) + 0.5).to(torch.uint8).numpy()


@pytest.mark.parametrize("size", SIZES)
def test_on_a_cpu_the_network_reads_and_writes_bytes(weights, size, monkeypatch):
    network = NetworkPool().get("fused", Precision.fp32, CPU, weights)
    pixels = painted(*size)
    expected = rounded(network, pixels)
    monkeypatch.setattr(TransformerNetFused, "forward", None)
    rendering = network.render(pixels)
    assert (expected.min(), expected.max()) == (0, 255)
    assert np.array_equal(rendering.pixels, expected)
    assert (rendering.broken, rendering.raws, rendering.deep) == (False, (), None)
    assert list(dict(rendering.timings.groups)) == ["encoder", "residual blocks", "decoder"]
    batch = network.render_batch([pixels, painted(*size, seed=1), pixels])
    assert [each.batch for each in batch] == [3] * 3
    assert np.array_equal(batch[0].pixels, expected)
    assert np.array_equal(batch[2].pixels, expected)
    assert not np.array_equal(batch[1].pixels, expected)


def test_a_picture_of_16_bits_keeps_its_values(weights):
    network = NetworkPool().get("fused", Precision.fp32, CPU, weights)
    pixels = painted(33, 22)
    rendering = network.render(pixels, deep=True)
    (raw,) = rendering.raws
    assert torch.equal(raw, network.raw(pixels))
    assert np.array_equal(rendering.pixels, network.render(pixels).pixels)
    assert rendering.deep is not None


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 0.0])
def test_in_bytes_a_picture_is_broken_if_it_is_no_number_or_one_color(weights, value):
    weights.state["deconv3.conv2d.weight"] *= 0
    weights.state["deconv3.conv2d.bias"][:] = 5.0
    weights.state["deconv3.conv2d.bias"][1] += value
    network = NetworkPool().get("fused", Precision.fp32, CPU, weights)
    rendering = network.render(painted(30, 21))
    assert rendering.broken
    assert rendering.raws == ()


@pytest.mark.parametrize("precision", [Precision.bf16, Precision.amp])
def test_other_precisions_round_floats_on_a_cpu(weights, precision):
    network = NetworkPool().get("fused", precision, CPU, weights)
    pixels = painted(24, 20)
    rendering = network.render(pixels)
    assert len(rendering.raws) == 1
    assert np.array_equal(rendering.pixels, rounded(network, pixels))


def test_a_picture_that_is_too_small_is_refused_in_bytes_too(weights):
    network = NetworkPool().get("fused", Precision.fp32, CPU, weights)
    with pytest.raises(ValueError, match="at least 16x16"):
        network.render(painted(40, 15))


def test_what_runs_between_two_layers_does_not_count_as_the_network(weights, monkeypatch):
    network = NetworkPool().get("fused", Precision.fp32, CPU, weights)
    called, excluded = [], []
    monkeypatch.setattr(Stopwatch, "exclude", lambda _, seconds: excluded.append(seconds))
    network.render(painted(32, 24), between=lambda _: called.append(len(excluded)))
    assert called == list(range(len(excluded)))
    assert len(called) > 5
