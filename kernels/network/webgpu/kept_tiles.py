"""Keeps the tiles that a tuner found, for each GPU and network, in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

from kernels.network.webgpu.adapters import Adapter
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.tiles import CANDIDATES, DEFAULT, Tile
from utils.files.atomic import atomic_write
from utils.files.small_json import SmallJsonError, load
from utils.translation.texts import tr

NAME = "webgpu-tiles.json"
_MOST = 1 << 20  # bytes of the file


class Kept(NamedTuple):
    """The tiles and sums of a GPU and a network.

    Attributes:
        network: The network with them, None if there are none.
        reason: Why a file cannot be read, as a sentence; else "".
    """

    network: Network | None
    reason: str


def read(folder: Path, adapter: Adapter, network: Network) -> Kept:
    """Return what the file in a folder has for a GPU, its driver, wgpu and a network."""
    try:
        rows = _rows(folder)
        row = rows.get(_name(adapter, network))
        return Kept(None if row is None else _with(network, _table(row)), "")
    except (OSError, ValueError) as error:
        return Kept(
            None,
            tr("the tuned tiles in {path} cannot be read: {reason}", path=NAME, reason=error),
        )


def write(folder: Path, adapter: Adapter, network: Network) -> None:
    """Write a network's tiles and sums to the file, atomically.

    Other rows stay, and a damaged file is replaced.

    Raises:
        OSError: If the file cannot be written; it is then unchanged.
    """
    try:
        rows = _rows(folder)
    except ValueError:
        rows = {}
    rows[_name(adapter, network)] = {"sums": network.sums, "tiles": asdict(network.tiles)}
    atomic_write(folder / NAME, json.dumps(rows, indent=1).encode())


def _rows(folder: Path) -> dict[str, Any]:
    """Return the rows of the file by name; none without a file."""
    try:
        rows = load(folder / NAME, _MOST)
    except FileNotFoundError:
        return {}
    return _table(rows)


def _name(adapter: Adapter, network: Network) -> str:
    """Return the name of a row: everything that decides which tile is fast."""
    parts = {
        "adapter": adapter.name,
        "backend": adapter.backend,
        "driver": adapter.driver,
        "wgpu": version("wgpu"),
        "widths": network.widths,
        "end_kernel": network.end_kernel,
        "precision": "fp16" if network.half else "fp32",
        "winograd": network.winograd,
        "enlarging_winograd": network.enlarging_winograd,
    }
    return json.dumps(parts)


def _with(network: Network, row: dict[str, Any]) -> Network:
    """Return a network with the tiles and sums of a row, or the defaults that it lacks.

    Raises:
        SmallJsonError: If a tile is none of the candidates, which alone have been tested.
    """
    named = _table(row.get("tiles"))
    chosen: dict[str, Tile] = {}
    for field in CANDIDATES:
        if field in named:
            values = _table(named[field])
            found = [tile for tile in CANDIDATES[field] if _equals(tile, values)]
            if not found:
                raise SmallJsonError(tr("it has an unknown tile"))
            chosen[field] = found[0]
    half_sums = network.half and row.get("sums") == "fp16"
    return replace(network, tiles=replace(DEFAULT, **chosen), sums="fp16" if half_sums else "fp32")


def _equals(tile: Tile, values: Mapping[str, Any]) -> bool:
    """Compare a tile with the fields that it has; the types count, since True equals 1."""
    return all(
        type(values.get(name)) is type(value) and values[name] == value
        for name, value in asdict(tile).items()
    )


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SmallJsonError(tr("it is not a table"))
    return cast("dict[str, Any]", value)
