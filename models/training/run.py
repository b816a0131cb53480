"""A run that trains the network of one style: its step, and its previews."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from models.layers import to_channels_last
from models.loss_terms import floats
from models.training.config import TrainingConfig
from models.training.data import Crops, Photographs
from models.training.features import Vgg19Features
from models.training.losses import WeaveLoss
from models.training.objective import Objective
from models.training.projected_clamp import projected_clamp
from models.training.saved_run import SavedRun, seeded
from models.training.stability import Disturbance, disturb, inside, stability_loss
from models.transformer_net import TransformerNetBaseline
from utils.translation.texts import tr


class StepLosses(NamedTuple):
    """Relative losses of one step; `loss` is the weighted sum, `iteration` includes this step."""

    iteration: int
    loss: float
    content: float
    style: float
    tv: float
    stability: float
    teacher: float
    weave: float = 0.0  # older versions did not write it


class StepTerms(NamedTuple):
    """The losses of StepLosses as scalar tensors on the run's device, without gradients."""

    loss: Tensor
    content: Tensor
    style: Tensor
    tv: Tensor
    stability: Tensor
    teacher: Tensor
    weave: Tensor

    def read(self, iteration: int) -> StepLosses:
        """Copy the losses to the host, in one transfer. Waits for the device."""
        return StepLosses(iteration, *floats(torch.stack(self)))


class Run(SavedRun[TransformerNetBaseline, StepLosses]):
    """The training of one network.

    Args:
        features: VGG-19; moved to `device`.
        style: The style picture, [H, W, 3] uint8, RGB, of any size.
        weights: A state dict to start from; None for random weights.
        teacher: A trained network of the same style for the teacher loss; moved to `device`.
        compiled: Whether to compile the network and the features.
    """

    checkpoint_format = "styleforge-training-1"
    unwritten: ClassVar[Mapping[str, object]] = {"weave_weight": 0.0}

    def __init__(
        self,
        config: TrainingConfig,
        features: Vgg19Features,
        photographs: Photographs,
        style: NDArray[np.uint8],
        device: torch.device,
        weights: dict[str, Tensor] | None = None,
        *,
        teacher: nn.Module | None = None,
        compiled: bool = False,
    ) -> None:
        identity = {
            **asdict(config),
            "clamped": True,
            "style picture": hashlib.sha256(style.tobytes()).hexdigest()[:16],
            "photographs": photographs.digest,
        }
        shape = asdict(config.shape)
        network = seeded(lambda: TransformerNetBaseline(**shape), config.seed, weights, device)
        optimizer = torch.optim.Adam(
            network.parameters(), lr=config.lr, fused=device.type == "cuda"
        )
        super().__init__(network, optimizer, device, config.precision, identity)
        self.config = config
        self.skipped = len(photographs.skipped)
        to_channels_last(features, device)
        self._teacher = None if teacher is None else teacher.requires_grad_(False).eval()
        if self._teacher is not None:
            to_channels_last(self._teacher, device)
        self._crops = Crops(photographs, config.window, config.batch_size, config.seed, device)
        picture = fit(style, config.style_size)
        with self._autocast():
            self._objective = Objective(config, features, _images(picture, device))
        self._weave = WeaveLoss(_images(picture, device))
        # Compiled for the one shape of the steps; previews have another shape and call the network.
        self._forward: Callable[[Tensor], Tensor] = self.network
        if compiled:  # PyTorch: the options of both are not annotated
            self._forward = torch.compile(  # pyright: ignore[reportUnknownMemberType]
                self.network, dynamic=False
            )
            features.compile(dynamic=False)  # pyright: ignore[reportUnknownMemberType]

    @property
    def finished(self) -> bool:
        return self.iteration >= self.config.iterations

    def step(self) -> StepTerms:
        """Run one training step; return the losses before it, on the device."""
        photographs, frames, later = self._frames()
        with self._autocast():
            results = projected_clamp(self._forward(frames).float())
            result = results[: len(photographs)]
            terms = self._objective(result, photographs)
            teacher_loss = self._distance_from_teacher(photographs, result)
        config = self.config
        stability = terms.total.new_zeros(())
        weave = self._weave(result) if config.weave_weight else terms.total.new_zeros(())
        if later is not None:
            after = results[len(photographs) :]
            stability = stability_loss(result[: len(after)], after, later.down, later.right)
        moved = config.moves(self.iteration)
        stability_weight = config.motion_weight if moved else config.stability_weight
        loss = terms.total + stability_weight * stability + config.teacher_weight * teacher_loss
        loss = loss + config.weave_weight * weave
        self.update(loss, config.learning_rate(self.iteration))
        losses = (loss, terms.content, terms.style, terms.tv, stability, teacher_loss, weave)
        return StepTerms(*(each.detach() for each in losses))

    def _frames(self) -> tuple[Tensor, Tensor, Disturbance | None]:
        """Return the photographs, the network's input, and the disturbance in it.

        To save time, only half of the photographs have disturbed copies, if stability has a weight.
        """
        crops = self._crops(self.iteration)
        if not self.config.steadies:
            return crops, crops, None
        photographs = inside(crops).contiguous(memory_format=torch.channels_last)
        some = math.ceil(len(crops) / 2)
        moved = self.config.moves(self.iteration)
        later = disturb(crops[:some], self.config.seed, self.iteration, moved=moved)
        return photographs, torch.cat((photographs, later.frames)), later

    def _distance_from_teacher(self, photographs: Tensor, result: Tensor) -> Tensor:
        """Compute mean((y - t)^2) / var(t) against the teacher's output t; 0 without a teacher."""
        if self._teacher is None:
            return result.new_zeros(())
        with torch.no_grad():
            target = self._teacher(photographs).float().clamp(0, 255)
        return (result - target).square().mean() / target.var()

    def go_back(self, weights: Mapping[str, Tensor], share: float) -> None:
        """Interpolate the network towards earlier weights (Wortsman et al. 2022, arXiv:2109.01903).

        This trades some of the stability gained for stronger strokes; a `share` of 0 leaves the
        network as it is, 1 replaces it by `weights`.
        """
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.lerp_(weights[name].to(value), share)

    def styled(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Stylize a picture [H, W, 3] uint8, RGB, with the current weights, in FP32."""
        with torch.no_grad():
            result = self.network(_images(picture, self.device))[0]
        return result.clamp(0, 255).round().to(torch.uint8).permute(1, 2, 0).cpu().numpy()

    def restore(self, state: dict[str, Any]) -> None:
        if state["iteration"] > self.config.iterations:
            raise ValueError("not the count of a run")
        super().restore(state)

    def _losses(self, row: list[float]) -> StepLosses:
        return StepLosses(int(row[0]), *row[1:])

    def _phrases(self) -> dict[str, str]:
        return {
            "style picture": tr("another style picture"),
            "photographs": tr("other photographs"),
            "clamped": tr("a loss computed before clamping"),
        }


def fit(picture: NDArray[np.uint8], long_side: int) -> NDArray[np.uint8]:
    """Resize a picture [H, W, 3] uint8, up or down, to a long side in pixels."""
    height, width = picture.shape[:2]
    scale = long_side / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    if size == (width, height):
        return picture
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


def _images(picture: NDArray[np.uint8], device: torch.device) -> Tensor:
    """Convert an [H, W, 3] uint8 picture to [1, 3, H, W] float32 on `device`."""
    return torch.tensor(picture).to(device).permute(2, 0, 1)[None].float()
