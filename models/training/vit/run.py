"""A run that trains the any-style network: its step, and the running mean of its weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from models.layers import to_channels_last
from models.loss_terms import floats
from models.safe_load import is_weight
from models.training.features import Vgg19Features
from models.training.projected_clamp import projected_clamp
from models.training.saved_run import SavedRun, seeded
from models.training.stability import disturb, inside, stability_loss
from models.training.vit.config import VitTrainingConfig
from models.training.vit.distributed import Team
from models.training.vit.objective import VitObjective
from models.training.vit.sampling import Batch, Sampler
from models.vit_style_transfer import StyleForgeTransformer
from utils.translation.texts import tr

CLIP = 1.0  # largest norm of the gradient
BETAS = (0.9, 0.99)
SEEDS = 1 << 31  # distance between the seeds of the processes


class VitLosses(NamedTuple):
    """The losses of one batch; `iteration` includes this step, `seconds` is the time trained."""

    iteration: int
    seconds: float
    loss: float
    content: float
    style: float
    tv: float
    stability: float


class VitRun(SavedRun[StyleForgeTransformer, VitLosses]):
    """The training of one network, as one process of a team.

    Args:
        features: VGG-19; moved to the team's device.
        pictures: Identifies the training pictures in a checkpoint; others are refused.
        weights: A state dict to start from; None for random weights.
        compiled: Whether to compile the network and the features.
    """

    checkpoint_format = "styleforge-vit-training-1"

    def __init__(
        self,
        config: VitTrainingConfig,
        features: Vgg19Features,
        sampler: Sampler,
        team: Team,
        pictures: str = "",
        weights: Mapping[str, Tensor] | None = None,
        *,
        compiled: bool = False,
    ) -> None:
        # Steps and seconds may differ when a run is resumed, so that it can be extended.
        schedule = {"steps", "seconds"}
        identity = {name: value for name, value in asdict(config).items() if name not in schedule}
        network = seeded(
            lambda: StyleForgeTransformer(config.network), config.seed, weights, team.device
        )
        optimizer = _optimizer(list(network.parameters()), config, team.device)
        super().__init__(
            network, optimizer, team.device, config.precision, identity | {"pictures": pictures}
        )
        self.config, self.team = config, team
        to_channels_last(features, team.device)
        self._names = [name for name, _ in self.network.named_parameters()]
        self._mean = [weight.detach().clone() for weight in self._parameters]
        self._sampler = sampler
        self._objective = VitObjective(config, features)
        if compiled:
            _compile(self.network, features)

    @property
    def progress(self) -> float:
        return self.config.progress(self.iteration, self.seconds)

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or all the time has passed."""
        return self.progress >= 1

    def step(self) -> Tensor:
        """Run one training step; return its losses, [5] float32 on the team's device.

        They are the weighted sum, content, style, total variation and stability before the step.
        """
        losses = self._batch_losses(self._sampler(self.iteration))
        self.update(losses[0], self.config.learning_rate(self.iteration, self.progress))
        self._update_mean()
        return losses.detach()

    def _change_gradients(self) -> None:
        self.team.average_gradients(self._parameters)
        nn.utils.clip_grad_norm_(self._parameters, CLIP, foreach=True)

    def _batch_losses(self, batch: Batch) -> Tensor:
        config, step = self.config, self.iteration
        photographs = inside(batch.clean)
        frames = inside(batch.content)
        later = None
        some = config.disturbed
        if some:
            seed = config.seed + SEEDS * self.team.rank
            later = disturb(batch.content[:some], seed, step, moved=config.moves(step))
            frames = torch.cat((frames, later.frames))
        frames = frames.contiguous(memory_format=torch.channels_last)
        with self._autocast():
            stride = config.key_stride(step)
            codes = self.network.encode_style(batch.style, stride)
            codes = torch.cat((codes, codes[:some]))
            painted = projected_clamp(self.network.stylize(frames, codes, stride).float())
            result = painted[: config.batch_size]
            terms = self._objective(result, photographs, batch.style)
        stability = terms.total.new_zeros(())
        if later is not None:
            after = painted[config.batch_size :]
            stability = stability_loss(result[:some], after, later.down, later.right)
        total = terms.total + config.steadiness(step, self.progress) * stability
        return torch.stack((total, terms.content, terms.style, terms.tv, stability))

    def _update_mean(self) -> None:
        """Move the running mean towards the weights, faster in the first steps."""
        decay = min(self.config.ema, (1 + self.iteration) / (10 + self.iteration))
        with torch.no_grad():
            # PyTorch: annotated with tensors or parameters, not both.
            get_ema_multi_avg_fn(decay)(self._mean, self._parameters, 0)  # pyright: ignore[reportArgumentType]

    def read(self, losses: Tensor, seconds: float) -> VitLosses:
        """Average `step`'s losses over the team, and append them to `history`."""
        self.seconds = seconds
        read = VitLosses(self.iteration, seconds, *floats(self.team.average(losses)))
        self.history.append(read)
        return read

    def mean_weights(self) -> dict[str, Tensor]:
        """Copy the running mean of the weights, a state dict of the network, to the CPU."""
        pairs = self._named_mean()
        return {name: value.to("cpu", torch.float32).contiguous() for name, value in pairs}

    def state(self) -> dict[str, Any]:
        return super().state() | {"mean": copy.deepcopy(dict(self._named_mean()))}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        for name, mean in self._named_mean():
            kept = state["mean"][name]
            if not is_weight(kept) or not bool(kept.isfinite().all()):
                raise ValueError("not the weights of a run")
            mean.copy_(kept)

    def _named_mean(self) -> Iterator[tuple[str, Tensor]]:
        return zip(self._names, self._mean, strict=True)

    def _losses(self, row: list[float]) -> VitLosses:
        return VitLosses(int(row[0]), *row[1:])

    def _phrases(self) -> dict[str, str]:
        return {"pictures": tr("other pictures"), "network": tr("another network")}


def _compile(network: StyleForgeTransformer, features: Vgg19Features) -> None:
    """Compile part by part: all blocks share the first one's code, which saves most time."""
    encoder = network.style
    parts = (
        *(encoder.stem, *encoder.blocks),
        *(network.stem, *network.injections, *network.blocks, network.decoder),
        features,
    )
    for part in parts:
        # PyTorch: its options are not annotated.
        part.compile(dynamic=False)  # pyright: ignore[reportUnknownMemberType]


def _optimizer(
    parameters: list[nn.Parameter], config: VitTrainingConfig, device: torch.device
) -> torch.optim.Optimizer:
    """Create AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), without decay of vectors."""
    groups = [
        {"params": [weight for weight in parameters if weight.dim() > 1]},
        {"params": [weight for weight in parameters if weight.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=config.lr,
        betas=BETAS,
        weight_decay=config.weight_decay,
        fused=device.type == "cuda",
    )
