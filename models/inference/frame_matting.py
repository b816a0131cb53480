"""Mattes of frames and mixes of paintings by them, on the GPU that paints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.frames.launchers import Floats, FrameKernels
from models.inference.frame_pipeline import Pixels
from models.inference.host_memory import pinned_like, upload
from models.inference.painted_frames import Painted
from models.inference.side_stream import SideStream


@dataclass(frozen=True, slots=True)
class Place:
    """A GPU and its kernels."""

    kernels: FrameKernels
    device: torch.device


@dataclass(frozen=True, slots=True, eq=False)
class PictureThere:
    """A displayed picture that is still on a GPU.

    It is valid until its `Submission` is waited for and another frame takes its place.

    Attributes:
        frame: [H, W, 3] uint8.
        picture: [H, W, 3] uint8, displayed in place of the frame.
    """

    kernels: FrameKernels
    frame: Tensor
    picture: Tensor

    @property
    def place(self) -> Place:
        return Place(self.kernels, self.frame.device)

    def mix(
        self, slopes: Tensor, *, swapped: bool, screen: tuple[int, int] | None = None
    ) -> Painted:
        """Mix the picture, which stays as it is, with its frame by a matte.

        Args:
            slopes: [h, w, 2] float32, on this GPU, see `FrameKernels.mix`.
            swapped: Whether the picture stays where the matte is 0, and not where it is 1.
            screen: (height, width) of a copy for a window; None for none.
        """
        stream = _stream_of(self.frame.device)
        with stream.submitting():
            mixed = torch.empty_like(self.picture)
            self.kernels.mix(self.picture, self.frame, slopes, mixed, swapped=swapped)
            made = [mixed]
            if screen is not None:
                made.append(mixed.new_empty(*screen, 4))
                self.kernels.screen(mixed, made[1])
            pixels, *small = [pinned_like(each).copy_(each, non_blocking=True) for each in made]
            done = torch.cuda.Event()
            done.record(stream.stream)
        done.synchronize()
        return Painted(pixels.numpy(), False, small[0].numpy() if small else None)


class FrameMatting:
    """The mattes of a stream on a GPU, like kernels.frames.native_matting.NativeMatting.

    Not thread-safe.
    """

    def __init__(self, place: Place, height: int, width: int) -> None:
        self.size = height, width
        self._kernels = place.kernels
        with torch.inference_mode(False):
            self._history = place.kernels.new_matting(height, width, place.device)
            self._frame = torch.zeros(height, width, 3, dtype=torch.uint8, device=place.device)
            self._staging = pinned_like(self._frame)
        self._stream = _stream_of(place.device)
        self._stream.begin()

    def take_scene(self, colors: Floats, noise: Floats) -> None:
        """Compare frames with a scene: its colors, [h, w, 3], and noise, [h, w]."""
        with self._stream.submitting():
            self._history.colors.copy_(_tensor(colors))
            self._history.noise.copy_(_tensor(noise))

    def rough(
        self, frame: Pixels, light: Floats | None, given: Floats | None, *, first: bool
    ) -> Floats:
        """Return the rough matte of the next frame, see `NativeMatting.rough`.

        Raises:
            ValueError: If the frame has another size.
        """
        if frame.shape != (*self.size, 3):
            raise ValueError(f"a stream of {self.size} got a frame of {frame.shape}")
        with self._stream.submitting():
            upload(frame, self._staging, self._frame)
            if light is None and given is not None:
                self._history.rough.copy_(_tensor(given))
            self._kernels.rough_matte(self._history, self._frame, light, first=first)
            return self._history.rough.cpu().numpy()

    def guided(self, rough: Floats) -> Tensor:
        """Refine a rough matte of the newest frame, [h, w].

        Return [h, w, 2] float32 on the GPU, see `FrameKernels.mix`; the next call overwrites it.
        """
        with self._stream.submitting():
            self._history.rough.copy_(_tensor(rough))
            self._kernels.guide_matte(self._history, self._frame)
        return self._history.slopes

    def downloaded(self, slopes: Tensor) -> NDArray[np.float32]:
        """Return a result of `guided` as [h, w, 2]."""
        with self._stream.submitting():
            return slopes.cpu().numpy()


@lru_cache(maxsize=16)
def _stream_of(device: torch.device) -> SideStream:
    """Return the stream for mattes on a GPU: what mixes by one comes after what made it."""
    return SideStream(device)


def _tensor(values: Floats) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values, np.float32))
