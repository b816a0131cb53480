"""A deleted window frees everything it held: pictures of a stream are large."""

from __future__ import annotations

import gc
import weakref

from PySide6.QtCore import QCoreApplication, QEvent

from app.settings import Settings
from app.ui.main_window import MainWindow
from tests.helpers.sessions import end
from tests.helpers.windows import show_window


def test_nothing_keeps_a_window_that_was_deleted(session, picture, qtbot):
    window = MainWindow(session, Settings(), lambda _: None)
    show_window(window, qtbot)
    with qtbot.waitSignal(session.styled, timeout=5000):
        session.open(str(picture))
    left = [weakref.ref(part) for part in (window, window.viewport, window.film_exporter)]
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    del window
    end(session)
    gc.collect()
    assert [part() for part in left] == [None, None, None]
