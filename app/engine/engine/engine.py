"""The engine, which turns a frame into a styled frame. It uses PyTorch and is independent of Qt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeGuard

import torch

from app.engine.adaptation import Adaptation
from app.engine.comparison import Comparer
from app.engine.config import EngineConfig, same_network
from app.engine.display_path import DisplayPath
from app.engine.engine.faults import EngineError, memory_errors
from app.engine.engine.finishing import Finishing
from app.engine.engine.inference import Inference
from app.engine.engine.preparation import Preparation
from app.engine.engine.tuning import Tuning
from app.engine.engine.webgpu import WebGpuUse
from app.engine.inferred import Inferred, Pending, Started
from app.engine.matting.cutout import Cutout
from app.engine.matting.files import MatteError
from app.engine.network_pool import BetweenLayers, NetworkPool, Size
from app.engine.painting_devices import painting_device
from app.engine.post.blending import PostProcessor
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.engine.style_weights import StyleWeights
from app.engine.texture import ShaderTexture, Texture
from app.frame import Frame
from app.frame_memory import allocate_by, pageable
from app.parameters import CHOICES
from app.styles.catalog import Catalog
from app.styles.pack import StyleError
from kernels.frames.stream_state import StateError, StreamState, part_of, under
from kernels.network.webgpu.library import WebGpuError
from kernels.table.registry import prepare
from models.checkpoints import CheckpointError
from models.families.family import NetworkFamily
from models.families.table import FAMILIES
from models.inference.host_memory import new_pinned_pixels
from models.transformer_net import ALL_VARIANTS
from models.webgpu_devices import try_again
from utils.free_memory import free_bytes
from utils.translation.joints import enumerated
from utils.translation.texts import tr

log = logging.getLogger(__name__)

# Offered to the user; from 2560 on for pictures.
SIZES = (None, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1920, 2560, 3840, 6000, 7680)


class Engine:
    """The engine, which styles frames. Not thread-safe.

    Call `configure`, then `infer` and `finish` for each frame. To overlap frames on a GPU, call
    `begin` for a frame, then `complete` for the one before. Frames of one size can go through the
    network together: `process_batch`, `begin_batch` and `complete_batch`.

    Args:
        budget_ms: The capture-to-paint time that the automatic size aims at.
        free: Returns the free bytes of a device; called once per device. Pictures that would not
            fit into memory are computed in bands of rows.

    Attributes:
        on_progress: Called with the finished share, 0 to 1, while a picture is computed in bands of
            rows. An exception it raises ends the computation. May be set.
        between_layers: Called between layers on a CPU, or between pieces of work on a GPU that
            WebGPU reaches, with the finished share, or None if it is unknown. An exception it
            raises ends the computation. May be set.
    """

    def __init__(
        self,
        catalog: Catalog,
        on_notice: Callable[[str], None] = log.info,
        budget_ms: float = 150.0,
        free: Callable[[torch.device], float] = free_bytes,
    ) -> None:
        self._catalog = catalog
        self.on_progress: Callable[[float], object] = lambda share: None
        self.between_layers: BetweenLayers = lambda share: None
        self._config: EngineConfig | None = None
        self._style_weights = StyleWeights(catalog)
        self._device = torch.device("cpu")
        self._networks = NetworkPool(free)
        self._adaptation = Adaptation(budget_ms, on_notice)
        self._post = PostProcessor()
        self._display = DisplayPath()
        self._texture, self._shader_texture = Texture(), ShaderTexture()
        self._cutout = Cutout()
        comparer = Comparer()
        self._webgpu, self._tuning = WebGpuUse(on_notice), Tuning()
        self._preparation = Preparation(
            self._style_weights, self._networks, self._adaptation, on_notice, self._webgpu
        )
        self._inference = Inference(
            self._networks,
            self._display,
            comparer,
            self._texture,
            self._shader_texture,
            lambda share: self.on_progress(share),
            lambda share: self.between_layers(share),
        )
        self._finishing = Finishing(
            self._inference,
            self._display,
            comparer,
            self._post,
            self._cutout,
            self._style_weights,
            self._adaptation,
            self._leave_gpu,
        )

    def apart(self) -> Engine:
        """Make another engine with the same styles that works alone and only logs its notices."""
        return Engine(self._catalog, log.info)

    @property
    def config(self) -> EngineConfig | None:
        """The config in force; None before the first `configure`."""
        return self._config

    @property
    def family(self) -> NetworkFamily[Any]:
        return self._style_weights.family

    @property
    def kernel_families(self) -> Sequence[str]:
        """The families of operations whose kernels the config uses; none for the baseline."""
        return () if self._in_force().kernels == "baseline" else self.family.operations

    def prepare_kernels(self) -> None:
        """Load the kernels that the config uses; compile missing ones, and test new ones."""
        for operations in self.kernel_families:
            prepare(family=operations)

    @property
    def memory_bytes(self) -> float:
        """The number of bytes free on the device when it was first used, after `configure`."""
        return self._networks.memory(self._device)

    def configure(self, config: EngineConfig) -> None:
        """Use `config` from the next frame on.

        Raises:
            StyleForgeError: If the style, the device, the runtime or another choice is not
                available; the config in force stays.
        """
        try:
            device = painting_device(config.device)
        except ValueError as exc:
            raise EngineError(str(exc)) from exc
        for what, known in {"kernels": ALL_VARIANTS, **CHOICES}.items():
            if (name := getattr(config, what)) not in known:
                raise EngineError(
                    tr(
                        "'{value}' is not a value of {setting}; choose one of {others}",
                        setting=what,
                        value=name,
                        others=enumerated(known),
                    )
                )
        try:
            runtime = (
                FAMILIES[self._catalog.get(config.style).family].variant(config.kernels).runtime
            )
            if runtime is not None:
                if reason := runtime.refusal(config.precision):
                    raise EngineError(reason)
                device = torch.device("cpu")  # that runtime reads pictures from CPU memory
            self._style_weights.choose(config)
            self._cutout.choose(config.matte)
        except (OSError, CheckpointError, StyleError) as exc:
            raise EngineError(str(exc)) from exc
        if self._config is not None and not same_network(config, self._config):
            self.reset_history()
        if device != self._device:
            self._finishing.forget_output()
        self._config, self._device = config, device
        allocate_by(new_pinned_pixels if device.type == "cuda" else pageable)

    def leave_picture(self) -> None:
        """Forget the learned empty scene, or the mask: another picture or source follows.

        Configs that were made for the picture before may still arrive. Until `take_picture`, their
        scenes and masks count as none.
        """
        self._cutout.leave_picture()

    def take_picture(self) -> None:
        """Use scenes and masks again: configs are now made for the picture that follows."""
        self._cutout.take_picture()

    def reset_history(self) -> None:
        """Do not smooth the next frame with earlier ones, after a change of source or a seek."""
        self._post.reset_history()
        self._display.reset_history()
        self._texture.reset()
        self._shader_texture.reset()
        self._cutout.reset()
        self._finishing.reset_history()

    def history(self) -> StreamState:
        """Return the state for `restore_history` of an equal engine; waits for the frames begun."""
        return {
            **under("post", self._post.state()),
            **under("display", self._display.state()),
            **under("texture", self._texture.state()),
            **under("matte", self._cutout.state()),
        }

    def restore_history(self, state: StreamState) -> None:
        """Continue the stream of `state` with the next frame.

        Raises:
            EngineError: If the state comes from other kernels, or from frames of another size.
        """
        try:
            self._post.restore(part_of(state, "post"))
            self._texture.restore(part_of(state, "texture"))
            self._cutout.restore(part_of(state, "matte"))
        except StateError as exc:
            raise EngineError(str(exc)) from exc
        self._display.restore(part_of(state, "display"))

    def compile_kernels(self, compiling: bool) -> None:
        """Set whether kernels are being compiled; times of that phase count only until its end."""
        self._adaptation.compile_kernels(compiling)
        self._finishing.forget_output()

    def hold(self, held: bool) -> None:
        """Fix the automatic size and network while `held`, for a recording."""
        self._adaptation.held = held

    def time_layers(self, on: bool) -> None:
        """Set whether timings cover every layer, except in comparisons, which that would slow."""
        self._inference.by_layer = on
        self._finishing.forget_output()

    def set_overhead(self, overhead_ms: float) -> None:
        self._adaptation.set_overhead(overhead_ms)

    def evict(self, key: str) -> None:
        """Drop the cached weights of a style that was removed or replaced."""
        self._style_weights.evict(key)
        self._finishing.forget_output()

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        """Style a frame with the config in force, as `infer` and `finish` do."""
        inferred = self.infer(frame, mode)
        with self._memory_errors(frame):
            return self._finishing.finish(inferred)

    def infer(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> Inferred:
        """Run the network on a frame, or both networks if they are compared.

        The output stays valid until the next call.

        Raises:
            EngineError: If there is not enough memory, or no config.
        """
        config = self._in_force()
        self._finishing.begin_output()
        with self._memory_errors(frame):
            while True:
                try:
                    inferred = self._inference.run(self._chosen(frame, config, mode))
                except WebGpuError as error:
                    self._leave_gpu(self._device, error)
                    continue
                if not self._preparation.step_down(inferred):
                    return inferred

    def finish(self, inferred: Inferred, newest: EngineConfig | None = None) -> StyledFrame:
        """Make the result of the last `infer`, in the frame's size.

        `newest` takes effect if it differs only in steps after the network, as for a dragged
        slider.

        Raises:
            EngineError: If there is not enough memory.
        """
        if self._takes(newest, inferred.config):
            inferred = replace(inferred, config=newest)
        with self._memory_errors(inferred.frame):
            return self._finishing.finish(inferred, keeps=True)

    def finish_again(self, frame: Frame, newest: EngineConfig | None = None) -> StyledFrame | None:
        """Make the last result of `finish` again, without the network.

        The call is allowed while `infer` calls `between_layers`. `newest` takes effect as in
        `finish`.

        Args:
            frame: The frame of that result, perhaps with another time.

        Returns:
            None if the network has to run: for another frame, in a comparison, or after anything
            changed that the network depends on.

        Raises:
            EngineError: If there is not enough memory.
        """
        config = self._in_force()
        if self._takes(newest, config):
            config = newest
        with self._memory_errors(frame):
            return self._finishing.finish_again(frame, config)

    def move(
        self, frame: Frame, newest: EngineConfig | None = None, screen: Size | None = None
    ) -> StyledFrame | None:
        """Move the last painting of a stream to a newer frame; None if there is none.

        The call is allowed while `infer` calls `between_layers`, and while a frame is in flight.
        `newest` takes effect as in `finish`, and `screen` as in `begin`.
        """
        config = self._in_force()
        if self._takes(newest, config):
            config = newest
        return self._finishing.move(frame, config, screen)

    def begin(
        self,
        frame: Frame,
        mode: ProcessMode = ProcessMode.LIVE,
        newest: EngineConfig | None = None,
        screen: Size | None = None,
    ) -> Pending | None:
        """Start styling a frame on the GPU, where one more frame may be in flight.

        Args:
            screen: (width, height) of a copy of the result that a window paints.

        Returns:
            None if frames cannot overlap (CPU, comparison, no plan); then use `process`.

        Raises:
            EngineError: If there is not enough memory, or no config.
        """
        self._takes(newest, self._in_force())
        return self.begin_batch((frame,), mode, screen)

    def ready(self, pending: Pending) -> bool:
        """Return whether `complete` would not wait."""
        submitted = pending.submitted
        if isinstance(submitted, Started):
            return all(picture.ready() for picture in submitted.pictures)
        return submitted.submission.ready()

    def complete(self, pending: Pending) -> StyledFrame:
        """Wait for a frame and make the result, in order.

        Raises:
            EngineError: If memory runs out.
        """
        (styled,) = self.complete_batch(pending)
        return styled

    def process_batch(
        self, frames: Sequence[Frame], mode: ProcessMode = ProcessMode.LIVE
    ) -> list[StyledFrame]:
        """Style frames of one size, as one batch if the network can, otherwise in order.

        `StyledFrame.batch` is the number of frames that went through the network together.

        Raises:
            EngineError: If there is not enough memory, or no config.
        """
        pending = self.begin_batch(frames, mode)
        if pending is not None:
            return self.complete_batch(pending)
        config = self._in_force()
        with self._memory_errors(frames[0]):
            batch = [self._chosen(frame, config, mode) for frame in frames]
            return self._finish_batch(batch, self._inference.run_batch(batch))

    def begin_batch(
        self,
        frames: Sequence[Frame],
        mode: ProcessMode = ProcessMode.LIVE,
        screen: Size | None = None,
    ) -> Pending | None:
        """Start styling frames of one size on the GPU as one batch; see `begin` for the rest.

        Raises:
            EngineError: If there is not enough memory, or no config.
            ValueError: If the frames differ in size.
        """
        config = self._in_force()
        self._finishing.forget_output()
        if len({(frame.width, frame.height) for frame in frames}) != 1:
            raise ValueError("the frames of a batch have one size")
        with self._memory_errors(frames[0]):
            batch = tuple(self._chosen(frame, config, mode) for frame in frames)
            try:
                submitted = self._inference.submit(batch, screen)
            except WebGpuError as error:
                self._leave_gpu(self._device, error)
                return None
        return None if submitted is None else Pending(batch, submitted)

    def complete_batch(self, pending: Pending) -> list[StyledFrame]:
        with self._memory_errors(pending.batch[0].frame):
            try:
                collected = self._inference.collect(pending.batch, pending.submitted)
            except WebGpuError as error:
                self._leave_gpu(pending.batch[0].device, error)
                return [self.process(each.frame, each.mode) for each in pending.batch]
            return self._finish_batch(pending.batch, collected)

    def discard(self, pending: Pending) -> None:
        """Wait for a frame that is no longer needed."""
        if not isinstance(pending.submitted, Started):
            pending.submitted.submission.wait()
            return
        try:
            self._inference.collect(pending.batch, pending.submitted)
        except WebGpuError as error:
            self._leave_gpu(pending.batch[0].device, error)

    def report_gpu_failures(self, on_failure: Callable[[str], object]) -> None:
        """Call a function with one sentence when a GPU fails, instead of reporting a notice."""
        self._webgpu.on_failure = on_failure

    def try_gpu_again(self) -> None:
        """Open a GPU again that failed, with the next frame."""
        try_again()
        self._webgpu.forget()
        self._release()

    def tune(self) -> bool | None:
        """Tune the GPU that paints for some milliseconds; see `Tuning.step`.

        The networks use the tiles from the next frame on.

        Raises:
            OSError: If the tiles cannot be written.
        """
        try:
            more = self._tuning.step()
        except WebGpuError as error:
            self._leave_gpu(self._tuning.device, error)
            return None
        if more is False:
            self._networks.clear()
        return more

    def _leave_gpu(self, device: torch.device, error: WebGpuError) -> None:
        """Paint on the CPU from now on, because the GPU failed."""
        self._release()
        self._webgpu.fail(device, error)

    def _in_force(self) -> EngineConfig:
        if self._config is None:
            raise EngineError(tr("no style was chosen yet"))
        return self._config

    def _takes(self, newest: EngineConfig | None, config: EngineConfig) -> TypeGuard[EngineConfig]:
        """Use the newest config if it differs from `config` only after the network."""
        if newest is None or not same_network(newest, config):
            return False
        try:
            self._cutout.choose(newest.matte)
        except MatteError:
            return False  # `configure` says why
        self._config = newest
        return True

    def _finish_batch(
        self, batch: Sequence[Inferred], outputs: Iterable[Inferred]
    ) -> list[StyledFrame]:
        """Make the results of a batch, from the first broken output on frame by frame."""
        styled: list[StyledFrame] = []
        for inferred in outputs:
            if self._preparation.step_down(inferred):
                break
            styled.append(self._finishing.finish(inferred))
        return styled + [self.process(each.frame, each.mode) for each in batch[len(styled) :]]

    def _chosen(self, frame: Frame, config: EngineConfig, mode: ProcessMode) -> Inferred:
        inferred = self._preparation.choose(frame, config, mode, self._device)
        self._tuning.painted(inferred)
        return inferred

    def _memory_errors(self, frame: Frame) -> AbstractContextManager[None]:
        return memory_errors(frame, self._device, self._release)

    def _release(self) -> None:
        self._networks.clear()
        self._shader_texture.clear()
        self._display.clear()
        self._finishing.reset_history()
