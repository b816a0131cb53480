"""The engine's use of GPUs that WebGPU reaches: refusals, shaders being compiled, and failures."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future

import torch

from app.engine.comparison import FUSED
from app.engine.engine import movers
from app.engine.inferred import Inferred
from app.engine.painting_devices import painting_title
from app.engine.process_mode import ProcessMode
from app.engine.texture import ShaderTexture
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.moving.stream import prepare as prepare_moving
from models.webgpu_devices import give_up, given_up, is_webgpu, opened
from utils.leaving import BackgroundThread
from utils.translation.texts import tr


class WebGpuUse:
    """The decision whether such a GPU paints a frame, or the CPU in its place. Not thread-safe.

    Attributes:
        on_failure: Called with one sentence when a GPU fails. May be set.
    """

    def __init__(self, on_failure: Callable[[str], object]) -> None:
        self.on_failure = on_failure
        self._compiled: dict[Hashable, Future[None]] = {}
        self._reported = set[torch.device]()

    def refusal(self, inferred: Inferred) -> str:
        """Return why the CPU paints a frame whose device is such a GPU, as a clause, or ""."""
        device = inferred.device
        if not is_webgpu(device):
            return ""
        if reason := given_up(device):
            self._report(device)
            return reason
        config, active = inferred.config, inferred.active
        kernels = FUSED if config.compare else config.kernels
        try:
            reason = active.family.webgpu_refusal(
                *(active.network, kernels, device, inferred.precision, inferred.sizes.detail)
            )
            if not reason and inferred.mode is ProcessMode.LIVE and not self._is_compiled(inferred):
                return tr("the GPU's shaders are being compiled")
        except WebGpuError as error:
            self.fail(device, error)
            return given_up(device)
        return reason

    def fail(self, device: torch.device, error: WebGpuError) -> None:
        """Give up a GPU for the whole process, and report it once."""
        give_up(device, str(error))
        self._report(device)

    def _report(self, device: torch.device) -> None:
        """Report once why a GPU was given up, also by another engine."""
        reason = given_up(device)
        if device in self._reported:
            return
        self._reported.add(device)
        self.on_failure(
            tr(
                "{device} does not paint any more: {reason}. The processor continues",
                device=painting_title(device),
                reason=reason,
            )
        )

    def forget(self) -> None:
        """Compile the shaders again, and report failures again: a GPU is opened again."""
        self._compiled.clear()
        self._reported.clear()

    def _is_compiled(self, inferred: Inferred) -> bool:
        """Return whether a stream need not wait for shaders; start compiling them at first.

        Raises:
            WebGpuError: If the GPU refused a shader.
        """
        active, device, precision = inferred.active, inferred.device, inferred.precision
        key = active.network, device, precision
        if key not in self._compiled:
            size, family = inferred.sizes.detail, active.family

            def work() -> None:
                family.prepare_on(active.network, device, precision, size)
                ShaderTexture.prepare(device)
                if movers.by_shaders(device):
                    prepare_moving(opened(device))

            self._compiled[key] = _in_background(work)
        future = self._compiled[key]
        if not future.done():
            return False
        future.result()
        return True


def _in_background(work: Callable[[], None]) -> Future[None]:
    """Run `work` on a thread of its own, which does not keep the process alive."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  (the caller of `result` gets it)
            future.set_exception(error)
        else:
            future.set_result(None)

    BackgroundThread(run, "shaders").start()
    return future
