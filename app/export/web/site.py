"""Writes the static page: HTML, a style sheet, one script, weights and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from app.export.network import ExportError
from app.export.web.program import page_network, program
from app.export.web.scene import lake, painted, webp
from app.styles.pack import Style
from kernels.network.cpu.weights import plain_rows
from kernels.network.webgpu.layers import Layer, unsupported
from kernels.weight_transforms import PHASE_TAPS
from models.checkpoints import load_checkpoint
from models.families.keys import FEED_FORWARD
from models.network_config import NetworkConfig, network_config
from utils.files.atomic import atomic_write
from utils.translation.joints import labeled
from utils.translation.texts import tr

PAGE = Path(__file__).with_name("page")
ICON = Path(__file__).resolve().parents[3] / "assets" / "icons" / "styleforge.svg"
SCRIPTS = ("paint.js", "view.js", "pace.js", "sources.js", "page.js")
THUMBNAIL = (272, 272)  # twice the largest button's width, in pixels
FIRST = "FIRST"  # in index.html, the file of the picture that a visitor sees at once


def write_site(folder: Path, styles: Sequence[Style]) -> None:
    """Write the page with the lite network of each style, or its full one, into a folder.

    Raises:
        OSError: If a file cannot be written.
        CheckpointError: If weights cannot be read.
        ExportError: If a page cannot paint one of the styles.
    """
    folder.mkdir(parents=True, exist_ok=True)
    networks: list[NetworkConfig] = []
    listed: list[dict[str, Any]] = []
    for style in styles:
        if style.family != FEED_FORWARD:
            raise ExportError(
                tr(
                    "a web page paints styles that have a network of their own, unlike {style}",
                    style=style.title,
                )
            )
        state = load_checkpoint(style.lite or style.weights)
        network = network_config(state)
        if reason := unsupported(network):
            raise ExportError(labeled(style.title, reason))
        if network not in networks:
            networks.append(network)
        names = {
            "weights": f"{style.key}.bin",
            "picture": f"{style.key}.webp",
            "scene": f"{style.key}-scene.webp",
        }
        atomic_write(folder / names["weights"], _halves(state, network))
        atomic_write(folder / names["picture"], _thumbnail(style))
        atomic_write(folder / names["scene"], webp(painted(lake(), state)))
        listed.append(
            {"key": style.key, "title": style.title, "network": networks.index(network), **names}
        )
    script = [
        f"const STYLES = {json.dumps(listed)};",
        f"const NETWORKS = [{', '.join(map(_network, networks))}];",
        *((PAGE / name).read_text("utf-8") for name in SCRIPTS),
    ]
    text = "\n".join(script)
    atomic_write(folder / "styleforge.js", f'"use strict";\n(() => {{\n{text}}})();\n'.encode())
    atomic_write(folder / "scene.webp", webp(lake()))
    page = (PAGE / "index.html").read_text("utf-8").replace(FIRST, listed[0]["scene"])
    atomic_write(folder / "index.html", page.encode())
    for source in (PAGE / "style.css", ICON):
        atomic_write(folder / source.name, source.read_bytes())


def _halves(state: Mapping[str, Tensor], network: NetworkConfig) -> bytes:
    """Return all tensors in the order of the published state dict, as FP16."""
    return b"".join(
        state[name].numpy().astype(np.float16).tobytes() for name in network.state_shapes()
    )


def _network(config: NetworkConfig) -> str:
    """Return an object of JavaScript: where tensors lie, how layers are packed, both programs."""
    floats, halves = (page_network(config, half=half) for half in (False, True))
    tensors: dict[str, list[int]] = {}
    start = 0
    for name, shape in config.state_shapes().items():
        count = int(np.prod(shape))
        tensors[name] = [start, count]
        start += count
    fields = {
        "tensors": json.dumps(tensors),
        "layers": json.dumps([_layer(layer) for layer in floats.normed]),
        "last": json.dumps({"inputs": config.widths[0], "side": config.end_kernel}),
        "floats": program(floats),
        "halves": program(halves),
    }
    return "{" + ", ".join(f"{name}: {text}" for name, text in fields.items()) + "}"


def _layer(layer: Layer) -> dict[str, Any]:
    """Describe how a layer's filters are packed, see kernels.network.webgpu.weights."""
    form, tile = layer.form, layer.tile
    rows: Any = [np.eye(form.side).tolist()]
    if form.enlarges:
        rows = PHASE_TAPS
    elif layer.winograd:
        rows = [plain_rows().tolist()]
    return {
        "name": layer.convolution,
        "norm": layer.norm,
        "inputs": form.inputs,
        "outputs": form.outputs,
        "rows": rows,
        "parts": form.outputs // tile.outputs,
        "blocks": form.blocks(tile),
        "positionsFirst": layer.winograd,
    }


def _thumbnail(style: Style) -> bytes:
    """Return the style's thumbnail as WebP; gray without one."""
    if style.thumbnail is None:
        small = Image.new("RGB", THUMBNAIL, "gray")
    else:
        with Image.open(style.thumbnail) as picture:
            small = picture.convert("RGB")
        small.thumbnail(THUMBNAIL)
    return webp(np.asarray(small))
