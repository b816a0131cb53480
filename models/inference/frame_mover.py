"""Moves the last painting of a stream with the scene, while the GPU paints the next one."""

from __future__ import annotations

import torch

from kernels.network.graph_plan import StageCallback
from models.inference.frame_matting import PictureThere
from models.inference.frame_pipeline import Pixels
from models.inference.host_memory import pinned_like, upload
from models.inference.painted_frames import Finish, FramePainter, KeptPainting, Painted
from models.inference.side_stream import SideStream


class FrameMover:
    """The last paintings of a stream on its GPU, and the frames to which they move.

    Its kernels run beside the network. Not thread-safe.
    """

    def __init__(self, first: KeptPainting) -> None:
        """Set the sizes of `first`, without taking it."""
        self._kernels = first.kernels
        device = first.source.device
        self.size, self.frame = first.size, first.frame
        with torch.inference_mode(False), torch.cuda.device(device):
            self._paintings = self._kernels.new_paintings(*self.size, device)
            self._painter = FramePainter(self._kernels, self.size, device)
            self._frame = torch.zeros(*self.frame, 3, dtype=torch.uint8, device=device)
            self._small = self._frame
            if self.size != self.frame:
                self._small = torch.zeros_like(first.source)
            self._picture = torch.zeros_like(self._frame)
            self._staging = pinned_like(self._frame)
            self._done = torch.cuda.Event()
        self._side = SideStream(device)

    @property
    def there(self) -> PictureThere:
        """The newest result of `moved` on the GPU, valid until the next one."""
        return PictureThere(self._kernels, self._frame, self._picture)

    def painted(self, kept: KeptPainting) -> None:
        """Take a new painting. The GPU copies it once it is computed."""
        with self._side.submitting():
            self._side.stream.wait_event(kept.computed)
            self._kernels.painted(self._paintings, kept.pixels, kept.source)
            kept.read_on(self._side.stream)

    def moved(
        self,
        pixels: Pixels,
        finish: Finish,
        mark: StageCallback,
        screen: tuple[int, int] | None = None,
    ) -> Painted:
        """Return the picture of a newer frame: the painting where the scene has moved to.

        Waits for this picture, and not for the network.

        Args:
            pixels: The frame, [H, W, 3] uint8, RGB.
            finish: Its smoothing and texture are not applied.
            mark: Called with "start", "upload", "resize", "motion", "blend" and "download", as in
                `FrameStyler.submit`.
            screen: (height, width) of a copy for a window; None for none.

        Raises:
            ValueError: If there is no painting.
        """
        with self._side.submitting():
            mark("start")
            upload(pixels, self._staging, self._frame)
            mark("upload")
            if self._small is not self._frame:
                self._kernels.resize(self._frame, self._small)
            mark("resize")
            self._kernels.move(self._paintings, self._small)
            mark("motion")
            shown = self._paintings.shown
            self._painter.paint(self._frame, self._small, shown, self._picture, finish)
            made = [self._picture]
            if screen is not None:
                made.append(self._picture.new_empty(*screen, 4))
                self._kernels.screen(self._picture, made[1])
            mark("blend")
            picture, *small = [pinned_like(each).copy_(each, non_blocking=True) for each in made]
            mark("download")
            self._done.record(self._side.stream)
        self._done.synchronize()
        return Painted(picture.numpy(), False, small[0].numpy() if small else None)
