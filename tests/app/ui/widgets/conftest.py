"""Fixtures for the parts of the window."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.theme.theme import Theme


@pytest.fixture
def theme(qapp: QApplication, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    theme = Theme(qapp, window)
    yield theme
    theme.choice = "system"
