"""Menus are short, say what is inside, and list the styles by name."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QStyleOptionToolButton

from app.ui.widgets.main_menu import MOST
from tests.app.ui.window.conftest import KEYS
from tests.app.ui.window.surfaces import menus
from utils.translation.mnemonics import without_mnemonic


def test_no_menu_has_more_than_twelve_entries(window):
    window.styles_by_name.fill()
    counts = {menu.title(): len(menu.actions()) for menu in menus(window.toolbar.menu)}
    assert len(counts) > 10
    assert MOST == 12
    assert {title: count for title, count in counts.items() if not 0 < count <= MOST} == {}


def color_of(icon: QIcon) -> str:
    """Return the color of the most opaque pixel of a checked icon."""
    image = icon.pixmap(24, QIcon.Mode.Normal, QIcon.State.On).toImage()
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    return max(pixels, key=lambda color: color.alpha()).name()


def test_the_icon_of_the_current_view_is_seen_in_the_menu_and_on_its_button(window):
    tokens, action = window.theme.tokens, window.actions_by_key["view_styled"]
    action.setChecked(True)
    assert color_of(action.icon()) == QColor(tokens.accent).name()
    button = next(each for each in window.toolbar._views if each.defaultAction() is action)
    option = QStyleOptionToolButton()
    button.initStyleOption(option)
    assert color_of(option.icon) == QColor(tokens.on_accent).name()


def test_styles_are_listed_by_name_and_run(window, session):
    window.styles_by_name.fill()
    listed = window.styles_menu.actions()
    assert [without_mnemonic(a.text()).split("\t")[0] for a in listed] == [k.title() for k in KEYS]
    assert [action.isChecked() for action in listed] == [True, False, False]
    listed[2].trigger()
    assert session.config.style == "udnie"
    texts = {action.text() for menu in menus(window.toolbar.menu) for action in menu.actions()}
    assert not {f"Style {number}" for number in range(1, 10)} & texts


def test_many_styles_are_in_menus_of_twelve(window, session, monkeypatch):
    found = session.catalog.styles
    many = tuple(replace(found[0], key=f"style{n}", title=f"Title {n}") for n in range(30))
    monkeypatch.setattr(type(session.catalog), "styles", property(lambda _: many))
    for _ in range(2):  # the second time, nothing is left of the first
        window.styles_by_name.fill()
    shown = [window.styles_menu, *(a.menu() for a in window.styles_menu.actions() if a.menu())]
    inner = list(menus(window.styles_menu))
    assert len(shown) == 2
    assert all(len(menu.actions()) <= MOST for menu in inner)
    texts = [a.text().split("\t")[0] for menu in inner for a in menu.actions() if not a.menu()]
    assert sorted(texts) == sorted(style.title for style in many)
