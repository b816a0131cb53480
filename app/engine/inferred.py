"""The engine's data about a frame between the network and the result."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from app.engine.adaptation import Variant
from app.engine.config import EngineConfig
from app.engine.display_path import Submitted, finish_of
from app.engine.network_pool import Rendering, StartedPicture
from app.engine.post.blending import Pixels
from app.engine.process_mode import ProcessMode
from app.engine.resolution import Sizes
from app.engine.style_weights import ActiveWeights
from app.frame import Frame
from kernels.frames.combing import Comb
from models.inference.painted_frames import Finish
from models.precision import Precision


@dataclass(frozen=True, slots=True, eq=False)
class Inferred:
    """The output of the networks for a frame, from which `Engine.finish` makes the result.

    Attributes:
        precision: The precision used, which may differ from the config's.
        sizes: The (width, height) of the networks' inputs.
        texture: The amount of texture added to the inputs, 0 to 1.
        inputs: The frame at each size, the larger first; empty if it was scaled on the GPU.
        given: The inputs with texture, as the networks receive them.
        renderings: The output of each network that ran, by its key in ALL_VARIANTS.
        resize_ms: The time of scaling the frame and adding the texture.
        bands: Why the network runs in bands of rows, as a clause; "" if it runs at once.
        elsewhere: Why the CPU computes and not the config's GPU, as a clause; "" if it does not.
        comb: How the texture's strokes lie; None as they are.
    """

    frame: Frame
    config: EngineConfig
    mode: ProcessMode
    device: torch.device
    precision: Precision
    active: ActiveWeights
    sizes: Sizes
    texture: float
    inputs: tuple[Pixels, ...]
    given: tuple[Pixels, ...]
    renderings: dict[str, Rendering]
    resize_ms: float
    bands: str = ""
    elsewhere: str = ""
    comb: Comb | None = None

    @property
    def variant(self) -> Variant:
        family = self.active.family.key
        return Variant(self.config.kernels, self.precision, self.device, family)

    @property
    def rendering(self) -> Rendering:
        return self.renderings[self.config.kernels]

    @property
    def finish(self) -> Finish:
        """How the displayed picture is made if the frame stays on a GPU."""
        continues = self.mode.has_history
        return finish_of(self.config, texture=self.texture, comb=self.comb, continues=continues)

    @property
    def moves(self) -> bool:
        """Whether newer frames may show this painting, moved with the scene."""
        live = self.mode is ProcessMode.LIVE
        return live and self.config.fluid and not self.config.compare

    @property
    def deep(self) -> bool:
        """Whether the result has 16 bits per channel, as its frame has."""
        return self.frame.deep is not None and not self.config.compare and not self.smoothed

    @property
    def smoothed(self) -> bool:
        return self.mode.has_history and self.config.smoothing > 0


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """A frame under way on a GPU that WebGPU reaches, at each size of the network's input."""

    inferred: Inferred
    pictures: tuple[StartedPicture, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """Frames in flight on the GPU as one batch; `batch` has each one's data, without the output."""

    batch: tuple[Inferred, ...]
    submitted: Submitted | Started
