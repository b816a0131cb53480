"""The exposure of an open camera, in stops relative to its original exposure."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol

from utils.opencv import cv2
from utils.translation.texts import mark

NO_WAY = mark("This system's camera interface cannot set the exposure")
NOT_OFFERED = mark("This camera's driver cannot set the exposure")


class Properties(Protocol):
    """The methods of cv2.VideoCapture that exposure needs."""

    def set(self, prop: int, value: float, /) -> bool:
        """Set a cv2.CAP_PROP_* property; return False if the driver refuses it."""
        ...

    def get(self, prop: int, /) -> float:
        """Return a cv2.CAP_PROP_* property; 0 or -1 if it is unknown."""
        ...


@dataclass(frozen=True, slots=True)
class _Notation:
    """A system's exposure values: powers of two in s (DirectShow), multiples of 100 us (V4L2)."""

    manual: float
    auto: float
    logarithmic: bool


_NOTATIONS = {"linux": _Notation(1.0, 3.0, False), "win32": _Notation(0.0, 1.0, True)}


class ExposureControl:
    """The exposure of an open device; for the thread that reads it.

    `system` is as sys.platform; `reason` says why it cannot be set, "" if it can.
    """

    def __init__(self, capture: Properties, system: str = sys.platform) -> None:
        self._capture = capture
        self._notation = _NOTATIONS.get(system)
        self._stops: float | None = None  # in force
        self._base = 0.0  # the exposure before it was set by hand
        self.reason = self._refusal()

    def follow(self, stops: float | None) -> None:
        """Use an exposure, unless it is already in force or cannot be set.

        Each stop doubles or halves the time; 0 is the automatic exposure time at the moment it is
        left; None is automatic.
        """
        if stops == self._stops or self.reason:
            return
        notation = self._notation
        assert notation is not None  # otherwise there would be a reason
        if stops is None:
            self._capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, notation.auto)
        else:
            if self._stops is None:
                self._base = self._capture.get(cv2.CAP_PROP_EXPOSURE)
                self._capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, notation.manual)
            base = self._base
            time = base + stops if notation.logarithmic else max(1.0, round(base * 2.0**stops))
            self._capture.set(cv2.CAP_PROP_EXPOSURE, time)
        self._stops = stops

    def _refusal(self) -> str:
        if self._notation is None:
            return NO_WAY
        now = self._capture.get(cv2.CAP_PROP_EXPOSURE)
        known = now != 0 if self._notation.logarithmic else now > 0
        # Writing back the same value changes nothing; a driver without the switch refuses it.
        auto = self._capture.get(cv2.CAP_PROP_AUTO_EXPOSURE)
        if not known or not self._capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, auto):
            return NOT_OFFERED
        return ""
