"""Judges the running mean of a run's weights on pictures that were not used for training."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from models.layers import to_channels_last
from models.loss_terms import floats
from models.training.features import Vgg19Features
from models.training.stability import inside
from models.training.vit.config import VitTrainingConfig
from models.training.vit.objective import VitObjective
from models.training.vit.run import VitRun
from models.training.vit.sampling import Sampler
from models.vit_style_transfer import StyleForgeTransformer

BATCHES = 8  # of the run's batch size


class HeldOutLosses(NamedTuple):
    """Losses as in training, on held-out pictures, before weighting."""

    content: float
    style: float


def held_out_losses(
    run: VitRun,
    features: Vgg19Features,
    photographs: Tensor,
    paintings: Tensor,
    batches: int = BATCHES,
) -> HeldOutLosses:
    """Paint crops of held-out photographs in the style of crops of held-out paintings.

    The crops depend on the run's seed alone, so that two networks are judged on the same pairs.
    Colors stay unchanged, and no noise is added. Pictures are [N, S, S, 3] uint8, RGB.
    """
    device = run.team.device
    config = _plain(run.config)
    sampler = Sampler(photographs, paintings, config, device)
    network = StyleForgeTransformer(config.network).requires_grad_(False)
    network.load_state_dict(run.mean_weights())
    to_channels_last(network, device)
    objective = VitObjective(config, features)
    enabled = config.precision == "bf16"
    rows: list[Tensor] = []
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=enabled):
        for number in range(batches):
            batch = sampler(number)
            content = inside(batch.clean).contiguous(memory_format=torch.channels_last)
            painted = network(content, batch.style).float().clamp(0, 255)
            terms = objective(painted, content, batch.style)
            rows.append(torch.stack((terms.content, terms.style)))
    return HeldOutLosses(*floats(torch.stack(rows).mean(0)))


def _plain(config: VitTrainingConfig) -> VitTrainingConfig:
    """Return the configuration without color changes, noise, and photographs as styles."""
    return replace(config, photo_share=0.0, jitter_share=0.0, texture_share=0.0)
