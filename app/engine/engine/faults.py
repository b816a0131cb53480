"""The engine's error, and a context that turns running out of memory into it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import torch

from app.engine.painting_devices import painting_title
from app.errors import StyleForgeError
from app.frame import Frame
from kernels.frames.stream_state import StateError
from models.runtimes.runtime import RuntimeFault
from utils.opencv import cv2
from utils.translation.texts import tr


class EngineError(StyleForgeError):
    """Raised if the engine cannot do what its config requests."""


@contextmanager
def memory_errors(
    frame: Frame, device: torch.device, release: Callable[[], None]
) -> Generator[None]:
    """Turn every out-of-memory exception into an EngineError, after `release` freed memory."""
    try:
        yield
    except (RuntimeFault, StateError) as exc:
        raise EngineError(str(exc)) from exc
    except (RuntimeError, MemoryError, cv2.error) as exc:
        # On the CPU, PyTorch's allocator raises a plain RuntimeError, OpenCV its own error.
        out_of_memory = isinstance(exc, torch.OutOfMemoryError | MemoryError)
        if not out_of_memory and "alloc" not in str(exc):
            raise
        release()
        torch.cuda.empty_cache()
        raise EngineError(
            tr(
                "{device} ran out of memory on a frame of {size}; choose a smaller size",
                device=painting_title(device),
                size=f"{frame.width}x{frame.height}",
            )
        ) from exc
