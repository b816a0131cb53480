"""Few networks stay in memory, however many styles have been shown."""

from __future__ import annotations

import gc
from weakref import WeakSet

from app.engine.config import EngineConfig
from app.engine.network_pool import NETWORKS_KEPT, Network
from models.network_config import NetworkConfig
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
