"""The VGG-19 weights used as the loss network of training."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import safetensors.torch
import torch

from models.training.features import load_vgg
from models.training.vgg_layers import CHANNELS, LAYERS
from tests.fuzz.case import Case
from tests.fuzz.targets.base import Basis, named, special
from tests.fuzz.targets.checkpoints import hostile_file


class VggFiles(Basis):
    name = "vgg"
    sample = 15
    memory = 1 << 29

    def prepare(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self._state = {}
        for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
            weight = torch.randn(cout, cin, 3, 3, generator=generator)
            self._state[f"features.{index}.weight"] = weight.half()
            self._state[f"features.{index}.bias"] = torch.zeros(cout).half()
        made = io.BytesIO()
        torch.save(self._state, made)
        metadata = {"input": "BGR, 0-255, minus a mean"}
        self._files = (made.getvalue(), safetensors.torch.save(self._state, metadata))

    def make(self, rng: Random) -> Case:
        content = hostile_file(rng, self._state, self._files)
        return named(rng, special(rng) if rng.random() < 0.02 else content, "vgg", ".pth")

    def run(self, folder: Path) -> list[str]:
        (path,) = folder.iterdir()
        features = load_vgg(path, "caffe")
        features(torch.zeros(1, 3, 16, 16))
        return []
