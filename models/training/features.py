"""VGG-19 up to relu3_4, frozen: the features of the content and style losses."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional as F

from models.safe_load import UnsafeFileError, is_dict, is_weight, load_tensors
from models.training.download.published import TORCHVISION_PREFIX
from models.training.errors import TrainingError
from models.training.vgg_layers import CHANNELS, KINDS, LAYERS, layer_shapes
from utils.text import printable
from utils.translation.joints import enumerated
from utils.translation.texts import tr

NAME = 100  # characters of a file name in a message
POOLED = ("relu2_1", "relu3_1")  # preceded by a 2x2 max pooling
LAST = "relu3_4"


@dataclass(frozen=True, slots=True)
class VggInput:
    """The input of a VGG-19 file: (RGB - mean) / deviation, on 0-255, in `order` of RGB."""

    order: tuple[int, int, int]
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


INPUTS = {
    "caffe": VggInput((2, 1, 0), (123.68, 116.779, 103.939), (1.0, 1.0, 1.0)),
    "torchvision": VggInput(
        (0, 1, 2),
        (0.485 * 255, 0.456 * 255, 0.406 * 255),
        (0.229 * 255, 0.224 * 255, 0.225 * 255),
    ),
}


class Vgg19Features(nn.Module):
    """VGG-19 (Simonyan and Zisserman 2015) from conv1_1 to conv3_4, with frozen weights.

    The input convention `expects`, a key of INPUTS, is folded into the first layer's weights, so
    that `forward` only subtracts a mean. `state` has torchvision's keys.
    """

    mean: Tensor

    def __init__(self, state: dict[str, Tensor], expects: str) -> None:
        super().__init__()
        convention = INPUTS[expects]
        convs: dict[str, nn.Conv2d] = {}
        for (index, name), cin, cout in zip(LAYERS.items(), CHANNELS, CHANNELS[1:], strict=False):
            conv = nn.Conv2d(cin, cout, 3, padding=1)
            weight, bias = (state[f"features.{index}.{kind}"].float() for kind in KINDS)
            if index == 0:
                weight = weight[:, _inverse(convention.order)]
                weight = weight / torch.tensor(convention.deviation)[None, :, None, None]
            conv.weight.data.copy_(weight)
            assert conv.bias is not None  # the default of nn.Conv2d
            conv.bias.data.copy_(bias)
            convs[name] = conv
        self.convs = nn.ModuleDict(convs)
        self.register_buffer("mean", torch.tensor(convention.mean)[None, :, None, None])
        self.requires_grad_(False).eval()

    def forward(self, images: Tensor, last: str = LAST) -> dict[str, Tensor]:
        """Compute the activations [B, C, H', W'] of the layers up to `last`, by name in LAYERS.

        `images` are [B, 3, H, W] float, RGB 0-255.
        """
        x = images - self.mean
        activations: dict[str, Tensor] = {}
        for name, conv in self.convs.items():
            if name in POOLED:
                x = F.max_pool2d(x, 2)
            x = activations[name] = F.relu(conv(x))
            if name == last:
                break
        return activations


def _inverse(order: tuple[int, int, int]) -> list[int]:
    return [order.index(channel) for channel in range(3)]


def load_vgg(path: Path, expects: str | None = None) -> Vgg19Features:
    """Read VGG-19 from a safetensors or PyTorch file with torchvision's key names.

    Args:
        expects: Its input convention, a key of INPUTS. If None, the `input` metadata of a
            safetensors file declares it ("BGR ..." or "RGB ..."), or the checksum of torchvision's
            own file.

    Raises:
        TrainingError: If the file is missing, damaged, of another kind or another convention.
    """
    name = printable(path.name, NAME)
    if not path.is_file():
        raise TrainingError(
            tr("the VGG-19 file '{file}' does not exist", file=printable(str(path)))
        )
    try:
        state, declared = _read(path)
    except OSError as exc:
        reason = exc.strerror or exc
        raise TrainingError(
            tr("the VGG-19 file '{file}' cannot be read: {reason}", file=name, reason=reason)
        ) from exc
    shapes = layer_shapes()
    wrong = [
        key
        for key, shape in shapes.items()
        if not is_weight(state.get(key)) or tuple(state[key].shape) != shape
    ]
    if wrong:
        raise TrainingError(
            tr(
                "'{file}' is not VGG-19: layers are missing or have a wrong type or shape: "
                "{layers}",
                file=name,
                layers=enumerated(wrong),
            )
        )
    broken = [key for key in shapes if not bool(torch.isfinite(state[key].float()).all())]
    if broken:
        raise TrainingError(
            tr("'{file}' holds numbers that are not finite: {layer}", file=name, layer=broken[0])
        )
    expects = expects or declared
    if expects is None:
        one, other = INPUTS
        raise TrainingError(
            tr(
                "'{file}' does not say which input it was trained on; pass --vgg-input {one} or "
                "{other}",
                file=name,
                one=one,
                other=other,
            )
        )
    return Vgg19Features(state, expects)


class _SafetensorsFile(Protocol):
    """The result of `safe_open`, which has no annotations itself."""

    def metadata(self) -> dict[str, str] | None: ...
    def keys(self) -> list[str]: ...
    def get_tensor(self, name: str) -> Tensor: ...


def _safetensors(path: Path) -> AbstractContextManager[_SafetensorsFile]:
    return safe_open(path, "pt")


def _read(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """Return the tensors of a file, and the key of INPUTS that it declares, if any."""
    name = printable(path.name, NAME)
    with path.open("rb") as file:
        head = file.read(9)
    if head[8:] == b"{":  # safetensors: a length of 8 bytes, then JSON
        try:
            with _safetensors(path) as tensors:
                order = (tensors.metadata() or {}).get("input", "")
                state = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
        except SafetensorError as exc:
            why = printable(str(exc), 3 * NAME)
            raise TrainingError(
                tr("'{file}' is a damaged safetensors file: {reason}", file=name, reason=why)
            ) from exc
        return state, "caffe" if "BGR" in order else "torchvision" if "RGB" in order else None
    try:
        with path.open("rb") as file:
            state = load_tensors(file)
    except UnsafeFileError as exc:
        damaged = tr("'{file}' is not a file of weights, or is damaged or truncated", file=name)
        raise TrainingError(exc.sentence(name) if exc.code else damaged) from exc
    if not is_dict(state):
        raise TrainingError(tr("'{file}' is not VGG-19: it holds no table of weights", file=name))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return state, "torchvision" if digest.startswith(TORCHVISION_PREFIX) else None
