"""The lake that the page shows until its visitor gives a picture, and its paintings."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from app.sources.scene import render
from models.network_config import network_config
from models.transformer_net import TransformerNetBaseline

Picture = NDArray[np.uint8]  # [H, W, 3] RGB

SIZE = (1024, 576)  # pixels, 16:9 in multiples of 4
MOMENT_S = 1.0  # of the animation: the boat is in the middle of the lake


@functools.cache
def lake() -> Picture:
    """Return the lake as [576, 1024, 3]."""
    return render(MOMENT_S, *SIZE)


def painted(picture: Picture, state: Mapping[str, Tensor]) -> Picture:
    """Paint a picture in FP32 with the network of a state dict; return one of the same size."""
    network = TransformerNetBaseline(**asdict(network_config(dict(state))))
    network.load_state_dict(dict(state))
    with torch.inference_mode():
        x = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float()
        y = network.eval()(x)[0].permute(1, 2, 0).clamp(0, 255).round()
    return y.to(torch.uint8).numpy()


def webp(picture: Picture) -> bytes:
    """Return a picture as a file of WebP."""
    memory = io.BytesIO()
    Image.fromarray(picture).save(memory, "WEBP", quality=80, method=6)
    return memory.getvalue()
