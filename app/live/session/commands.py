"""The commands to the worker, as signals that reach it on its thread."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.live.worker import Worker


class WorkerCommands(QObject):
    """Signals for the slots of the same names of `worker`, which lives on another thread."""

    open = Signal(object)
    seek = Signal(float)
    step = Signal(int)
    cancel = Signal()
    pause = Signal(bool)
    set_volume = Signal(float)
    listen = Signal(object)
    set_loop = Signal(object)
    set_mode = Signal(int, int, float)
    set_exposure = Signal(object)
    set_display_size = Signal(int, int)
    set_least_size = Signal(int, int)
    hold = Signal(bool)
    time_layers = Signal(bool)

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.open.connect(worker.open)
        self.seek.connect(worker.seek)
        self.step.connect(worker.step_source)
        self.cancel.connect(worker.cancel)
        self.pause.connect(worker.pause)
        self.set_volume.connect(worker.set_volume)
        self.listen.connect(worker.listen)
        self.set_loop.connect(worker.set_loop)
        self.set_mode.connect(worker.set_mode)
        self.set_exposure.connect(worker.set_exposure)
        self.set_display_size.connect(worker.set_display_size)
        self.set_least_size.connect(worker.set_least_size)
        self.hold.connect(worker.hold)
        self.time_layers.connect(worker.time_layers)
