"""Checkpoints from which training runs resume."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from models.training.checkpoint import resume_run
from models.training.config import TrainingConfig
from models.training.data import Photographs
from models.training.features import Vgg19Features
from models.training.run import Run
from models.training.vgg_layers import CHANNELS, LAYERS
from tests.fuzz.case import Case
from tests.fuzz.mutations import damaged, damaged_zip, value
from tests.fuzz.targets.base import Basis, named, special


class Resumes(Basis):
    name = "resumes"
    sample = 40
    memory = 1 << 29

    def prepare(self) -> None:
        state = {}
        generator = torch.Generator().manual_seed(0)
        for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
            weight = torch.randn(cout, cin, 3, 3, generator=generator)
            state[f"features.{index}.weight"] = weight * (2 / (9 * cin)) ** 0.5
            state[f"features.{index}.bias"] = torch.zeros(cout)
        pixels = np.random.default_rng(0).integers(0, 256, (4, 36, 36, 3), np.uint8)
        config = TrainingConfig(
            image_size=32, style_size=32, batch_size=1, iterations=10,
            num_residual_blocks=1, widths=(2, 2, 2), end_kernel=3,
        )  # fmt: skip
        self._run = Run(
            config,
            Vgg19Features(state, "caffe"),
            Photographs(torch.from_numpy(pixels), ("a", "b", "c", "d")),
            pixels[0],
            torch.device("cpu"),
        )
        self._run.step()
        self._state = {"format": self._run.checkpoint_format, **self._run.state()}

    def make(self, rng: Random) -> Case:
        act = rng.random()
        if act < 0.02:
            return named(rng, special(rng), "style", ".training.pt")
        made = io.BytesIO()
        torch.save(_odd(rng, self._state) if act > 0.4 else self._state, made)
        data = made.getvalue()
        if act < 0.2:
            data = damaged(rng, data)
        elif act < 0.4:
            data = damaged_zip(rng, data)
        return named(rng, data, "style", ".training.pt")

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        try:
            resume_run(path, self._run)
            if not self._run.finished:
                self._run.step()
        finally:
            self._run.restore(self._state)
        return []


def _odd(rng: Random, tree: Any) -> Any:
    """Replace one value somewhere in `tree`."""
    if isinstance(tree, dict) and tree and rng.random() < 0.95:
        key = rng.choice(list(tree))
        if rng.random() < 0.05:
            return {name: kept for name, kept in tree.items() if name != key}
        return {**tree, key: _odd(rng, tree[key])}
    if isinstance(tree, list) and tree and rng.random() < 0.9:
        at = rng.randrange(len(tree))
        return [*tree[:at], _odd(rng, tree[at]), *tree[at + 1 :]]
    if isinstance(tree, torch.Tensor) and rng.random() < 0.8:
        x = tree.float()
        makers = (
            lambda: x.double(), lambda: x.flatten(), lambda: x[..., None], lambda: x.flatten()[:0],
            lambda: x * float("nan"), lambda: x.to(torch.complex64), lambda: x.to(torch.int32),
            lambda: x.to_sparse(), lambda: torch.zeros(()).expand(1 << 30), lambda: -x - 1,
        )  # fmt: skip
        return rng.choice(makers)()
    return value(rng)
