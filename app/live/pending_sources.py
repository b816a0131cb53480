"""Sources that were opened for the engine's thread and have not reached it yet."""

from __future__ import annotations

import threading

from app.frame import FrameSource


class PendingSources:
    """Open sources not yet owned by the worker; the session's end closes them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: list[FrameSource] = []
        self._closed = False

    def add(self, source: FrameSource) -> bool:
        """Keep an open source until removed; after `close`, close it and return False."""
        with self._lock:
            if not self._closed:
                self._sources.append(source)
                return True
        source.close()
        return False

    def remove(self, source: FrameSource) -> None:
        with self._lock:
            self._sources = [kept for kept in self._sources if kept is not source]

    def close(self) -> None:
        """Close every remaining source, and any that is added from now on."""
        with self._lock:
            self._closed = True
            sources, self._sources = self._sources, []
        for source in sources:
            source.close()
