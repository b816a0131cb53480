"""The part that all trainings share: an optimizer step, and the state to resume a run from."""

from __future__ import annotations

import copy
import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn

from models.layers import to_channels_last
from models.loss_terms import floats
from models.safe_load import is_weight
from utils.files import small_json
from utils.translation.texts import tr

READ_EVERY = 20  # steps between readings of the losses from a GPU, which wait for it

Network = TypeVar("Network", bound=nn.Module)
Losses = TypeVar("Losses", bound=tuple[float, ...])  # that begins with the iteration


def seeded(
    make: Callable[[], Network],
    seed: int,
    weights: Mapping[str, Tensor] | None,
    device: torch.device,
) -> Network:
    """Make a network, on a device, with the given weights or with random ones of the seed."""
    # PyTorch: neither has complete annotations.
    with torch.random.fork_rng(devices=[]):  # pyright: ignore[reportUnknownMemberType]
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        network = make()
    if weights is not None:
        network.load_state_dict(dict(weights))
    to_channels_last(network, device)
    return network


class SavedRun(ABC, Generic[Network, Losses]):
    """A network in training, whose state can be saved and resumed.

    Args:
        precision: "fp32" or "bf16" (autocast).
        identity: The settings by which a checkpoint is accepted or refused, as JSON values.

    `iteration` and `seconds` count over all processes that resumed the run; `history` has the
    losses read so far.
    """

    checkpoint_format: ClassVar[str]  # distinguishes kinds of runs
    # Settings that older versions did not write into checkpoints, with the values they had.
    unwritten: ClassVar[Mapping[str, object]] = {}

    def __init__(
        self,
        network: Network,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
        precision: str,
        identity: Mapping[str, object],
    ) -> None:
        self.network, self.device = network, device
        self.iteration, self.seconds = 0, 0.0
        self.history: list[Losses] = []
        self._parameters = list(network.parameters())
        self._optimizer, self._precision = optimizer, precision
        self._identity = json.dumps(dict(identity))

    @property
    @abstractmethod
    def finished(self) -> bool: ...

    @property
    def read_every(self) -> int:
        """Number of steps between readings of the losses."""
        return READ_EVERY if self.device.type == "cuda" else 1

    def update(self, loss: Tensor, rate: float) -> None:
        """Take one step of the optimizer along the gradient of `loss`, and count it."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        self._change_gradients()
        self._optimizer.step()
        self.iteration += 1

    def _change_gradients(self) -> None:
        """Change the gradients before they are applied; by default they remain as they are."""

    def healthy(self) -> bool:
        """Return whether every weight is finite. Waits for the device."""
        return bool(nn.utils.get_total_norm(self._parameters).isfinite())

    def state(self) -> dict[str, Any]:
        """Copy the state from which a run continues bit for bit as if it had not stopped.

        It consists of tensors, numbers, text and containers. It has no generators: the random
        numbers of a step are a function of its number.
        """
        return copy.deepcopy(
            {
                "network": self.network.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "iteration": self.iteration,
                "seconds": self.seconds,
                "history": torch.tensor(self.history, dtype=torch.float64),
                "identity": self._identity,
            }
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of this or another process, or from its copy read from a file.

        If it is invalid, raise LookupError, ValueError, TypeError, AttributeError, RuntimeError or
        OverflowError.
        """
        iteration, seconds = state["iteration"], state["seconds"]
        if type(iteration) is not int or iteration < 0:
            raise ValueError("not the count of a run")
        if not 0 <= seconds < math.inf:
            raise ValueError("not the time of a run")
        # The checkpoints of older versions have no history.
        history = self._read_history(state.get("history", torch.empty(0)), iteration)
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

    def _read_history(self, stored: Tensor, iteration: int) -> list[Losses]:
        """Decode a history, [N, number of losses].

        Raises:
            TypeError: If it has other losses.
            ValueError: If it does not fit a run of `iteration` steps.
        """
        history = [self._losses(floats(row)) for row in stored.unbind()]
        steps = [0, *(losses[0] for losses in history)]
        in_order = all(a < b for a, b in itertools.pairwise(steps))
        if not in_order or steps[-1] > iteration or not bool(stored.isfinite().all()):
            raise ValueError("not the history of a run")
        return history

    @abstractmethod
    def _losses(self, row: list[float]) -> Losses:
        """Convert a row of a history; raise TypeError if it has another length."""

    def differences(self, state: dict[str, Any]) -> list[str]:
        """List the settings of a state that differ from this run's, as phrases."""
        theirs = {**self.unwritten, **small_json.loads(state["identity"])}
        phrases = self._phrases()
        return [
            phrases.get(name)
            or tr(
                "{setting} {stored} rather than {wanted}",
                setting=name.replace("_", " "),
                stored=theirs.get(name),
                wanted=value,
            )
            for name, value in small_json.loads(self._identity).items()
            if theirs.get(name) != value
        ]

    @abstractmethod
    def _phrases(self) -> dict[str, str]:
        """Return the phrases for settings whose values say nothing to a reader, by name."""

    def _autocast(self) -> torch.autocast:
        enabled = self._precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=enabled)
