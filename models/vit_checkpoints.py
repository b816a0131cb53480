"""Writer and reader of the any-style network's weights as safetensors, in 16 or 8 bits.

Nothing in a file is executed. A file records its dimensions and a digest of its weights.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from models.checkpoints import CheckpointError, reading
from models.safe_load import is_dict
from models.vit_config import VitConfig, variant_name, vit_config
from models.vit_style_transfer import StyleForgeTransformer
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.text import printable
from utils.translation.texts import tr

FORMAT = "styleforge-vit-1"
STORAGES = ("float16", "int8")
MAX_BYTES = 256 << 20  # bytes of a file: the base variant has 88 MB in float16
MAX_HEADER = 4 << 20  # bytes of its header
SCALE = ".scale"  # suffix of the key of an int8 weight's scales
LARGEST = 127  # of an int8 weight
NAME = 100  # characters of a file name or a key in a message


class VitCheckpoint(NamedTuple):
    """The content of a file; `state` is its state dict, float32, on the CPU."""

    config: VitConfig
    state: dict[str, Tensor]
    metadata: dict[str, str]

    def network(self) -> StyleForgeTransformer:
        made = StyleForgeTransformer(self.config)
        made.load_state_dict(self.state)
        return made.requires_grad_(False).eval()


def save_vit(
    path: Path | str,
    config: VitConfig,
    state: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    storage: str = "float16",
) -> None:
    """Write the weights of a network, on any device, atomically.

    `storage` is "float16", or "int8": 8 bits and one float32 scale per output channel for matrices
    and kernels, so the error of a weight is at most half a scale; 16 bits for vectors. Others raise
    ValueError; weights that are not finite or do not fit, CheckpointError; the disk, OSError.
    """
    path = Path(path)
    if storage not in STORAGES:
        raise ValueError(f"expected one of {', '.join(STORAGES)}, got '{storage}'")
    name = printable(path.name, NAME)
    stored: dict[str, Tensor] = {}
    for key, value in state.items():
        weight = value.detach().to("cpu", torch.float32)
        if storage == "int8" and weight.dim() > 1:
            stored[key], stored[key + SCALE] = quantize(weight)
        else:
            stored[key] = weight.half().contiguous()
        kept = stored.get(key + SCALE, stored[key])
        if not bool(kept.isfinite().all()):
            broken = printable(key, NAME)
            raise CheckpointError(
                tr("'{file}' was not written: not finite: {keys}", file=name, keys=broken)
            )
    _check_shapes(name, config, stored)
    header = {
        **(metadata or {}),
        "format": FORMAT,
        "variant": variant_name(config),
        "config": json.dumps(config.as_dict()),
        "storage": storage,
        "sha256": weights_digest(stored),
    }
    atomic_write(path, safetensors.torch.save(stored, header))


def load_vit(path: Path | str) -> VitCheckpoint:
    """Read a file of `save_vit`.

    Raises:
        CheckpointError: If the file is missing, damaged or of another kind. The message is one
            sentence.
    """
    path = Path(path)
    name = printable(path.name, NAME)
    with reading(name):
        data = read_regular(path, MAX_BYTES)
    metadata = _metadata(name, data)
    try:
        config = vit_config(small_json.loads(metadata.get("config", "")))
    except ValueError as error:
        raise CheckpointError(
            tr("'{file}' does not state the dimensions of its network", file=name)
        ) from error
    try:
        stored = safetensors.torch.load(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(tr("'{file}' is a damaged safetensors file", file=name)) from error
    _check_shapes(name, config, stored)
    if weights_digest(stored) != metadata.get("sha256"):
        raise CheckpointError(
            tr("'{file}' is damaged: its weights do not match its digest", file=name)
        )
    state = {
        key: dequantize(value, stored[key + SCALE]) if value.dtype == torch.int8 else value.float()
        for key, value in stored.items()
        if not key.endswith(SCALE)
    }
    # A sum is finite only if every weight is, and costs a tenth of the time of isfinite(). Integers
    # times a scale are finite if the largest product is.
    largest = {
        key: stored[key + SCALE] * LARGEST if key + SCALE in stored else value
        for key, value in state.items()
    }
    if broken := [key for key, value in largest.items() if not math.isfinite(float(value.sum()))]:
        raise CheckpointError(
            tr("'{file}' has weights that are not finite in {key}", file=name, key=broken[0])
        )
    return VitCheckpoint(config, state, metadata)


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Round [C, ...] float32 to int8, -127 to 127, and scales [C] float32 per output channel."""
    scales = weight.flatten(1).abs().amax(1) / LARGEST
    divisor = torch.where(scales > 0, scales, 1.0)
    shape = (-1, *[1] * (weight.dim() - 1))
    return (weight / divisor.reshape(shape)).round().to(torch.int8).contiguous(), scales


def dequantize(values: Tensor, scales: Tensor) -> Tensor:
    """Undo `quantize`, up to half a scale per weight; return float32."""
    return values * scales.reshape(-1, *[1] * (values.dim() - 1))  # in one pass, of float32


def weights_digest(stored: Mapping[str, Tensor]) -> str:
    """Compute the SHA-256 of names, dtypes, shapes and bytes of CPU tensors, in hexadecimal."""
    digest = hashlib.sha256()
    for key in sorted(stored):
        value = stored[key].contiguous()
        digest.update(f"{key} {value.dtype} {list(value.shape)}\n".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _metadata(name: str, data: bytes) -> dict[str, str]:
    """Return the texts in the header.

    Raises:
        CheckpointError: If `save_vit` did not write the file.
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 9 or data[8:9] != b"{" or not 2 <= length <= min(len(data) - 8, MAX_HEADER):
        raise CheckpointError(tr("'{file}' is not a safetensors file", file=name))
    try:
        header = small_json.loads(data[8 : 8 + length])
    except ValueError as error:
        raise CheckpointError(tr("'{file}' is a damaged safetensors file", file=name)) from error
    texts = header.get("__metadata__") if is_dict(header) else None
    found = {str(key): str(text) for key, text in texts.items()} if is_dict(texts) else {}
    if found.get("format") != FORMAT:
        raise CheckpointError(tr("'{file}' is not an any-style network", file=name))
    return found


def _check_shapes(name: str, config: VitConfig, stored: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError if a tensor is missing, unexpected or of another shape or dtype."""
    with torch.device("meta"):
        expected = {k: v.shape for k, v in StyleForgeTransformer(config).state_dict().items()}
    faults = [tr("{key} is missing", key=key) for key in expected if key not in stored]
    for key, value in stored.items():
        if key.endswith(SCALE):
            weight = stored.get(key.removesuffix(SCALE))
            fits = (
                weight is not None
                and weight.dtype == torch.int8
                and value.dtype == torch.float32
                and value.shape == weight.shape[:1]
            )
        else:
            known = value.dtype == torch.float16 or key + SCALE in stored
            fits = known and expected.get(key) == value.shape
        if not fits:
            faults.append(tr("{key} is unexpected or of another shape", key=key))
    if faults:
        raise CheckpointError(
            tr(
                "'{file}' does not fit the network it names: {faults}",
                file=name,
                faults=printable(faults[0], 2 * NAME),
            )
        )
