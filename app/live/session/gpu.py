"""Measures and tunes the GPU that WebGPU reaches between frames, and opens it after a failure."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.background_jobs import Jobs
from app.engine.result import StyledFrame
from app.engine.webgpu_rates import KeptRate, Measurement, unmeasured
from app.live.session.choice import Choice
from app.live.worker import Worker
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import WEBGPU, give_up
from utils.translation.numbers import number
from utils.translation.texts import tr

TUNE_AFTER_MS = 5000  # from a frame on the GPU to the tuning, and between two looks for more
TUNE_EVERY_MS = 100  # between two steps of some milliseconds each


class GpuChoice(QObject):
    """The measurement that decides whether "auto" takes the GPU, and the return to a failed one."""

    notice = Signal(str)

    def __init__(
        self, choice: Choice, worker: Worker, jobs: Jobs, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._choice, self._worker, self._jobs = choice, worker, jobs
        self._seen = False  # whether a GPU that WebGPU reaches has painted
        worker.measured.connect(self._measured)
        worker.tuned.connect(self._tuned)
        self._next = QTimer(self, interval=TUNE_EVERY_MS, singleShot=True)
        self._next.timeout.connect(lambda: worker.post(worker.tune))

    def measure(self) -> None:
        """Measure a GPU that was never measured, if the device is automatic.

        A job finds it and compiles the shaders, while the stream runs. The engine's thread then
        paints a few pictures, one between two frames, so that the stream does not disturb the CPU's
        time.
        """
        if self._choice.config.device == "auto":
            self._jobs.run(_new_measurement, self._begin, self._give_up)

    def painted(self, styled: StyledFrame) -> None:
        """Tune the GPU some time after the first frame that it painted."""
        if f"({WEBGPU}:" in styled.running.device and not self._seen:
            self._seen = True
            self._next.start(TUNE_AFTER_MS)

    def try_again(self) -> None:
        """Open a GPU again that failed, and style the last frame again."""
        self._worker.post(self._worker.loop.try_gpu_again)

    def _begin(self, measurement: Measurement | None) -> None:
        if measurement is not None:
            self._worker.post(self._worker.measure, measurement)

    def _give_up(self, error: Exception) -> None:
        """Stay on the CPU. `doctor --measure` shows the error."""
        self.notice.emit(tr("The GPU could not be measured: {reason}", reason=str(error)))

    @Slot(object)
    def _tuned(self, more: bool | None) -> None:
        """Go on after a pause for frames, or look again later for another network."""
        self._next.start(TUNE_EVERY_MS if more else TUNE_AFTER_MS)

    @Slot(object)
    def _measured(self, rate: KeptRate) -> None:
        if rate.gain <= 1 or self._choice.config.device != "auto":
            return
        self._choice.send()
        self.notice.emit(
            tr(
                "{gpu} paints from now on: {gain} times as fast as the processor",
                gpu=rate.gpu,
                gain=number(rate.gain, 1),
            )
        )


def _new_measurement() -> Measurement | None:
    device = unmeasured()
    if device is None:
        return None
    try:
        return Measurement(device)
    except WebGpuError as error:
        give_up(device, str(error))
        raise
