"""Pictures that are never used for training, and the judgement of a run on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from models.layers import to_channels_last
from models.loss_terms import floats
from models.training.errors import TrainingError
from models.training.features import Vgg19Features
from models.training.stability import inside
from models.training.vit.config import VitTrainingConfig
from models.training.vit.objective import VitObjective
from models.training.vit.run import VitRun
from models.training.vit.sampling import Sampler
from models.vit_style_transfer import StyleForgeTransformer
from utils.files import toml
from utils.text import printable
from utils.translation.texts import tr

BATCHES = 8  # of the run's batch size


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The file names of pictures reserved for judging a network, per folder."""

    photographs: tuple[str, ...] = ()
    paintings: tuple[str, ...] = ()


def read_held_out(path: Path) -> HeldOut:
    """Read the TOML lists `photographs` and `paintings`.

    held_out.toml next to this module belongs to the networks that ship.

    Raises:
        TrainingError: If the file cannot be read or does not have two lists.
    """
    shown = printable(path.name)
    try:
        table = toml.load(path)
    except OSError as exc:
        raise TrainingError(
            tr("'{file}' cannot be read: {error}", file=shown, error=exc.strerror or exc)
        ) from exc
    except ValueError as exc:
        raise TrainingError(tr("'{file}' is not a TOML file with two lists", file=shown)) from exc
    lists = [table.pop(name, []) for name in ("photographs", "paintings")]
    if table or not all(isinstance(names, list) for names in lists):
        raise TrainingError(
            tr("'{file}' is not a TOML file with the lists photographs and paintings", file=shown)
        )
    if not all(isinstance(name, str) for names in lists for name in names):
        raise TrainingError(tr("'{file}' has an entry that is not the name of a file", file=shown))
    return HeldOut(*(tuple(names) for names in lists))


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
