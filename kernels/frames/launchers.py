"""Launches the kernels around the network on contiguous [H, W, 3] uint8 CUDA tensors."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import Structure
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.layouts import check
from kernels.driver.library import DriverLibrary
from kernels.driver.prebuilt import register
from kernels.frames import matting, moving
from kernels.frames.combing import BLURS, LONGEST, MARGIN, Comb
from kernels.frames.dense_motion import DenseMotion
from kernels.frames.matting_history import MattingHistory
from kernels.frames.moving_paintings import MovingPaintings
from kernels.frames.noise import BANDS, TRACKED
from kernels.frames.smoothing import SmoothingHistory
from kernels.frames.structs import (
    STRUCTURES,
    CombParams,
    EnlargeTextureParams,
    FinishParams,
    MedianParams,
    MixParams,
    ResizeParams,
    ScreenParams,
    SlopesParams,
)
from kernels.frames.texture import TextureHistory
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table.names import FRAMES
from kernels.table.status import use_native
from utils.cuda_streams import raw_stream
from utils.stroke_directions import MOST_HANDLES
from utils.translation.texts import tr

Floats = NDArray[np.float32]


class FrameKernels:
    """The kernels on one GPU.

    Raises:
        BuildError: If no image runs on the GPU, one is damaged, or the library's structs differ.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        self._describe(images.description)
        self._library = DriverLibrary(images, folder, capability, device, driver)
        self._newer = capability >= (9, 0)
        self._device = device

    def _describe(self, told: Mapping[str, Any]) -> None:
        check(told["structs"], STRUCTURES, "kernels/frames/structs.py")
        texture = told["frame"]["texture"]
        sides = texture["fine_side"], texture["coarse_side"]
        if sides != tuple(side for _, side in BANDS) or texture["tracked"] != TRACKED:
            raise BuildError("the library and kernels/frames/noise.py differ in sizes")
        names = "narrow_reach", "carry_reach", "longest", "margin", "most_handles"
        combing = [texture[name] for name in names]
        if combing != [*(reach for _, reach in BLURS), LONGEST, MARGIN, MOST_HANDLES]:
            raise BuildError("the library and kernels/frames/combing.py differ in sizes")
        for module in (moving, matting):
            part = module.__name__.rpartition(".")[2]
            for name, thousandths in told[part]["constants"].items():
                if round(1000 * getattr(module, name)) != thousandths:
                    raise BuildError(f"the library and kernels/frames/{part}.py differ in {name}")
        self._told, self._smoothing, self._moving = (
            told[part] for part in ("frame", "smoothing", "moving")
        )
        parts = [part for part in told.values() if "source" in part]
        self._sources: dict[str, str] = {
            kernel: part["source"] for part in parts for kernel in part["kernels"].values()
        }
        self._names: dict[str, str] = {
            name: kernel for part in parts for name, kernel in part["kernels"].items()
        }

    def new_slopes(self, height: int, width: int, device: torch.device) -> Tensor:
        """Return zeros for `slopes` of a [height, width] result: [h, w, bytes] uint8."""
        shape = height, width, self._told["slope_bytes"]
        return torch.zeros(shape, dtype=torch.uint8, device=device)

    def new_history(self, height: int, width: int, device: torch.device) -> SmoothingHistory:
        return SmoothingHistory(height, width, device, self._smoothing)

    def new_paintings(self, height: int, width: int, device: torch.device) -> MovingPaintings:
        return MovingPaintings(height, width, device, self._moving)

    def new_matting(self, height: int, width: int, device: torch.device) -> MattingHistory:
        return MattingHistory(height, width, device)

    def new_texture(self, height: int, width: int, device: torch.device) -> TextureHistory:
        told = {"threads": self._told["threads"], **self._told["texture"]}
        return TextureHistory(height, width, device, told)

    def resize(self, frame: Tensor, small: Tensor) -> None:
        """Scale `frame` into `small`: by area to fewer pixels, else by cubic interpolation."""
        p = ResizeParams(frame.data_ptr(), small.data_ptr(), *frame.shape[:2], *small.shape[:2])
        self._cover("resize", p, small)

    def screen(self, picture: Tensor, screen: Tensor) -> None:
        """Scale [H, W, 3] like `resize` into the [h, w, 4] of a window: B, G, R and 255."""
        p = ScreenParams(
            picture.data_ptr(), screen.data_ptr(), *picture.shape[:2], *screen.shape[:2]
        )
        self._cover("screen", p, screen)

    def slopes(self, result: Tensor, small: Tensor, slopes: Tensor) -> None:
        """Fit the luma of `small` to `result`, both [h, w, 3], into `slopes`: a guided filter."""
        addresses = result.data_ptr(), small.data_ptr(), slopes.data_ptr()
        self._cover("slopes", SlopesParams(*addresses, *result.shape[:2]), result)

    def finish(
        self,
        frame: Tensor,
        result: Tensor,
        slopes: Tensor | None,
        picture: Tensor,
        *,
        strength: float,
        keep_colors: bool,
    ) -> None:
        """Make the displayed picture.

        Args:
            frame: [H, W, 3].
            result: [h, w, 3]; enlarged to the frame's size by cubic interpolation.
            slopes: The slopes of `result`, to add the frame's detail; None to add none.
            picture: [H, W, 3], written to; neither `result` nor `frame`.
            strength: 0 for the frame, 1 for the result.
            keep_colors: Whether to use the chroma (of YCrCb) of the frame.
        """
        p = FinishParams(
            *(frame.data_ptr(), result.data_ptr()),
            *(None if slopes is None else slopes.data_ptr(), picture.data_ptr()),
            *(*frame.shape[:2], *result.shape[:2]),
            *(strength, keep_colors),
        )
        self._cover("finish", p, picture)

    def smooth(
        self, history: SmoothingHistory, source: Tensor, result: Tensor, amount: float
    ) -> None:
        """Filter a stream's next result into `history.smoothed`; `amount` 0 is none, 1 the most.

        `source` is the picture that `result` was made from; both [h, w, 3].
        """
        p = history.params(source, result, amount)
        self._cover("cells", p, history.cells)
        self._find(history.motion)
        for name in ("change", "noise", "same"):
            self._cover(name, p, history.cells)
        self._cover("smooth", p, result)

    def painted(self, paintings: MovingPaintings, painting: Tensor, source: Tensor) -> None:
        """Take a stream's next painting of `source`, both [h, w, 3]."""
        pixels, p = paintings.take(source)
        pixels.copy_(painting)
        self._cover("moving_cells", p, paintings.known)

    def move(self, paintings: MovingPaintings, source: Tensor) -> None:
        """Move the last paintings to a stream's next frame, [h, w, 3], into `paintings.shown`.

        app.engine.post.moving_reference.ReferenceMover describes the method.

        Raises:
            ValueError: If there is no painting.
        """
        p = paintings.params(source)
        self._cover("moving_cells", p, paintings.known)
        for motion in paintings.motions:
            self._find(motion)
        for name in ("moving_changes", "moving_trusts", "moving_soften", "moving_sum"):
            self._cover(name, p, paintings.cells)
        self._cover("moving_show", p, paintings.shown)

    def rough_matte(
        self, history: MattingHistory, frame: Tensor, light: Floats | None, *, first: bool
    ) -> None:
        """Make the rough matte of a stream's next frame in `history.rough`.

        app.engine.matting.reference.ReferenceMatting describes the method.

        Args:
            frame: [h, w, 3].
            light: Of the three channels, as a multiple of the scene's; None if `history.rough`
                holds a matte from elsewhere.
            first: Whether the frame begins a stream; other mattes keep some of the last one.
        """
        p = history.params(frame, light, first=first)
        self._cover("matting_see", p, history.kept)
        if light is None:
            self._cover("matting_steady", p, history.rough)
            return
        self._cover("matting_compare", p, history.kept)
        self._cover("matting_unlike", p, history.rough)
        self._cover("matting_rough", p, history.rough)

    def guide_matte(self, history: MattingHistory, frame: Tensor) -> None:
        """Refine `history.rough` of the newest frame to `history.slopes`."""
        p = history.params(frame, None, first=True)
        self._cover("matting_fit", p, history.rough)
        self._cover("matting_guide", p, history.rough)

    def mix(
        self, painted: Tensor, frame: Tensor, slopes: Tensor, mixed: Tensor, *, swapped: bool
    ) -> None:
        """Mix a painting with its frame into `mixed`, all [H, W, 3].

        Args:
            slopes: [h, w, 2] float32: times luma (0-255), plus, gives the matte.
            mixed: It may be `painted`.
            swapped: Whether the painting is where the matte is 0, and not where it is 1.
        """
        p = MixParams(
            *(painted.data_ptr(), frame.data_ptr(), slopes.data_ptr(), mixed.data_ptr()),
            *(*frame.shape[:2], *slopes.shape[:2], swapped),
        )
        self._cover("matting_mix", p, mixed)

    def texture(
        self,
        history: TextureHistory,
        picture: Tensor,
        textured: Tensor,
        amount: float,
        *,
        continues: bool,
        comb: Comb | None = None,
    ) -> None:
        """Add texture to the next picture of a stream.

        Args:
            picture: [h, w, 3], a frame scaled to the network's input.
            textured: [h, w, 3], written to; it may be `picture`.
            amount: 0 for none, 1 for the most.
            continues: Whether the frame continues the previous one, so that the pattern must move
                with the scene. The texture fades while the scene's motion is unknown.
            comb: The direction and length of the strokes; None for strokes without a direction.
        """
        addresses = picture.data_ptr(), textured.data_ptr()
        p, combs = history.params(*addresses, amount, continues=continues, comb=comb)
        self._launch(self._names["texture_cells"], history.areas_grid, p, overlap=True)
        self._launch(
            self._names["texture_flat"],
            history.flat_grid(combs is not None),
            *(p, combs or CombParams()),
            threads=self._told["texture"]["team"],
            cluster=self._told["texture"]["motion_blocks"],
            overlap=True,
        )
        if combs is None:
            self._launch(self._names["texture_add"], history.add_grid, p, overlap=True)
        else:
            threads = self._told["texture"]["comb_team"]
            self._launch(
                *(self._names["texture_comb"], history.comb_grid, p, combs),
                threads=threads,
                overlap=True,
            )

    def enlarge_texture(self, history: TextureHistory, picture: Tensor, textured: Tensor) -> None:
        """Add the texture of the newest picture of a stream, after `keep_field`, to a larger copy.

        Both are [H, W, 3]; `textured` may be `picture`.
        """
        assert history.field is not None
        p = EnlargeTextureParams(
            *(picture.data_ptr(), textured.data_ptr(), history.field.data_ptr()),
            *(*picture.shape[:2], *history.field.shape),
        )
        self._cover("texture_enlarge", p, picture)

    def _find(self, motion: DenseMotion) -> None:
        """Find the motion between the pictures of `motion.pair`."""
        for halving, half in motion.halvings:
            self._cover("halve", halving, half.flatten(0, 1))
        for step, flow in motion.steps:
            if isinstance(step, MedianParams):
                self._cover("median", step, flow)
            else:
                self._estimate(step, flow)

    def _estimate(self, params: Structure, flow: Tensor) -> None:
        told = self._smoothing
        rows, columns = flow.shape[:2]
        grid = -(-columns // told["flow_columns"]), -(-rows // told["flow_rows"]), 1
        self._launch(self._names["flow"], grid, params, threads=told["flow_team"])

    def _cover(self, name: str, params: Structure, picture: Tensor) -> None:
        height, width = picture.shape[:2]
        grid = -(-width // self._told["threads"]), height, 1
        self._launch(self._names[name], grid, params)

    def _launch(
        self,
        name: str,
        grid: tuple[int, int, int],
        *params: Structure,
        threads: int = 0,
        cluster: int = 1,
        overlap: bool = False,
    ) -> None:
        """Launch a kernel; `cluster` and `overlap` need Hopper or newer and are ignored before."""
        threads = threads or self._told["threads"]
        kernel = self._library.kernel(
            *(self._sources[name], name, threads),
            cluster=cluster if self._newer else 1,
            overlap=overlap and self._newer,
            arguments=len(params),
        )
        if error := kernel(grid, raw_stream(self._device), *params):
            raise RuntimeError(f"{name} could not be launched: CUDA error {error}")


register(FRAMES, FrameKernels)


def unavailable_reason(device: torch.device) -> str:
    """Return why frames are not scaled and mixed by native kernels of this GPU, as a clause.

    Return "" if they are, or if the device is not a GPU.
    """
    reason = build.reason(FRAMES) if device.type == "cuda" else ""
    if not reason:
        return ""
    return tr("frames are scaled and mixed on the CPU: {reason}", reason=tr(reason))


def frame_kernels(device: torch.device) -> FrameKernels | None:
    """Return a GPU's kernels; None if they are not in use, with one warning that says why.

    Raises:
        BuildError: If no image runs on the GPU.
    """
    if not use_native(FRAMES):
        return None
    index = device.index if str(device) != device.type else torch.cuda.current_device()
    return cast("FrameKernels", build.handle(FRAMES).on(torch.device("cuda", index)))
