"""Nothing moves by itself if the user asks for reduced motion."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from app.ui.player import recording_light
from app.ui.theme import motion
from tests.app.ui.window.conftest import press


def dots(window, monkeypatch) -> set[str]:
    """Return the colors of the recording dot over four seconds."""
    seen = set()
    light = window.recording_light
    light.show()
    for second in range(4):
        monkeypatch.setattr(recording_light.time, "monotonic", lambda s=second: float(s))
        image = light.grab().toImage()
        ratio = image.devicePixelRatio()
        x, y = int((8 + recording_light._DOT // 2) * ratio), image.height() // 2
        seen.add(QColor(image.pixel(x, y)).name())
    monkeypatch.undo()
    light.hide()
    return seen


def test_a_recording_blinks_and_work_is_busy_unless_motion_is_reduced(
    streaming, saved, monkeypatch, qtbot
):
    assert len(dots(streaming, monkeypatch)) == 2
    streaming.job._show()
    assert streaming.job.progress.maximum() == 0  # an indeterminate bar
    press(streaming, "reduce_motion")
    assert streaming.actions_by_key["reduce_motion"].isChecked()
    for part in (streaming.recording_light, streaming.job.progress):
        qtbot.waitUntil(lambda part=part: not motion.moves(part))
    assert len(dots(streaming, monkeypatch)) == 1
    streaming.job._show()
    assert streaming.job.progress.maximum() == 1
    streaming.film.show_export("12 frames", 0.5)
    streaming.film._show()
    assert streaming.film.progress.value() == 50
    streaming.close()
    assert saved[-1].reduce_motion


@pytest.mark.parametrize("effects", [True, False])
def test_the_systems_wish_counts_where_qt_tells_it(qapp, monkeypatch, effects):
    asked = []

    def enabled(effect: Qt.UIEffect) -> bool:
        asked.append(effect)
        return effects

    monkeypatch.setattr(QApplication, "isEffectEnabled", enabled)
    monkeypatch.setattr(motion.sys, "platform", "win32")
    assert motion.system_is_still() == (not effects)
    assert asked == [Qt.UIEffect.UI_General]
    monkeypatch.setattr(motion.sys, "platform", "linux")
    assert not motion.system_is_still()
