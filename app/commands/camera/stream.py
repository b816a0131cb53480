"""The stream of `styleforge camera`: the frame loop, between a source and the virtual camera."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from app.commands.camera.reporters import Reporter
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.errors import Problem, StyleForgeError
from app.frame import FrameSource, SourceInfo
from app.live.frame_loop import FrameLoop
from app.live.latest_value import LatestValue
from app.live.loop_events import LoopEvents
from app.live.stream_metrics import StreamMetrics
from app.virtual_camera.sender import CameraStatus, State, VirtualCamera

REPORT_S = 0.5  # between reports of the rate


class StreamError(StyleForgeError):
    """Raised if the stream cannot continue."""


class CameraStream:
    """A stream that styles the frames of a source for a virtual camera. For one thread.

    Args:
        statuses: The camera's status messages, which it sends from its own thread.
        seconds: How long each picture of a folder is shown.
    """

    def __init__(
        self,
        engine: Engine,
        camera: VirtualCamera,
        statuses: queue.SimpleQueue[CameraStatus],
        reporter: Reporter,
        seconds: float,
    ) -> None:
        self._camera, self._statuses, self._reporter = camera, statuses, reporter
        self._seconds = seconds
        self._latest, self._metrics = LatestValue(), StreamMetrics()
        self._problem: Problem | None = None
        self._paused = False  # while no program reads the camera
        self._pictures = 1  # pictures of the source
        self._step_at = 0.0  # when the next picture of a folder is due
        self._report_at = 0.0
        self._running = ""
        events = LoopEvents(
            problem=self._failed, info_changed=self._source_info, status=self._source_status
        )
        self._loop = FrameLoop(engine, self._latest, self._metrics, events)
        choice = camera.choice
        self._loop.set_least_size(choice.width, choice.height)
        self._loop.set_volume(0)  # a call that shows a film has its own sound

    def run(self, source: FrameSource, config: EngineConfig, stopped: Callable[[], bool]) -> None:
        """Stream until `stopped()` is true, then close the source.

        Raises:
            StreamError: If the stream reported a problem.
        """
        loop = self._loop
        loop.wanted = config
        self._metrics.start(source.kind)
        try:
            loop.open(source)
            loop.configure(config)
            self._step_at = time.perf_counter() + self._seconds
            while not stopped():
                self._follow_camera()
                loop.step()
                if self._problem is not None:
                    raise StreamError(self._problem.summary)
                now = time.perf_counter()
                self._show(now)
                if self._pictures > 1 and now >= self._step_at and not self._paused:
                    self._step_at = now + self._seconds
                    loop.step_source(1)
        finally:
            loop.close()

    def _follow_camera(self) -> None:
        """Report the camera's state, and pause the source while no program reads the camera."""
        while not self._statuses.empty():
            status = self._statuses.get()
            if status.state is State.FAILED:
                raise StreamError(f"the virtual camera {status}")
            self._reporter.camera(status)
            self._paused = status.state is State.PAUSED
            self._loop.pause(self._paused)

    def _show(self, now: float) -> None:
        styled = self._latest.take()
        if styled is not None:
            self._camera.show(styled.frame.pixels)
            self._metrics.displayed(styled, now, 0.0)
            self._running = str(styled.running)
        if self._running and now >= self._report_at:
            self._report_at = now + REPORT_S
            fps = self._metrics.stats(now).processed_fps
            self._reporter.rate(fps, self._camera.sent, self._running)

    def _failed(self, problem: Problem) -> None:
        self._problem = problem

    def _source_info(self, info: SourceInfo) -> None:
        self._pictures = info.count
        self._loop.know_picture(info)  # the command's scene or mask is for every picture

    def _source_status(self, status: str) -> None:
        if status:
            self._reporter.note(status)
