"""A run that trains the any-style network: its step, and the state to resume from."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
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
from models.training.stability import disturb, inside, stability_loss
from models.training.vit.config import VitTrainingConfig
from models.training.vit.distributed import Team
from models.training.vit.objective import VitObjective
from models.training.vit.sampling import Batch, Sampler
from models.vit_style_transfer import StyleForgeTransformer
from utils.files import small_json
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


class VitRun:
    """The training of one network, as one process of a team.

    Args:
        features: VGG-19; moved to the team's device.
        pictures: Identifies the training pictures in a checkpoint; others are refused.
        weights: A state dict to start from; None for random weights.
        compiled: Whether to compile the network and the features.

    `iteration` and `seconds` count over all processes that resumed the run.
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
        self.config, self.team = config, team
        self.iteration, self.seconds = 0, 0.0
        self.history: list[VitLosses] = []
        # PyTorch: neither has complete annotations.
        with torch.random.fork_rng(devices=[]):  # pyright: ignore[reportUnknownMemberType]
            torch.manual_seed(config.seed)  # pyright: ignore[reportUnknownMemberType]
            self.network = StyleForgeTransformer(config.network)
        if weights is not None:
            self.network.load_state_dict(dict(weights))
        to_channels_last(self.network, team.device)
        to_channels_last(features, team.device)
        self._parameters = list(self.network.parameters())
        self._names = [name for name, _ in self.network.named_parameters()]
        self._mean = [weight.detach().clone() for weight in self._parameters]
        self._optimizer = _optimizer(self._parameters, config, team.device)
        self._sampler = sampler
        self._objective = VitObjective(config, features)
        if compiled:
            _compile(self.network, features)
        self._identity = {
            **{name: value for name, value in asdict(config).items() if name not in _SCHEDULE},
            "pictures": pictures,
        }

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
        rate = self.config.learning_rate(self.iteration, self.progress)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        batch = self._sampler(self.iteration)
        losses = self._losses(batch)
        self._optimizer.zero_grad()
        torch.autograd.backward(losses[0])
        self.team.average_gradients(self._parameters)
        nn.utils.clip_grad_norm_(self._parameters, CLIP, foreach=True)
        self._optimizer.step()
        self.iteration += 1
        self._update_mean()
        return losses.detach()

    def _losses(self, batch: Batch) -> Tensor:
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
        enabled = config.precision == "bf16"
        with torch.autocast(self.team.device.type, torch.bfloat16, enabled=enabled):
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

    def healthy(self) -> bool:
        """Return whether every weight is finite. Waits for the device."""
        return bool(nn.utils.get_total_norm(self._parameters).isfinite())

    def mean_weights(self) -> dict[str, Tensor]:
        """Copy the running mean of the weights, a state dict of the network, to the CPU."""
        pairs = zip(self._names, self._mean, strict=True)
        return {name: value.to("cpu", torch.float32).contiguous() for name, value in pairs}

    def state(self) -> dict[str, Any]:
        """Copy the state from which a run continues bit for bit; see training.run.Run."""
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "mean": dict(zip(self._names, self._mean, strict=True)),
                "optimizer": self._optimizer.state_dict(),
                "iteration": self.iteration,
                "seconds": self.seconds,
                "history": torch.tensor(self.history, dtype=torch.float64),
                "identity": json.dumps(self._identity),
            }
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of any process, or its copy from a file; raises as Run.restore."""
        iteration, seconds, history = state["iteration"], state["seconds"], state["history"]
        if type(iteration) is not int or iteration < 0 or not 0 <= seconds < math.inf:
            raise ValueError("not the count or the time of a run")
        moments = copy.deepcopy(state["optimizer"]["state"])
        kept = [*state["network"].values(), *state["mean"].values()]
        kept += [value for each in moments.values() for value in each.values()]
        if not all(is_weight(value) for value in kept):
            raise ValueError("not the weights of a run")
        if not all(bool(value.isfinite().all()) for value in kept):
            raise ValueError("not the weights of a run")
        if history.numel() and history.shape[1:] != (len(VitLosses._fields),):
            raise ValueError("not the history of a run")
        self.network.load_state_dict(state["network"])
        for name, mean in zip(self._names, self._mean, strict=True):
            mean.copy_(state["mean"][name])
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": moments})
        self.iteration, self.seconds = iteration, float(seconds)
        rows = [floats(row) for row in history.unbind()] if history.numel() else []
        self.history = [VitLosses(int(first), *rest) for first, *rest in rows]

    def differences(self, state: dict[str, Any]) -> list[str]:
        """List the settings that differ; steps and seconds may, so that a run can be extended."""
        theirs = small_json.loads(state["identity"])
        ours = json.loads(json.dumps(self._identity))
        words = {"pictures": tr("other pictures"), "network": tr("another network")}
        return [
            words.get(name)
            or tr(
                "{setting} {stored} rather than {wanted}",
                setting=name.replace("_", " "),
                stored=theirs.get(name),
                wanted=value,
            )
            for name, value in ours.items()
            if theirs.get(name) != value
        ]


_SCHEDULE = ("steps", "seconds")  # may differ when a run is resumed


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
