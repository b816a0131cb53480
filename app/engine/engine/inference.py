"""The step of the engine that runs the networks on prepared frames."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from app.engine.comparison import Comparer
from app.engine.display_path import MOVED_MS, DisplayPath, Submitted
from app.engine.engine import movers
from app.engine.inferred import Inferred, Started
from app.engine.network_pool import (
    BetweenLayers,
    Network,
    NetworkPool,
    Size,
    StartedPicture,
    joined_sizes,
)
from app.engine.post.blending import Pixels, fit_to
from app.engine.process_mode import ProcessMode
from app.engine.texture import ShaderTexture, Texture
from kernels.network.webgpu.device import Buffer
from kernels.network.webgpu.native import Step
from models.webgpu_devices import host_of, is_webgpu


class Inference:
    """The step that scales frames, adds texture and runs networks. Not thread-safe.

    On a GPU, it computes up to the displayed picture.

    Args:
        between_layers: Called between layers of a network on a CPU, and between pieces of work on a
            GPU that WebGPU reaches, see `Network.render_all`.
    """

    def __init__(
        self,
        networks: NetworkPool,
        display: DisplayPath,
        comparer: Comparer,
        texture: Texture,
        shader_texture: ShaderTexture,
        on_progress: Callable[[float], object],
        between_layers: BetweenLayers,
    ) -> None:
        self._networks, self._display = networks, display
        self._comparer, self._texture = comparer, texture
        self._shader_texture = shader_texture
        self._on_progress, self._between_layers = on_progress, between_layers
        self.by_layer = False
        self._resized = self._resized_for_strokes = np.empty((0, 0, 3), np.uint8)  # buffers

    def submit(
        self, batch: Sequence[Inferred], screen: Size | None = None
    ) -> Submitted | Started | None:
        """Start computing frames that stay on the GPU; return None if these frames do not.

        Raises:
            WebGpuError: If a GPU that WebGPU reaches fails.
        """
        inferred = batch[0]
        config, active = inferred.config, inferred.active
        if config.compare or inferred.bands or any(each.deep for each in batch):
            return None
        if is_webgpu(inferred.device) and len(batch) == 1:
            return self._start(inferred)
        if inferred.device.type != "cuda":
            return None
        network = self.network(inferred, config.kernels)
        finish = inferred.finish
        frames = [each.frame.pixels for each in batch]
        return self._display.submit(
            *(network, frames, inferred.sizes, finish, active.key, screen), moves=inferred.moves
        )

    def _start(self, inferred: Inferred) -> Started:
        """Start a frame on a GPU that WebGPU reaches.

        The CPU scales it, and adds the texture of films, whose parts begin with the saved state of
        the frame before. Shaders add the texture of live streams.
        """
        shaded = inferred.mode is ProcessMode.LIVE and inferred.texture > 0
        inferred = self._scaled(inferred, kept=True, shaded=shaded)
        network = self.network(inferred, inferred.config.kernels)
        # Moves of the painting before run between the pieces of one that takes long.
        moved = inferred.moves and movers.by_shaders(inferred.device)
        pieces_from = MOVED_MS if moved else math.inf
        if not shaded:
            begun = [network.start(each, pieces_from=pieces_from) for each in inferred.given]
            return Started(inferred, tuple(begun))
        return Started(inferred, self._with_shaders(inferred, network, pieces_from))

    def _with_shaders(
        self, inferred: Inferred, network: Network, pieces_from: float
    ) -> tuple[StartedPicture, ...]:
        """Start a live frame at each size, where shaders add its texture."""
        (detail, *smaller), sizes = inferred.given, inferred.sizes
        amount, comb = inferred.texture, inferred.comb
        texture = self._shader_texture.adding(inferred.device, sizes.strokes, larger=bool(smaller))

        def textured(picture: Buffer) -> Sequence[Step]:
            return texture.steps(picture, amount, continues=True, comb=comb)

        if not smaller:
            return (network.start(detail, textured, pieces_from),)
        # The larger size has the texture of the smaller one, which therefore comes first.
        strokes = network.start(smaller[0], textured, pieces_from)

        def enlarged(picture: Buffer) -> Sequence[Step]:
            return texture.enlarged(picture, sizes.detail)

        return network.start(detail, enlarged, pieces_from), strokes

    def collect(self, batch: Sequence[Inferred], submitted: Submitted | Started) -> list[Inferred]:
        """Wait for submitted frames, and return them with the output.

        Raises:
            WebGpuError: If a GPU that WebGPU reaches fails.
        """
        if isinstance(submitted, Started):
            detail, *strokes = [picture.wait() for picture in submitted.pictures]
            rendering = joined_sizes(detail, *strokes) if strokes else detail
            inferred = submitted.inferred
            return [replace(inferred, renderings={inferred.config.kernels: rendering})]
        return [
            replace(inferred, renderings={inferred.config.kernels: rendering})
            for inferred, rendering in zip(batch, self._display.collect(submitted), strict=True)
        ]

    def run(self, inferred: Inferred) -> Inferred:
        # A GPU that WebGPU reaches paints a single picture in pieces, which can be given up.
        submitted = None if is_webgpu(inferred.device) else self.submit((inferred,))
        if submitted is not None:
            return self.collect((inferred,), submitted)[0]
        inferred = self._scaled(inferred)
        config, given = inferred.config, inferred.given
        banded = self._on_progress if inferred.bands else None
        how: dict[str, Any] = {
            "deep": inferred.deep,
            "banded": banded,
            "between": self._between_layers,
        }
        order = (config.kernels,)
        if config.compare:
            order = self._comparer.order(config.kernels, inferred.active.family)
        renderings = {
            kernels: self.network(inferred, kernels).render_all(given, **how) for kernels in order
        }
        return replace(inferred, renderings=renderings)

    def _scaled(self, inferred: Inferred, *, kept: bool = False, shaded: bool = False) -> Inferred:
        """Return a frame with the inputs of the networks.

        Args:
            kept: Whether the inputs own their memory.
            shaded: Whether shaders add the texture later.
        """
        frame, sizes = inferred.frame, inferred.sizes
        start = time.perf_counter()
        if kept:
            self._resized = self._resized_for_strokes = np.empty((0, 0, 3), np.uint8)
        self._resized = fit_to(frame.pixels, sizes.detail, self._resized)
        inputs = (self._resized,)
        if sizes.strokes != sizes.detail:
            small = fit_to(frame.pixels, sizes.strokes, self._resized_for_strokes)
            self._resized_for_strokes = small
            inputs += (small,)
        if shaded:
            self._texture.reset()
        given = inputs if shaded else self._textured(inferred, inputs)
        resize_ms = (time.perf_counter() - start) * 1e3
        return replace(inferred, inputs=inputs, given=given, resize_ms=resize_ms)

    def run_batch(self, batch: Sequence[Inferred]) -> Iterator[Inferred]:
        """Run the network on frames that do not stay on the GPU."""
        config, sizes = batch[0].config, batch[0].sizes
        alone = batch[0].bands or any(each.deep for each in batch)
        if len(batch) == 1 or config.compare or alone or sizes.strokes != sizes.detail:
            yield from map(self.run, batch)
            return
        network = self.network(batch[0], config.kernels)
        start = time.perf_counter()
        empty = np.empty((0, 0, 3), np.uint8)
        inputs = [(fit_to(each.frame.pixels, sizes.detail, empty),) for each in batch]
        given = [self._textured(*each) for each in zip(batch, inputs, strict=True)]
        resize_ms = (time.perf_counter() - start) * 1e3 / len(batch)
        rendered = network.render_batch([pixels for (pixels,) in given])
        for inferred, clean, painted, rendering in zip(batch, inputs, given, rendered, strict=True):
            renderings = {config.kernels: rendering}
            yield replace(
                inferred, inputs=clean, given=painted, renderings=renderings, resize_ms=resize_ms
            )

    def network(self, inferred: Inferred, kernels: str) -> Network:
        by_layer = self.by_layer and not inferred.config.compare
        active, device, precision = inferred.active, inferred.device, inferred.precision
        if is_webgpu(device) and active.family.webgpu_refusal(
            *(active.network, kernels, device, precision, inferred.sizes.detail)
        ):
            device = host_of(device)  # the other network of a comparison
            precision = active.family.computed(kernels, precision, device)
        return self._networks.get(kernels, precision, device, active, by_layer=by_layer)

    def _textured(self, inferred: Inferred, inputs: tuple[Pixels, ...]) -> tuple[Pixels, ...]:
        continues = inferred.mode.has_history
        self._shader_texture.reset()
        return self._texture.apply(
            inputs, inferred.texture, continues=continues, comb=inferred.comb
        )
