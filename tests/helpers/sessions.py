"""Clean-up of a test's sessions."""

from __future__ import annotations

import gc

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent

from app.live.session import Session


def end(session: Session) -> None:
    """Shut a session down, delete the windows that the test has closed, then delete the session.

    A signal's connections live as long as its sender: a session that is not deleted keeps every
    window it was shown in alive, with their pictures. Python's collector deletes those windows. It
    runs here, not while Qt iterates over all widgets to create the next window.
    """
    if not shiboken6.isValid(session):
        return  # the test has already ended it
    session.shutdown()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    shiboken6.delete(session)
    gc.collect()
