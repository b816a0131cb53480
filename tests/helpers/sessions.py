"""Sessions of tests, which go with the test that they were made for."""

from __future__ import annotations

import gc

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent

from app.live.session import Session


def end(session: Session) -> None:
    """Shut a session down and delete it, and before it the windows that the test has closed.

    What is connected to a signal lives as long as its sender: a session that is left to itself
    keeps every window that it was shown in, and the pictures in them. Python's collector, which
    those windows are left to, is run here, and not in the middle of what Qt does with all widgets
    as the next window is made.
    """
    if not shiboken6.isValid(session):
        return  # the test has ended it itself
    session.shutdown()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    shiboken6.delete(session)
    gc.collect()
