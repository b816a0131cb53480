"""A screen reader gets a name, a role and a value or state for every control."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QAccessible

from app.ui.actions import ACTIONS
from tests.app.ui.window.surfaces import accessible, controls, daily, descendants, menus, opened

Role, Text = QAccessible.Role, QAccessible.Text

VALUED = {Role.Slider, Role.ProgressBar, Role.SpinBox}
NAMELESS = {Role.NoRole, Role.Client, Role.Window, Role.Pane}  # roles that say nothing


@pytest.mark.parametrize("name", daily(1))
def test_every_control_has_a_name_a_role_and_what_it_is_set_to(streaming, name):
    surface = opened(streaming, name)
    found = controls(surface)
    assert found
    for control in found:
        told = accessible(control)
        assert told.text(Text.Name), control
        assert told.role() not in NAMELESS, control
        assert told.state().focusable, control
        if told.role() in VALUED:
            assert told.valueInterface() is not None, control
        if told.role() == Role.CheckBox:
            assert told.state().checkable, control
        if told.role() == Role.ComboBox and control.count():  # type: ignore[attr-defined]
            assert told.text(Text.Value) or control.currentIndex() < 0, control  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", daily(0))
def test_everything_that_takes_the_focus_has_a_name(streaming, name):
    """This includes custom widgets and the items and tabs that Qt creates inside views."""
    surface = opened(streaming, name)
    focusable = [each for each in descendants(accessible(surface)) if each.state().focusable]
    assert focusable
    nameless = [
        (each.role(), each.object())
        for each in focusable
        if not each.text(Text.Name) and each.role() not in (Role.ScrollBar, Role.Grip)
    ]
    assert nameless == []


def test_a_state_that_changes_is_told(streaming):
    panel = streaming.panel
    slider = panel.controls["strength"]
    value = accessible(slider).valueInterface()
    slider.setValue(30)
    assert value.currentValue() == 30
    assert (value.minimumValue(), value.maximumValue()) == (0, 100)
    check = next(c for c in panel.controls.values() if accessible(c).role() == Role.CheckBox)
    before = accessible(check).state().checked
    check.click()
    assert accessible(check).state().checked != before
    check.click()
    streaming.actions_by_key["open"].setEnabled(False)
    assert accessible(streaming.toolbar.button("open")).state().disabled
    streaming.actions_by_key["open"].setEnabled(True)


def test_every_command_of_the_menu_is_told_with_its_name(streaming):
    told: set[str] = set()
    for each in menus(streaming.toolbar.menu):
        menu = accessible(each)
        told |= {menu.child(index).text(Text.Name) for index in range(menu.childCount())}
    left_out = {"menu", *(f"style_{number}" for number in range(1, 10))}
    titles = {streaming.actions_by_key[e.key].text() for e in ACTIONS if e.key not in left_out}
    assert titles <= told
