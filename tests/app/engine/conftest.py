"""An engine on the CPU, two styles that can be mixed, and a record of the networks that ran."""

from __future__ import annotations

import pytest

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.network_pool import Network
from models.network_config import NetworkConfig
from tests.conftest import add_style

SMALL, LITE = NetworkConfig(1, (8, 8, 8), 5), NetworkConfig(1, (4, 4, 4), 3)


@pytest.fixture
def notices():
    return []


@pytest.fixture
def engine(catalog, config, notices, native_kernels):
    engine = Engine(catalog, notices.append)
    engine.configure(config)
    return engine


@pytest.fixture
def pair(catalog, tmp_path):
    """Return a config that mixes two small styles; the first has a lite network."""
    add_style(tmp_path, "first", 1, SMALL, lite=LITE)
    add_style(tmp_path, "second", 2, SMALL)
    catalog.reload()
    return EngineConfig(
        "first", device="cpu", size=64, mix="second", mix_amount=0.4, network="full"
    )


def shown(engine, config, frame, **how):
    engine.configure(config)
    return engine.process(frame, **how)


@pytest.fixture
def modules(monkeypatch):
    """Return the class of every network that ran, in order."""
    ran: list[type] = []
    render = Network.render

    def watched(self, pixels, **how):
        ran.append(type(self._module))
        return render(self, pixels, **how)

    monkeypatch.setattr(Network, "render", watched)
    return ran
