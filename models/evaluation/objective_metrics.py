"""Judges what a network makes of one photograph: the objective of training, clipping, border."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from models.evaluation.image_metrics import beyond, border, clipped, projected_clamp, psnr
from models.evaluation.lbfgs import Objective
from models.network_config import network_config
from models.precision import Precision, tf32_allowed
from models.transformer_net import VARIANTS

Styler = Callable[[Tensor], Tensor]  # [N, 3, H, W] float RGB, about 0-255, in and out


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What became of one photograph.

    `objective` and its parts are those of the network's own output, as in training, `seen` that
    of the picture clamped and rounded, all NaN where none was given; TV is not yet weighed.
    `clipped` is the share of pixels with a channel at 0 or 255, `beyond` of those that would be
    outside. `edge`, `within` and
    `step` are those of models.evaluation.image_metrics.Border. `psnr` is against FP32, in dB,
    infinite where equal. The picture is [1, 3, H, W] float32 RGB, not clamped.
    """

    objective: float
    content: float
    style: float
    tv: float
    seen: float
    clipped: float
    beyond: float
    edge: float
    within: float
    step: float
    psnr: float
    picture: Tensor


def styler(
    state: dict[str, Tensor], kernels: str, precision: Precision, device: torch.device
) -> tuple[Styler, tuple[str, ...]]:
    """The network of the weights `state` as a user runs it, on float32 pictures, and remarks on
    what is slower there than it could be. `kernels` is a key of VARIANTS."""
    mode = precision.value
    network = VARIANTS[kernels](**asdict(network_config(state)))
    network.load_state_dict(state)
    network = network.to(device, mode.dtype).requires_grad_(False).eval()
    half = torch.float16 if device.type == "cuda" else torch.bfloat16

    def style(photographs: Tensor) -> Tensor:
        inside = torch.autocast(device.type, half, enabled=mode.autocast)
        with torch.inference_mode(), tf32_allowed(mode.tf32), inside:
            return network(photographs.to(mode.dtype)).float()

    limitations = (
        *network.limitations(device, mode.dtype, network.shape),
        precision.remark(device),
    )
    return style, tuple(filter(None, limitations))


@torch.no_grad()
def judge(
    objective: Objective | None,
    photograph: Tensor,  # [1, 3, H, W], float RGB 0-255
    picture: Tensor,  # the same shape, not clamped
    reference: Tensor | None = None,  # the picture in FP32; None where `picture` is
) -> Judged:
    """Figures of `picture`, which a network made of `photograph`."""
    total, content, style, variation = _terms(objective, picture, photograph)
    seen, *_ = _terms(objective, projected_clamp(picture), photograph)
    around = border(picture)
    return Judged(
        objective=total,
        content=content,
        style=style,
        tv=variation,
        seen=seen,
        clipped=clipped(picture),
        beyond=beyond(picture),
        edge=around.edge,
        within=around.within,
        step=around.step,
        psnr=psnr(picture, picture if reference is None else reference),
        picture=picture,
    )


def _terms(objective: Objective | None, picture: Tensor, photograph: Tensor) -> list[float]:
    """The objective's [total, content, style, TV]."""
    return [math.nan] * 4 if objective is None else objective(picture, photograph).tolist()
