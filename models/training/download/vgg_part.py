"""Downloads the layers of VGG-19 that training uses, 9.3 MB, from torchvision's file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from models.training.download.errors import LayoutError, NoRangesError, WholeFileNeededError
from models.training.download.published import WHOLE_MB
from models.training.download.remote_file import RemoteFile
from models.training.download.saved_tensors import SavedTensor, SavedTensors, open_saved
from models.training.download.whole_file import downloading
from models.training.errors import TrainingError
from models.training.vgg_layers import layer_shapes
from utils.files.atomic import atomic_write
from utils.translation.joints import enumerated
from utils.translation.texts import mark, tr

PART = "conv1_1-conv3_4.safetensors"  # suffix of the name of the part's file
HEAD_LIMIT = 1 << 20  # bytes that may be read in addition to the layers
PART_BYTES = 4 * sum(math.prod(shape) for shape in layer_shapes().values())
# in the form that models.training.features reads
INPUT = "RGB / 255, normalized as torchvision does"
_ADVICE = mark("download the whole file ({n} MB) with --vgg-download whole, or pass one as --vgg")


def part_of(whole: Path) -> Path:
    return whole.with_name(f"{whole.stem}-{PART}")


def fetch_part(
    address: str,
    path: Path,
    hashes: Mapping[str, str],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> bool:
    """Download the layers of LAYERS to a safetensors file, with its SHA-256 in a file next to it.

    Every answer of the server must have the same size and version of the file, and every tensor its
    shape, float32 and finite numbers. Otherwise nothing is left in the folder.

    Args:
        address: URL of torchvision's file, in either layout of `torch.save`.
        hashes: The known SHA-256 of the layers' numbers, by key; returns whether all are known.
        progress: Called with the bytes received, capped at the size of the layers, and that size.

    Raises:
        WholeFileNeededError: If the server sends no ranges, or the file has an unknown layout.
        TrainingError: If the file cannot be downloaded, or differs from the expected file.
    """
    with downloading(address, path):
        remote = RemoteFile(
            address,
            PART_BYTES + HEAD_LIMIT,
            lambda done: progress(min(done, PART_BYTES), PART_BYTES),
        )
        try:
            layers = _layers(open_saved(remote), hashes)
        except (NoRangesError, LayoutError) as exc:
            raise WholeFileNeededError(str(exc), tr(_ADVICE, n=WHOLE_MB)) from exc
        metadata = {"input": INPUT, "source": address, "version": remote.version}
        data = safetensors.torch.save(layers, metadata)
        # The checksum first: without its part it means nothing, and is replaced.
        atomic_write(_checksum_of(path), hashlib.sha256(data).hexdigest().encode() + b"\n")
        atomic_write(path, data)
    return set(layers) <= set(hashes)


def check_part(path: Path) -> None:
    """Check a cached part's checksum; if it differs, delete the part and raise TrainingError."""
    try:
        data, stated = path.read_bytes(), _checksum_of(path).read_text("ascii").strip()
    except FileNotFoundError:
        stated, data = "absent", b""
    except (OSError, UnicodeDecodeError) as exc:
        raise TrainingError(tr("'{file}' cannot be read ({error})", file=path, error=exc)) from exc
    if hashlib.sha256(data).hexdigest() == stated:
        return
    path.unlink(missing_ok=True)
    raise TrainingError(
        tr(
            "'{file}' was damaged after the download and has been deleted; start again to "
            "download it anew",
            file=path.name,
        )
    )


def layer_bytes(tensor: Tensor) -> bytes:
    """Return the numbers of a layer in their hashed form: float32, little-endian, row by row."""
    return tensor.detach().contiguous().float().numpy().astype("<f4").tobytes()


def _checksum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _layers(saved: SavedTensors, hashes: Mapping[str, str]) -> dict[str, Tensor]:
    shapes = layer_shapes()
    wrong = [key for key, shape in shapes.items() if not _fits(saved.tensors.get(key), shape)]
    if wrong:
        raise TrainingError(
            tr("the file on the server is not VGG-19: {layers}", layers=enumerated(wrong))
        )
    return {key: _layer(key, saved, hashes.get(key)) for key in shapes}


def _fits(tensor: SavedTensor | None, shape: tuple[int, ...]) -> bool:
    return (
        tensor is not None
        and tensor.shape == shape
        and tensor.storage.kind == "torch FloatStorage"
        and tensor.storage.count == math.prod(shape)
    )


def _layer(key: str, saved: SavedTensors, sha256: str | None) -> Tensor:
    place = saved.tensors[key]
    data = saved.read(place.storage)
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise TrainingError(
            tr("the download of VGG-19 is damaged: the checksum of {layer} is wrong", layer=key)
        )
    numbers = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(place.shape)
    if not bool(numbers.isfinite().all()):
        raise TrainingError(
            tr("the download of VGG-19 is damaged: {layer} is not finite; try again", layer=key)
        )
    return numbers
