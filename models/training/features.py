"""VGG-19 as far as relu3_4, frozen: the eye that judges a styled picture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn import functional as F

from models.safe_load import UnsafeFileError, is_weight, load_tensors
from models.training.download import TORCHVISION_PREFIX
from models.training.errors import TrainingError
from utils.text import printable

# Index in torchvision's `vgg19().features`, and the name of the activation after it.
LAYERS = {
    0: "relu1_1",
    2: "relu1_2",
    5: "relu2_1",
    7: "relu2_2",
    10: "relu3_1",
    12: "relu3_2",
    14: "relu3_3",
    16: "relu3_4",
}
CHANNELS = (3, 64, 64, 128, 128, 256, 256, 256, 256)
NAME = 100  # characters of a file's name in a message
POOLED = ("relu2_1", "relu3_1")  # a 2x2 max pool stands before these
LAST = "relu3_4"


@dataclass(frozen=True, slots=True)
class VggInput:
    """What a file's first layer was trained on: channels in `order` (indices into RGB), minus
    `mean`, over `deviation`; both in 0-255 and in the order R, G, B."""

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
    """The activations of Simonyan and Zisserman's VGG-19 (2015), from conv1_1 to conv3_4.

    `state` has torchvision's keys `features.N.weight|bias`; `expects` is a key of INPUTS. The
    input convention goes into the first layer's weights, so forward only subtracts a mean.
    """

    mean: Tensor

    def __init__(self, state: dict[str, Tensor], expects: str) -> None:
        super().__init__()
        convention = INPUTS[expects]
        self.convs = nn.ModuleDict()
        for (index, name), cin, cout in zip(LAYERS.items(), CHANNELS, CHANNELS[1:], strict=False):
            conv = nn.Conv2d(cin, cout, 3, padding=1)
            weight, bias = (state[f"features.{index}.{kind}"].float() for kind in _KINDS)
            if index == 0:
                weight = weight[:, _inverse(convention.order)]
                weight = weight / torch.tensor(convention.deviation)[None, :, None, None]
            conv.weight.data.copy_(weight)
            conv.bias.data.copy_(bias)  # type: ignore[union-attr]  (it was asked for)
            self.convs[name] = conv
        self.register_buffer("mean", torch.tensor(convention.mean)[None, :, None, None])
        self.requires_grad_(False).eval()

    def forward(self, images: Tensor, last: str = LAST) -> dict[str, Tensor]:
        """Activations by name, as far as `last`, of [B, 3, H, W] float RGB in 0-255."""
        x = images - self.mean
        seen = {}
        for name, conv in self.convs.items():
            if name in POOLED:
                x = F.max_pool2d(x, 2)
            x = seen[name] = F.relu(conv(x))
            if name == last:
                break
        return seen


_KINDS = ("weight", "bias")


def _inverse(order: tuple[int, int, int]) -> list[int]:
    return [order.index(channel) for channel in range(3)]


def load_vgg(path: Path, expects: str | None = None) -> Vgg19Features:
    """Read VGG-19 from safetensors or a torch file with torchvision's key names.

    `expects` is a key of INPUTS; None lets the file say: a safetensors file's `input` metadata
    ("BGR ..." or "RGB ..."), or the checksum of torchvision's own file. Where neither does,
    TrainingError asks for it rather than guess, as it names every other fault.
    """
    name = printable(path.name, NAME)
    if not path.is_file():
        raise TrainingError(f"the VGG-19 file '{printable(str(path))}' does not exist")
    try:
        state, said = _read(path)
    except OSError as exc:
        reason = exc.strerror or exc
        raise TrainingError(f"the VGG-19 file '{name}' cannot be read: {reason}") from exc
    shapes = {}
    for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
        shapes[f"features.{index}.weight"] = (cout, cin, 3, 3)
        shapes[f"features.{index}.bias"] = (cout,)
    wrong = [
        key
        for key, shape in shapes.items()
        if not is_weight(state.get(key)) or tuple(state[key].shape) != shape
    ]
    if wrong:
        raise TrainingError(
            f"'{name}' is not VGG-19: missing or of another kind or shape: {', '.join(wrong)}"
        )
    broken = [key for key in shapes if not bool(torch.isfinite(state[key].float()).all())]
    if broken:
        raise TrainingError(f"'{name}' holds numbers that are not finite: {broken[0]}")
    expects = expects or said
    if expects is None:
        raise TrainingError(
            f"'{name}' does not say which input it was trained on; "
            f"pass --vgg-input {' or '.join(INPUTS)}"
        )
    return Vgg19Features(state, expects)


def _read(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """The tensors of a file, and the key of INPUTS it names, if it does."""
    name = printable(path.name, NAME)
    with path.open("rb") as file:
        head = file.read(9)
    if head[8:] == b"{":  # safetensors: a length of 8 bytes, then JSON
        try:
            with safe_open(path, "pt") as file:
                said = (file.metadata() or {}).get("input", "")
                state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except SafetensorError as exc:
            why = printable(str(exc), 3 * NAME)
            raise TrainingError(f"'{name}' is a damaged safetensors file: {why}") from exc
        return state, "caffe" if "BGR" in said else "torchvision" if "RGB" in said else None
    try:
        with path.open("rb") as file:
            state = load_tensors(file)
    except UnsafeFileError as exc:
        raise TrainingError(f"'{name}' is not a file of weights, or {exc}") from exc
    if not isinstance(state, dict):
        raise TrainingError(f"'{name}' is not VGG-19: it holds no table of weights")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return state, "torchvision" if digest.startswith(TORCHVISION_PREFIX) else None
