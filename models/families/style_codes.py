"""Writer and reader of a style code and its network's digest; nothing in a file is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from models.checkpoints import CheckpointError, reading
from models.safe_load import is_dict
from models.vit_config import MAX_WIDTH
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import open_regular, read_regular
from utils.text import printable
from utils.translation.texts import tr

FORMAT = "styleforge-code-1"
KEY = "code"
MAX_BYTES = 1 << 20  # bytes of a code file
MAX_HEADER = 4 << 20  # bytes of the header of any safetensors file
NAME = 100  # characters of a file name in a message
_DIGEST = re.compile(r"[0-9a-f]{64}")


class StyleCode(NamedTuple):
    """A picture's code, [1, code_dim] float32, on the CPU, and the hex digest of its network."""

    values: Tensor
    network: str


def save_code(path: Path | str, code: StyleCode, metadata: Mapping[str, str] | None = None) -> None:
    """Write a code in float32, atomically, with further texts for the header.

    Raises:
        CheckpointError: If the code is not finite.
        OSError: If the file cannot be written.
    """
    path = Path(path)
    values = code.values.detach().to("cpu", torch.float32).contiguous()
    if not bool(values.isfinite().all()):
        raise CheckpointError(
            tr("'{file}' was not written: not finite", file=printable(path.name, NAME))
        )
    header = {**(metadata or {}), "format": FORMAT, "network": code.network}
    atomic_write(path, safetensors.torch.save({KEY: values}, header))


def load_code(path: Path | str) -> StyleCode:
    """Read a style code.

    Raises:
        CheckpointError: If the file is missing, damaged, or not a style code. The message is one
            sentence.
    """
    path = Path(path)
    name = printable(path.name, NAME)
    texts = header_texts(path)
    if texts.get("format") != FORMAT:
        raise CheckpointError(tr("'{file}' is not a style code", file=name))
    network = texts.get("network", "")
    with reading(name):
        data = read_regular(path, MAX_BYTES)
    try:
        found = safetensors.torch.load(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(tr("'{file}' is a damaged style code", file=name)) from error
    values = found.get(KEY)
    if (
        len(found) != 1
        or values is None
        or values.dtype != torch.float32
        or values.dim() != 2
        or values.shape[0] != 1
        or not 1 <= values.shape[1] <= MAX_WIDTH
        or not bool(values.isfinite().all())
        or not _DIGEST.fullmatch(network)
    ):
        raise CheckpointError(tr("'{file}' is a damaged style code", file=name))
    return StyleCode(values, network)


def second_path(weights: Path, network: str) -> Path:
    """Return the path of a pack's code for another network, with this digest in hexadecimal."""
    return weights.with_name(f"code-{network}.safetensors")


def header_texts(path: Path) -> dict[str, str]:
    """Read the texts in a safetensors header; return {} for other files.

    Raises:
        CheckpointError: If the file is missing or cannot be read.
    """
    # The file itself may have any size: only its head is read.
    with reading(printable(path.name, NAME)), open_regular(path, 1 << 62) as file:
        start = file.read(9)
        length = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or not 2 <= length <= MAX_HEADER:
            return {}
        data = start[8:] + file.read(length - 1)
    try:
        header = small_json.loads(data)
    except small_json.SmallJsonError:
        return {}
    texts = header.get("__metadata__") if is_dict(header) else None
    return {str(key): str(text) for key, text in texts.items()} if is_dict(texts) else {}
