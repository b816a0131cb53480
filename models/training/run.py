"""One training run: its network, its optimizer, and a step."""

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

from models.safe_load import is_weight
from models.training.config import TrainingConfig
from models.training.data import Crops, Photographs
from models.training.features import Vgg19Features
from models.training.objective import Objective
from models.training.projected_clamp import projected_clamp
from models.training.stability import Disturbance, disturb, inside, stability_loss
from models.transformer_net import TransformerNetBaseline


class StepLosses(NamedTuple):
    """The losses after `iteration` steps, in relative form and of one batch; `loss` is their
    weighed sum."""

    iteration: int
    loss: float
    content: float
    style: float
    tv: float
    stability: float
    teacher: float


class Run:
    """Trains a network of the config's shape, on `device`.

    `style` is an (H, W, 3) uint8 RGB picture of any size; `weights`, if given, are a state dict
    to begin from, `teacher` a trained network of the same style to follow. `iteration` counts
    the steps taken, `seconds` what they took over all sittings; `history` has the losses that
    were read, from the first step on.
    `compiled` compiles network and features, for speed.
    """

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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = TransformerNetBaseline(**asdict(config.shape))
        if weights is not None:
            self.network.load_state_dict(weights)
        self.network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        features.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._teacher = None if teacher is None else teacher.requires_grad_(False).eval()
        if self._teacher is not None:
            self._teacher.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._parameters = list(self.network.parameters())
        self._optimizer = torch.optim.Adam(
            self._parameters, lr=config.lr, fused=device.type == "cuda"
        )
        self._crops = Crops(photographs, config.window, config.batch_size, config.seed, device)
        picture = fit(style, config.style_size)
        with self._autocast():
            self._objective = Objective(config, features, _images(picture, device))
        # From here on every call has the same shape; a preview, of another, is not compiled.
        self._forward: Callable[[Tensor], Tensor] = self.network
        if compiled:
            self._forward = torch.compile(self.network, dynamic=False)
            features.compile(dynamic=False)
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
        """Whether the last step has been made."""
        return self.iteration >= self.config.iterations

    def step(self) -> Tensor:
        """One step; the terms [total, content, style, TV, stability, teacher] before it, on the
        device, unread: reading them waits for the GPU."""
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.learning_rate(self.iteration)
        photographs, frames, later = self._frames()
        with self._autocast():
            results = projected_clamp(self._forward(frames).float())
            result = results[: len(photographs)]
            terms = self._objective(result, photographs)
            taught = self._distance_from_teacher(photographs, result)
        config = self.config
        stability = terms.new_zeros(())
        if later is not None:
            after = results[len(photographs) :]
            stability = stability_loss(result[: len(after)], after, later.down, later.right)
        moved = config.moves(self.iteration)
        steadiness = (config.motion_weight if moved else config.stability_weight) * stability
        total = terms[0] + steadiness + config.teacher_weight * taught
        terms = torch.stack((total, *terms[1:], stability, taught))
        self._optimizer.zero_grad()
        terms[0].backward()
        self._optimizer.step()
        self.iteration += 1
        return terms.detach()

    def _frames(self) -> tuple[Tensor, Tensor, Disturbance | None]:
        """The photographs of this step; what the network is to see: them, and half of them
        disturbed where stability counts (half says enough, in half the time)."""
        crops = self._crops(self.iteration)
        if not self.config.steadies:
            return crops, crops, None
        photographs = inside(crops).contiguous(memory_format=torch.channels_last)
        some = math.ceil(len(crops) / 2)
        moved = self.config.moves(self.iteration)
        later = disturb(crops[:some], self.config.seed, self.iteration, moved=moved)
        return photographs, torch.cat((photographs, later.frames)), later

    def _distance_from_teacher(self, photographs: Tensor, result: Tensor) -> Tensor:
        """mean((y - t)^2) / var(t) against the teacher's pictures; 0 without one."""
        if self._teacher is None:
            return result.new_zeros(())
        with torch.no_grad():
            wanted = self._teacher(photographs).float().clamp(0, 255)
        return (result - wanted).square().mean() / wanted.var()

    def healthy(self) -> bool:
        """Whether every weight is a finite number. Waits for the GPU."""
        return bool(nn.utils.get_total_norm(self._parameters).isfinite())

    def go_back(self, weights: Mapping[str, Tensor], share: float) -> None:
        """Let `share` (0-1) of `weights` into the network, a state dict of the same descent.

        What training added is taken back in part, and most of its gain is kept (Wortsman et al.
        2022, arXiv:2109.01903): so much steadiness for so much of the strokes.
        """
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.lerp_(weights[name].to(value), share)

    def styled(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """An (H, W, 3) uint8 RGB picture in the style so far, in FP32."""
        with torch.no_grad():
            result = self.network(_images(picture, self.device))[0]
        return result.clamp(0, 255).round().to(torch.uint8).permute(1, 2, 0).cpu().numpy()

    def state(self) -> dict[str, Any]:
        """Everything needed to go on exactly as if never stopped: a copy, of tensors, numbers,
        text and containers alone. What a step draws at random follows from its number."""
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
        """Go back, or on, to `state`; KeyError, TypeError, ValueError or RuntimeError if it is
        none."""
        iteration, seconds = state["iteration"], state["seconds"]
        if type(iteration) is not int or not 0 <= iteration <= self.config.iterations:
            raise ValueError("not the count of a run")
        if not 0 <= seconds < math.inf:
            raise ValueError("not the time of a run")
        history = _readings(state.get("history", torch.empty(0)), iteration)  # once not kept
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
        """Whether Adam has its two moments and its count for every weight, in finite numbers."""
        for weights in self._parameters:
            kept = self._optimizer.state[weights]
            moments = (kept["exp_avg"], kept["exp_avg_sq"])
            if any(moment.shape != weights.shape for moment in moments):
                return False
            count = kept["step"]
            if not all(bool(torch.isfinite(x).all()) for x in (*moments, count)):
                return False
            # Adam takes roots of both.
            if count.ndim or count < 0 or bool((kept["exp_avg_sq"] < 0).any()):
                return False
        return True

    def differences(self, state: dict[str, Any]) -> list[str]:
        """In words, what `state` was trained with that this run is not; empty if it fits."""
        theirs = json.loads(state["identity"])
        words = {
            "style picture": "another style picture",
            "photographs": "other photographs",
            "clamped": "pictures judged before they were clamped",
        }
        return [
            words.get(name, f"{name.replace('_', ' ')} {theirs.get(name)} rather than {value}")
            for name, value in self._identity.items()
            if theirs.get(name) != value
        ]

    def _autocast(self) -> torch.autocast:
        enabled = self.config.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=enabled)


def _readings(kept: Tensor, iteration: int) -> list[StepLosses]:
    """The history stored as `kept`; ValueError if it is not that of `iteration` steps."""
    if kept.numel() == 0:
        return []
    if (
        kept.ndim != 2
        or kept.shape[1] != len(StepLosses._fields)
        or not bool(kept.isfinite().all())
    ):
        raise ValueError("not the history of a run")
    history = [StepLosses(int(step), *losses) for step, *losses in kept.tolist()]
    steps = [0, *(reading.iteration for reading in history)]
    if steps[-1] > iteration or any(b <= a for a, b in itertools.pairwise(steps)):
        raise ValueError("not the history of a run")
    return history


def fit(picture: NDArray[np.uint8], long_side: int) -> NDArray[np.uint8]:
    """`picture` resized, up or down, so that its longer side is `long_side` pixels."""
    height, width = picture.shape[:2]
    scale = long_side / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    if size == (width, height):
        return picture
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))


def _images(picture: NDArray[np.uint8], device: torch.device) -> Tensor:
    """[1, 3, H, W] float32 of an (H, W, 3) uint8 picture."""
    return torch.tensor(picture).to(device).permute(2, 0, 1)[None].float()
