"""Evaluates a network on one photograph: the training objective, clipping, border and PSNR."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from benchmarks.quality.lbfgs import Objective
from models.evaluation.image_metrics import beyond, border, clipped, projected_clamp, psnr
from models.loss_terms import ObjectiveTerms, read_terms
from models.network_config import network_config
from models.precision import Precision, computing
from models.transformer_net import ALL_VARIANTS

Styler = Callable[[Tensor], Tensor]  # [N, 3, H, W] float RGB, about 0-255, in and out


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveMetrics:
    """The metrics of one styled photograph; the names are the keys of stored reports.

    Attributes:
        objective: The training objective of the network's output; NaN without an objective, like
            its terms before their weights and `seen`.
        seen: The objective of the output clamped to 0-255 and rounded, as displayed.
        clipped: Fraction of pixels with a channel at 0 or 255 after clamping.
        beyond: Fraction of pixels with a channel outside 0-255 before clamping.
        edge: Like `within` and `step`, see models.evaluation.image_metrics.Border.
        psnr: PSNR against the output in FP32, in dB; infinite if equal.
        picture: [1, 3, H, W] float32, RGB, not clamped.
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
    """Build a network as the application runs it, from and to float32 pictures.

    Also return the limitations of the variant and the precision, one sentence each.
    """
    mode = precision.value
    network = ALL_VARIANTS[kernels](**asdict(network_config(state)))
    network.load_state_dict(state)
    network = network.to(device, mode.dtype).requires_grad_(False).eval()

    def style(photographs: Tensor) -> Tensor:
        with torch.inference_mode(), computing(precision, device):
            return network(photographs.to(mode.dtype)).float()

    limitations = (
        *network.limitations(device, mode.dtype, network.shape, int8=mode.int8),
        precision.remark(device),
    )
    return style, tuple(filter(None, limitations))


@torch.no_grad()
def evaluate(
    objective: Objective | None,
    photograph: Tensor,
    picture: Tensor,
    reference: Tensor | None = None,
) -> ObjectiveMetrics:
    """Compute the metrics of a styled picture; without an objective, only the picture's own.

    `photograph`, `picture` (not clamped) and `reference`, the same in FP32 or None if `picture` is,
    are [1, 3, H, W], RGB 0-255.
    """
    terms = _terms(objective, picture, photograph)
    displayed = _terms(objective, projected_clamp(picture), photograph)
    around = border(picture)
    return ObjectiveMetrics(
        objective=terms.total,
        content=terms.content,
        style=terms.style,
        tv=terms.tv,
        seen=displayed.total,
        clipped=clipped(picture),
        beyond=beyond(picture),
        edge=around.edge,
        within=around.within,
        step=around.step,
        psnr=psnr(picture, picture if reference is None else reference),
        picture=picture,
    )


def _terms(
    objective: Objective | None, picture: Tensor, photograph: Tensor
) -> ObjectiveTerms[float]:
    if objective is None:
        return ObjectiveTerms(math.nan, math.nan, math.nan, math.nan)
    return read_terms(objective(picture, photograph))
