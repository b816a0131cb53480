"""Readers of every published checkpoint of the network, and the writer of our own.

The first bytes of a file decide its format, not its name. Nothing in a file is ever executed:
pickles go through PyTorch's restricted reader, which accepts tensors and plain containers only.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from models.network_config import (
    FULL,
    MAX_RESIDUAL_BLOCKS,
    NetworkConfig,
    network_config,
    num_residual_blocks,
)
from models.safe_load import UnsafeFileError, is_dict, is_weight, load_tensors
from utils.files.atomic import atomic_write
from utils.files.byte_planes import MAGIC, unpack
from utils.files.regular import open_regular
from utils.text import printable
from utils.translation.joints import clauses, enumerated, labeled
from utils.translation.numbers import number
from utils.translation.texts import mark, tr, trn

State = dict[str, Tensor]  # a state dict by the published keys

NAME = 100  # characters of a file name in a message
MAX_NESTING = 8  # levels of wrapper dicts
MAX_LISTED_KEYS = 3  # per fault in a message
MAX_BYTES = 100 << 20  # bytes of a checkpoint, and of its weights as float32: 15 times the network
MAX_PICKLE_BYTES = 4 << 20  # bytes of a PyTorch file's data.pkl; the network's has 8 KB


class CheckpointError(ValueError):
    """Raised if a file cannot be used as weights; one sentence names the file and its fault."""


@contextmanager
def reading(name: str) -> Generator[None]:
    """Turn an OSError while a file is read into a CheckpointError that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise CheckpointError(tr("'{file}' does not exist", file=name)) from error
    except OSError as error:
        raise CheckpointError(
            tr("'{file}' cannot be read: {error}", file=name, error=error.strerror)
        ) from error


# Prefixes that wrappers (DataParallel, torch.compile) leave on every key.
_PREFIXES = ("module.", "_orig_mod.")

# Keys under which training checkpoints store the state dict; wrappers may be nested.
_WRAPPERS = ("state_dict", "model_state_dict", "model", "network", "params")

# Keys of old instance norms, unused: the statistics are computed from the input.
_DROPPED = re.compile(r".*\b(running_mean|running_var|num_batches_tracked)")

# (pattern of a key, our key). The first matching row applies; a key that matches no row stays as it
# is. Our keys are the names of pytorch/examples.
_RENAMES: tuple[tuple[str, str], ...] = (
    (r"(conv\d)\.conv\.(\w+)", r"\1.conv2d.\2"),
    (r"conv(\d)\.norm\.(\w+)", r"in\1.\2"),
    (r"residual_blocks\.(\d{1,9})\.(conv\d)\.conv\.(\w+)", r"res{}.\2.conv2d.\3"),
    (r"residual_blocks\.(\d{1,9})\.conv(\d)\.norm\.(\w+)", r"res{}.in\2.\3"),
    (r"(deconv\d)\.conv\.(\w+)", r"\1.conv2d.\2"),
    (r"deconv3\.1\.(\w+)", r"deconv3.conv2d.\1"),
    (r"deconv1\.norm\.(\w+)", r"in4.\1"),
    (r"deconv2\.norm\.(\w+)", r"in5.\1"),
)
_AFFINE_NAMES = {"gamma": "weight", "beta": "bias"}

# Other kinds of files that users pass as checkpoints, by their first bytes.
_FOREIGN = (
    (b"\xff\xd8\xff", mark("a JPEG picture")),
    (b"\x89PNG", mark("a PNG picture")),
    (b"GIF8", mark("a GIF picture")),
    (b"BM", mark("a BMP picture")),
    (b"%PDF", mark("a PDF document")),
    (b"\x1f\x8b", mark("a gzip archive")),
    (b"7z\xbc\xaf", mark("a 7-Zip archive")),
    (b"Rar!", mark("a RAR archive")),
    (b"\x89HDF", mark("an HDF5 (Keras) file")),
    (b"version https://git-lfs", mark("a Git LFS pointer, not the file it stands for")),
)
_TORCH_LEGACY = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"  # magic number of the pre-1.6 torch format
_PROTOCOLS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def load_checkpoint(path: Path | str) -> State:
    """Read a network's complete, finite state dict under our keys: float32, contiguous, on the CPU.

    The regular file, or one packed in a wheel, is safetensors or PyTorch (zip or legacy), in
    either published layout, with or without wrapper dicts.

    Raises:
        CheckpointError: If the file is missing, unreadable, damaged or of another kind. The
            message names the first missing, unexpected and misshapen keys.
    """
    path = Path(path)
    name = printable(path.name, NAME)
    with reading(name), open_regular(path, MAX_BYTES) as file:
        content = _read(name, file)
    return _conform(name, _unwrap(name, content))


def check_dimensions(path: Path | str, found: NetworkConfig, wanted: NetworkConfig) -> None:
    """Raise CheckpointError if the weights in a file lack a network's dimensions."""
    if found != wanted:
        name = printable(Path(path).name)
        raise CheckpointError(
            tr(
                "'{file}' has {found}; this network has {expected}",
                file=name,
                found=found,
                expected=wanted,
            )
        )


def save_checkpoint(
    path: Path | str,
    state: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a state dict, on any device, in `dtype` as safetensors, atomically.

    Raises:
        CheckpointError: If a weight is not finite in `dtype`.
        OSError: If the file cannot be written.
    """
    path = Path(path)
    weights = {
        key: value.detach().to("cpu", dtype).contiguous().clone() for key, value in state.items()
    }
    if broken := _not_finite(weights):
        keys = enumerated(broken)
        raise CheckpointError(
            tr("'{file}' was not written: not finite: {keys}", file=path.name, keys=keys)
        )
    data = safetensors.torch.save(weights, dict(metadata or {}))
    atomic_write(path, data)


def _read(name: str, file: BinaryIO) -> Any:
    """Deserialize a file of any supported format.

    Raises:
        CheckpointError: If the file is empty, damaged, or of another format.
    """
    head = file.read(512)
    file.seek(0)
    if head.startswith(MAGIC):
        file = BytesIO(unpack(file.read()))
        head = file.read(512)
        file.seek(0)
    if not head:
        raise CheckpointError(tr("'{file}' is empty", file=name))
    if head.startswith(b"PK"):
        return _read_zip(name, file)
    if head.startswith(_PROTOCOLS):
        if _TORCH_LEGACY not in head[:32]:
            raise CheckpointError(
                tr("'{file}' is a Python pickle, not a PyTorch checkpoint", file=name)
            )
        return _read_torch(name, file)
    # safetensors: 8 bytes with the length of the header, then the header as JSON.
    if len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32:
        return _read_safetensors(name, file)
    if kind := _describe(head):
        raise CheckpointError(
            tr("'{file}' is not a checkpoint: it is {kind}", file=name, kind=tr(kind))
        )
    raise CheckpointError(tr("'{file}' is not a checkpoint: its format is unknown", file=name))


def _read_zip(name: str, file: BinaryIO) -> Any:
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise CheckpointError(tr("'{file}' is damaged or truncated", file=name)) from error
    if any("/code/" in entry for entry in sizes):
        raise CheckpointError(
            tr("'{file}' is a TorchScript program, not a checkpoint: it contains code", file=name)
        )
    if not any(entry.endswith("/data.pkl") for entry in sizes):
        raise CheckpointError(tr("'{file}' is not a checkpoint: it is a ZIP archive", file=name))
    pickled = sum(size for entry, size in sizes.items() if entry.endswith("/data.pkl"))
    # Check the uncompressed sizes: the archive itself may be small.
    if sum(sizes.values()) > MAX_BYTES or pickled > MAX_PICKLE_BYTES:
        raise _too_large(name)
    file.seek(0)
    return _read_torch(name, file)


def _read_torch(name: str, file: BinaryIO) -> Any:
    try:
        return load_tensors(file)
    except UnsafeFileError as error:
        raise CheckpointError(error.sentence(name)) from error


def _read_safetensors(name: str, file: BinaryIO) -> State:
    try:
        # Not load_file: it maps the file, so later changes to the file would change the weights.
        return safetensors.torch.load(file.read(MAX_BYTES))
    except SafetensorError as error:
        raise CheckpointError(
            tr(
                "'{file}' is a damaged safetensors file: {error}",
                file=name,
                error=printable(str(error)),
            )
        ) from error
    except (KeyError, ValueError, RuntimeError) as error:
        raise CheckpointError(tr("'{file}' is a damaged safetensors file", file=name)) from error


def _too_large(name: str) -> CheckpointError:
    most = number(MAX_BYTES >> 20)
    return CheckpointError(
        tr("'{file}' is too large for weights: more than {n} MB", file=name, n=most)
    )


def _describe(head: bytes) -> str:
    """Name the kind of a foreign file by its first bytes, or return "" for an unknown kind."""
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            return what
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return mark("a WebP picture")
    if re.match(rb"\s*<(!doctype|html|head|\?xml)", head, re.IGNORECASE):
        return mark("a web page")
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A multi-byte character may be truncated at the end of `head`.
        text = head[: error.start].decode("utf-8") if error.start > len(head) - 4 else "\0"
    return mark("a text file") if text.isprintable() or _is_text(text) else ""


def _is_text(text: str) -> bool:
    return all(c.isprintable() or c in "\r\n\t\f" for c in text)


def _unwrap(name: str, content: object) -> dict[Any, Any]:
    for _ in range(MAX_NESTING):  # a dict may contain itself
        if not is_dict(content):
            break
        table = content
        inner = next((table[key] for key in _WRAPPERS if is_dict(table.get(key))), None)
        if inner is None:
            break
        content = inner
    if not is_dict(content):
        kind = type(content).__name__
        raise CheckpointError(
            tr("'{file}' holds a {type}, not named weights", file=name, type=kind)
        )
    return content


def _our_key(key: str) -> str:
    while stripped := next((p for p in _PREFIXES if key.startswith(p)), ""):
        key = key.removeprefix(stripped)
    for pattern, ours in _RENAMES:
        if found := re.fullmatch(pattern, key):
            # The other layout counts residual blocks from 0, ours from 1.
            key = found.expand(ours.format(int(found[1]) + 1) if "{}" in ours else ours)
            break
    head, _, last = key.rpartition(".")
    return f"{head}.{_AFFINE_NAMES.get(last, last)}" if head else key


def _conform(name: str, content: Mapping[Any, Any]) -> State:
    """Rename, check and convert the weights; raise CheckpointError that names unfit keys."""
    found: dict[str, Any] = {}
    duplicates: list[str] = []
    for key, value in content.items():
        ours = _our_key(str(key))
        if _DROPPED.fullmatch(ours):
            continue
        if ours in found:
            duplicates.append(ours)
        found[ours] = value
    count = num_residual_blocks(found)
    if count > MAX_RESIDUAL_BLOCKS:
        raise CheckpointError(
            tr(
                "'{file}' has {n} residual blocks; at most {most} are supported",
                file=name,
                n=number(count),
                most=MAX_RESIDUAL_BLOCKS,
            )
        )
    usable = {key: value for key, value in found.items() if is_weight(value)}
    try:
        shape = network_config(usable)
    except ValueError:
        shape = FULL
    expected = shape.state_shapes()
    faults = _faults(found, usable, expected)
    if any(faults.values()):
        # Widths inferred from inconsistent weights would put the wrong keys into the message.
        expected = replace(FULL, num_residual_blocks=max(count, 1)).state_shapes()
        faults = _faults(found, usable, expected)
    faults[mark("given twice", "weights")] = duplicates
    if any(faults.values()):
        text = clauses(
            labeled(tr(what, "weights"), _listed(keys)) for what, keys in faults.items() if keys
        )
        raise CheckpointError(
            tr("'{file}' does not fit the network: {faults}", file=name, faults=printable(text))
        )
    # An expanded tensor may be larger than the file.
    if 4 * sum(usable[key].numel() for key in expected) > MAX_BYTES:
        raise _too_large(name)
    state = {
        key: usable[key].detach().to("cpu", torch.float32).contiguous().clone() for key in expected
    }
    if broken := _not_finite(state):
        keys = _listed(broken)
        raise CheckpointError(
            tr("'{file}' has NaN or infinite weights in {keys}", file=name, keys=keys)
        )
    return state


def _listed(keys: list[str]) -> str:
    listed = enumerated(printable(key, NAME) for key in keys[:MAX_LISTED_KEYS])
    more = len(keys) - MAX_LISTED_KEYS
    if more <= 0:
        return listed
    said = number(more)
    return trn("{names} and {n} more", "{names} and {n} more", more, names=listed, n=said)


def _faults(
    found: Mapping[str, Any], usable: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]
) -> dict[str, list[str]]:
    """Map each kind of fault, marked for translation, to the keys that have it."""
    return {
        mark("missing", "weights"): [key for key in expected if key not in found],
        mark("unexpected", "weights"): [key for key in found if key not in expected],
        mark("not floating-point tensors", "weights"): [
            k for k in found if k in expected and k not in usable
        ],
        mark("wrongly shaped", "weights"): [
            tr(
                "{key} ({found} instead of {expected})",
                key=key,
                found=_by(usable[key].shape),
                expected=_by(expected[key]),
            )
            for key in expected
            if key in usable and usable[key].shape != expected[key]
        ],
    }


def _not_finite(state: Mapping[str, Tensor]) -> list[str]:
    return [key for key, value in state.items() if not bool(value.isfinite().all())]


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
