"""Tuned layers for tests: the library's layers under their own names."""

from __future__ import annotations

import json
from typing import Any

from kernels.network.tuned import ENDS, TunedLayer, Tuning, image_of, kernel_names, store
from tests.kernels.driver.standins import CODE

CARD, CAPABILITY, DIGEST = "NVIDIA Test 4000", (9, 0), "abc"


def layer(
    description: dict[str, Any],
    role: str = "down1",
    size: tuple[int, int] = (512, 512),
    *,
    network: str = "lite",
    small: bool = False,
    traits: str = "",
) -> TunedLayer:
    """Return the library's layer for a role, with one block less and other kernels."""
    layers = description["sm80"]["networks"][network]
    row = layers[role] if role in ENDS else layers["convs"][role]
    traits = traits or f"Traits<{role}, {size[0]}>"
    library = f"::LiteLayers<styleforge::sm80::In16Bits>::{role.title()}"
    row = json.loads(json.dumps(row).replace(library, f"::{traits}"))
    row["blocks"] -= 1
    row.pop("kind", None)
    return TunedLayer(network, small, *size, role, traits, row, 0.5, 1.0)


def tuning(*layers: TunedLayer, **changes: Any) -> Tuning:
    kernels = {one.traits: {n: n.replace(" ", "") for n in _names(one)} for one in layers}
    given: dict[str, Any] = {
        "card": CARD,
        "capability": CAPABILITY,
        "driver": "580.1",
        "digest": DIGEST,
        "taken": "2026-01-02",
        "cases": tuple(dict.fromkeys((one.network, one.small) for one in layers)),
        "layers": layers,
        "kernels": kernels,
        "images": tuple(image_of(CARD, traits, "sm_90", CODE) for traits in kernels),
    }
    return Tuning(**{**given, **changes})


def stored(*layers: TunedLayer, **changes: Any) -> Tuning:
    found = tuning(*layers, **changes)
    store(found, dict.fromkeys(found.kernels, CODE))
    return found


def _names(one: TunedLayer) -> list[str]:
    return kernel_names(one.described)
