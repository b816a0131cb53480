"""A training run: the network, the optimizer, a training step, and the state to resume from."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from models.layers import to_channels_last
from models.loss_terms import floats
from models.safe_load import is_weight
from models.training.config import TrainingConfig
from models.training.data import Crops, Photographs
from models.training.features import Vgg19Features
from models.training.losses import WeaveLoss
from models.training.objective import Objective
from models.training.projected_clamp import projected_clamp
from models.training.stability import Disturbance, disturb, inside, stability_loss
from models.transformer_net import TransformerNetBaseline
from utils.files import small_json
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
    weave: float


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


class Run:
    """The training of one network.

    Args:
        features: VGG-19; moved to `device`.
        style: The style picture, [H, W, 3] uint8, RGB, of any size.
        weights: A state dict to start from; None for random weights.
        teacher: A trained network of the same style for the teacher loss; moved to `device`.
        compiled: Whether to compile the network and the features.

    `iteration` and `seconds` count over all processes; `history` has the losses read so far.
    """

    checkpoint_format = "styleforge-training-1"

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
        self.config = config
        self.device = device
        self.skipped = len(photographs.skipped)
        self.iteration = 0
        self.seconds = 0.0
        self.history: list[StepLosses] = []
        # PyTorch: neither has complete annotations.
        with torch.random.fork_rng(devices=[]):  # pyright: ignore[reportUnknownMemberType]
            torch.manual_seed(config.seed)  # pyright: ignore[reportUnknownMemberType]
            self.network = TransformerNetBaseline(**asdict(config.shape))
        if weights is not None:
            self.network.load_state_dict(weights)
        to_channels_last(self.network, device)
        to_channels_last(features, device)
        self._teacher = None if teacher is None else teacher.requires_grad_(False).eval()
        if self._teacher is not None:
            to_channels_last(self._teacher, device)
        self._parameters = list(self.network.parameters())
        self._optimizer: torch.optim.Optimizer = torch.optim.Adam(
            self._parameters, lr=config.lr, fused=device.type == "cuda"
        )
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
        self._identity = {
            **asdict(config),
            "style_scales": list(config.style_scales),
            "widths": list(config.widths),
            "clamped": True,
            "style picture": hashlib.sha256(style.tobytes()).hexdigest()[:16],
            "photographs": photographs.digest,
        }

    @property
    def finished(self) -> bool:
        return self.iteration >= self.config.iterations

    def step(self) -> StepTerms:
        """Run one training step; return the losses before it, on the device."""
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.learning_rate(self.iteration)
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
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        self._optimizer.step()
        self.iteration += 1
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

    def healthy(self) -> bool:
        """Return whether every weight is finite. Waits for the device."""
        return bool(nn.utils.get_total_norm(self._parameters).isfinite())

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

    def state(self) -> dict[str, Any]:
        """Copy the state from which a run continues bit for bit as if it had not stopped.

        It has no generators: the random numbers of a step are a function of its number.
        """
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "iteration": self.iteration,
                "seconds": self.seconds,
                "history": torch.tensor(self.history, dtype=torch.float64),
                "identity": json.dumps(self._identity),
            }
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of this or another process, or from its copy read from a file.

        If it is invalid, raise KeyError, TypeError, ValueError, RuntimeError, AttributeError or
        OverflowError.
        """
        iteration, seconds = state["iteration"], state["seconds"]
        if type(iteration) is not int or not 0 <= iteration <= self.config.iterations:
            raise ValueError("not the count of a run")
        if not 0 <= seconds < math.inf:
            raise ValueError("not the time of a run")
        # The checkpoints of older versions have no history.
        history = _read_history(state.get("history", torch.empty(0)), iteration)
        if not all(is_weight(value) for value in state["network"].values()):
            raise ValueError("not the weights of a run")
        self.network.load_state_dict(state["network"])
        moments = copy.deepcopy(state["optimizer"]["state"])
        if not all(is_weight(x) for kept in moments.values() for x in kept.values()):
            raise ValueError("not the moments of a run")
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": moments})
        if iteration and not (self.healthy() and self._moments_fit()):
            raise ValueError("not the weights of a run")
        self.iteration, self.seconds, self.history = iteration, float(seconds), history

    def _moments_fit(self) -> bool:
        for weights in self._parameters:
            kept = self._optimizer.state[weights]
            moments = (kept["exp_avg"], kept["exp_avg_sq"])
            if any(moment.shape != weights.shape for moment in moments):
                return False
            count = kept["step"]
            if not all(bool(torch.isfinite(x).all()) for x in (*moments, count)):
                return False
            # Adam computes the square root of both.
            if count.ndim or count < 0 or bool((kept["exp_avg_sq"] < 0).any()):
                return False
        return True

    def differences(self, state: dict[str, Any]) -> list[str]:
        # older versions did not write it
        theirs = {"weave_weight": 0.0} | small_json.loads(state["identity"])
        words = {
            "style picture": tr("another style picture"),
            "photographs": tr("other photographs"),
            "clamped": tr("a loss computed before clamping"),
        }
        return [
            words.get(name)
            or tr(
                "{setting} {stored} rather than {wanted}",
                setting=name.replace("_", " "),
                stored=theirs.get(name),
                wanted=value,
            )
            for name, value in self._identity.items()
            if theirs.get(name) != value
        ]

    def _autocast(self) -> torch.autocast:
        enabled = self.config.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=enabled)


def _read_history(stored: Tensor, iteration: int) -> list[StepLosses]:
    """Decode a history, [N, 8].

    Raises:
        ValueError: If the history does not fit a run of `iteration` steps.
    """
    if stored.numel() == 0:
        return []
    if stored.ndim == 2 and stored.shape[1] == len(StepLosses._fields) - 1:
        stored = nn.functional.pad(stored, (0, 1))  # from an older version, without the weave loss
    if (
        stored.ndim != 2
        or stored.shape[1] != len(StepLosses._fields)
        or not bool(stored.isfinite().all())
    ):
        raise ValueError("not the history of a run")
    rows = (floats(row) for row in stored.unbind())
    history = [StepLosses(int(step), *losses) for step, *losses in rows]
    steps = [0, *(losses.iteration for losses in history)]
    if steps[-1] > iteration or any(b <= a for a, b in itertools.pairwise(steps)):
        raise ValueError("not the history of a run")
    return history


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
