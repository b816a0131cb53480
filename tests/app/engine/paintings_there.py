"""Paintings as they come from a GPU, emulated on the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from app.engine.engine import Engine
from app.engine.inferred import Inferred
from app.engine.process_mode import ProcessMode
from app.frame import Frame
from kernels.frames.launchers import FrameKernels
from models.inference.frame_matting import PictureThere
from models.inference.painted_frames import KeptPainting


def inferred_there(engine: Engine, frame: Frame, kernels: FrameKernels) -> Inferred:
    """Run the network on a frame of a stream, which stays on a GPU up to the displayed picture."""
    inferred = engine.infer(frame, ProcessMode.LIVE)
    output, (source, *_) = torch.as_tensor(inferred.rendering.pixels.copy()), inferred.inputs
    done = torch.cuda.Event()
    done.record(torch.cuda.Stream())
    size = frame.height, frame.width
    kept = KeptPainting(kernels, size, torch.as_tensor(source.copy()), done)
    kept.pixels.copy_(output)
    _, shown = engine._finishing._post_process(inferred, inferred.config.kernels)
    there = PictureThere(
        kernels, torch.as_tensor(frame.pixels.copy()), torch.as_tensor(shown.copy())
    )
    rendering = replace(
        inferred.rendering,
        pixels=shown,
        displayed=inferred.finish,
        screen=np.zeros((32, 48, 4), np.uint8),
        kept=kept,
        there=there,
    )
    return replace(inferred, renderings={inferred.config.kernels: rendering})
