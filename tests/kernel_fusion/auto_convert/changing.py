"""Random small models, changes between calls, and a comparison of converted and original results.

`python -m tests.kernel_fusion.auto_convert.changing --rounds 1000` tries many.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from kernel_fusion.auto_convert import ModelConverter
from kernel_fusion.auto_convert.comparison import difference
from tests.kernel_fusion.auto_convert.families import shaken

SIZE = 6


class Changing(nn.Module):
    """A network whose forward depends on state of every kind, with parts from TRAITS."""

    def __init__(self, traits: set[str]) -> None:
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, SIZE, 3, bias="bias" in traits), nn.BatchNorm2d(SIZE)
        )
        self.act: nn.Module = nn.ReLU()
        self.head = nn.Sequential(nn.Linear(SIZE, SIZE), nn.GELU(), nn.LayerNorm(SIZE), nn.ReLU())
        self.one, self.two = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)
        self.position = nn.Parameter(torch.randn(SIZE))
        self.register_buffer("table", torch.randn(SIZE))
        self.shift, self.scale, self.flip = torch.zeros(SIZE), 1.5, False
        self.weights, self.settings = [1.0, 2.0], SimpleNamespace(power=1, names={"add": True})
        self.traits, self.calls, self.last = frozenset(traits), 0, None

    def forward(self, x: Tensor) -> Any:
        if "counts" in self.traits:
            self.calls += 1
        if "draws" in self.traits:
            x = x + torch.randn_like(x)
        if "writes" in self.traits:
            x.add_(0.5)
        y = self.head(self.act(self.image(x)).mean((2, 3)))
        y = self.one(y) * self.weights[0] + self.two(y) * self.weights[1]
        y = (y * self.scale + self.shift + self.table) ** self.settings.power
        if self.settings.names["add"]:
            y = y + self.position
        if self.flip:
            y = -y
        if "keeps" in self.traits:
            self.last = y
        found = [y]
        if "constant" in self.traits:
            found += [self.position * 2, torch.arange(4.0), torch.tensor([1.0, 2.0])]
        if "clones" in self.traits:
            found += [y.clone(), x.clone()]
        if "views" in self.traits:
            found += [y[0], x[:, 0], y.view(-1)]
        if "weights" in self.traits:
            found += [self.position, self.table]
        return found[0] if len(found) == 1 else tuple(found)


TRAITS = ("bias", "counts", "draws", "writes", "keeps", "constant", "clones", "views", "weights")

REFUSED = {"counts", "draws", "writes", "keeps"}  # models with these get no program


def _doubled(self: nn.Linear, x: Tensor) -> Tensor:
    return nn.Linear.forward(self, x) * 2


def _averaged(model: Any) -> None:
    for x in model.parameters():
        x.data.mul_(0.5).add_(torch.ones_like(x), alpha=0.25)


def _through_numpy(model: Any) -> None:
    model.image[0].weight.detach().numpy()[...] *= 1.5


def _loaded(model: Any) -> None:
    model.load_state_dict({k: v * 1.25 for k, v in model.state_dict().items()}, assign=True)


# Changes of a model, applied to the converted one and the original.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda m: None,
    "averaged weights": _averaged,
    "weights through numpy": _through_numpy,
    "loaded weights": _loaded,
    "scaled statistics": lambda m: m.image[1].running_var.data.mul_(2),
    "moved weights": lambda m: setattr(m.one.weight, "data", m.one.weight.data * 2),
    "transposed weights": lambda m: setattr(m.two.weight, "data", m.two.weight.data.t()),
    "a number": lambda m: setattr(m, "scale", m.scale + 1),
    "an item of a list": lambda m: m.weights.__setitem__(0, m.weights[0] + 1),
    "a setting of an object": lambda m: setattr(m.settings, "power", 3 - m.settings.power),
    "an item of a dictionary": lambda m: m.settings.names.update(add=not m.settings.names["add"]),
    "a flag": lambda m: setattr(m, "flip", not m.flip),
    "a tensor in place": lambda m: m.shift.add_(1),
    "a tensor": lambda m: setattr(m, "shift", m.shift + 1),
    "an activation": lambda m: setattr(m, "act", nn.SiLU()),
    "an activation in a sequence": lambda m: m.head.__setitem__(1, nn.Tanh()),
    "eps": lambda m: setattr(m.image[1], "eps", m.image[1].eps * 1000),
    "stride": lambda m: setattr(m.image[0], "stride", (2, 2)),
    "padding": lambda m: setattr(m.image[0], "padding", (1, 1)),
    "a forward": lambda m: setattr(m.one, "forward", MethodType(_doubled, m.one)),
    "a hook": lambda m: m.two.register_forward_hook(lambda module, args, y: y + 1),
    "a hook of the model": lambda m: m.register_forward_pre_hook(
        lambda module, args: (args[0] * 2,)
    ),
}


def memory_after(write: int, results: Any, x: Tensor) -> list[Tensor]:
    """Write to the n-th tensor and return the values of all results and the input."""
    found = [*(results if isinstance(results, tuple) else (results,)), x]
    found[write % len(found)].mul_(0).add_(7)
    return [each.detach().clone() for each in found]


def fault_of(seed: int) -> str:
    """Convert a random model and change it between calls; return its fault, or ""."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    traits = {each for each in TRAITS if rng.random() < (0.1 if each in REFUSED else 0.4)}
    original: Any = shaken(Changing(traits))
    x = torch.randn(2, 3, 8, 8)
    converter = ModelConverter(keep_slower=True, timed_runs=1)
    converted: Any = converter.convert_model(original, x.clone())
    told = f"seed {seed}, {sorted(traits)}"
    if not traits & REFUSED:
        with torch.no_grad():
            converted(x.clone())
        skipped = {each.what: each.reason for each in converted.conversion_stats.skipped}
        if "the whole model" in skipped:
            return f"{told}: {skipped['the whole model']}"
    for _ in range(rng.randint(2, 5)):
        name = rng.choice(list(CHANGES))
        told += f", {name}"
        results = []
        for model in (original, converted):
            with torch.no_grad():
                CHANGES[name](model)
                given = x.clone()
                torch.manual_seed(seed)
                found = model(given)
                each = copy.deepcopy(found)
                results.append((each, memory_after(seed, found, given)))
        for ours, theirs in zip(*results[::-1], strict=True):
            if difference(ours, theirs) > 1e-4:
                return f"{told}: off by {difference(ours, theirs)}"
        if (converted.calls, converted.last is None) != (original.calls, original.last is None):
            return f"{told}: its state is another"
        states = converted.state_dict(), original.state_dict()
        if difference(*map(dict, states)) > 1e-6:
            return f"{told}: its weights are others"
    return ""


def main(argv: list[str] | None = None) -> int:
    """Try many models; return 1 if a converted one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--rounds", type=int, default=1000, help="models to try")
    arguments = parser.parse_args(argv)
    faults = 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        fault = fault_of(seed)
        if fault:
            faults += 1
            sys.stdout.write(fault + "\n")
    sys.stdout.write(f"{faults} of {arguments.rounds} models were wrong\n")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
