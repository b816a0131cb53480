"""Detection of programs that read from a device of v4l2loopback.

The driver (from version 0.13 on) sends subscribers an event when a program begins or ends to
capture. The numbers come from linux/videodev2.h and from v4l2loopback itself. No header has its
event; earlier Ubuntu kernels gave it another number.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

_SUBSCRIPTION = struct.Struct("=3I20x")  # v4l2_event_subscription: type, id, flags, reserved
_EVENT = struct.Struct("=I4xI124x")  # v4l2_event on 64 bits: type, the first number of its union
_DQEVENT = 2 << 30 | _EVENT.size << 16 | ord("V") << 8 | 89
_SUBSCRIBE = 1 << 30 | _SUBSCRIPTION.size << 16 | ord("V") << 8 | 90
_SEND_INITIAL = 1  # a flag that requests the present state too
_PRIVATE_START = 0x08000000
CLIENT_USAGE = _PRIVATE_START + 0x08E00000 + 1
CLIENT_USAGE_OF_UBUNTU = _PRIVATE_START


class LoopbackReaders:
    """The programs that capture from a device, such as "/dev/video2".

    Raises:
        OSError: If the driver has no such event, or the device cannot be opened.
    """

    def __init__(self, device: str) -> None:
        self._file = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._reading: bool | None = None
        try:
            self._subscribe()
        except OSError:
            self.close()
            raise

    @property
    def reading(self) -> bool | None:
        """Whether a program captures now; None before the driver's first event. Does not wait."""
        while (event := self._next_event()) is not None:
            kind, count = event
            if kind in (CLIENT_USAGE, CLIENT_USAGE_OF_UBUNTU):
                self._reading = count > 0
        return self._reading

    def close(self) -> None:
        """Close the device; call once."""
        os.close(self._file)

    def _subscribe(self) -> None:
        try:
            fcntl.ioctl(self._file, _SUBSCRIBE, _SUBSCRIPTION.pack(CLIENT_USAGE, 0, _SEND_INITIAL))
        except OSError as exc:
            if exc.errno != errno.EINVAL:  # no event has this number
                raise
            asked = _SUBSCRIPTION.pack(CLIENT_USAGE_OF_UBUNTU, 0, _SEND_INITIAL)
            fcntl.ioctl(self._file, _SUBSCRIBE, asked)

    def _next_event(self) -> tuple[int, int] | None:
        """Return the number of the oldest event and its count; None if no event is waiting."""
        event = bytearray(_EVENT.size)
        try:
            fcntl.ioctl(self._file, _DQEVENT, event)
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.EAGAIN):
                return None
            raise
        kind, count = _EVENT.unpack(event)
        return kind, count
