"""Contrast of every pair of colors that the style sheet combines, in both themes."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import product

import pytest

from app.ui.theme.theme import style_sheet
from app.ui.theme.tokens import DARK, LIGHT, Tokens
from app.ui.viewport.text_painting import FAINT, INK, SHADE
from tests.app.ui.widgets.test_theme import contrast

TEXT, GRAPHICS = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11
NAMES = [field.name for field in fields(Tokens)]
NAMED = Tokens(**{name: "light" if name == "name" else f"@{name}" for name in NAMES})

# The backgrounds behind a rule that has none of its own.
SURFACES = ("window", "panel")
BACKGROUNDS = {
    "#problem QLabel": ("alert",),
    "#notice QLabel": ("calm",),
    "#question QLabel": ("panel",),
    "#job QLabel": ("calm",),
    "QMenu": ("raised",),
    "QComboBox": ("raised",),
    "QLineEdit": ("raised",),
    "QToolButton": ("raised",),
    "QPushButton": ("raised",),
}
# Pairs that widgets paint themselves with the palette, see `app.ui.theme.theme.palette`.
PAINTED = {
    *product(("text", "muted"), ("canvas", "window", "panel", "raised", "hover")),
    *product(("fault",), ("window", "panel", "raised", "hover")),
    ("on_accent", "accent"),
}
INACTIVE = ("disabled",)  # WCAG demands no contrast for inactive controls

RULES = [
    (selector.strip(), body)
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style_sheet(NAMED, 10.0))
    for selector in selectors.split(",")
]


def tokens_of(body: str, attribute: str) -> set[str]:
    found = re.findall(rf"(?<![-\w]){attribute}: [^;]*@(\w+)", body)
    return set(found)


def backgrounds(selector: str, body: str) -> tuple[str, ...]:
    own = tokens_of(body, "background")
    if own:
        return tuple(own)
    for start, behind in BACKGROUNDS.items():
        if selector.startswith(start):
            return behind
    return SURFACES


def text_pairs() -> set[tuple[str, str]]:
    return PAINTED | {
        pair
        for selector, body in RULES
        for pair in product(tokens_of(body, "color"), backgrounds(selector, body))
        if pair[0] not in INACTIVE
    }


def graphic_pairs() -> set[tuple[str, str]]:
    """Return the pairs for borders of fields and of the focus, and for visible fills."""
    found = set()
    for selector, body in RULES:
        if selector.endswith(":focus"):
            for border in tokens_of(body, "border") | tokens_of(body, "border-color"):
                found |= set(product([border], SURFACES))
        if "border: 1px solid" in body and not selector.startswith("QMenu"):
            # The key on a card of the first page has a raised background.
            around = ("raised", *SURFACES) if selector.startswith("QLabel") else SURFACES
            found |= set(product(tokens_of(body, "border"), around))
        filled = "::chunk", "::groove", "::sub-page:", "::handle", "::indicator:checked"
        if any(part in selector for part in filled):
            found |= set(product(tokens_of(body, "background"), SURFACES))
    return found


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_text_has_contrast_to_what_is_behind_it(tokens: Tokens):
    pairs = text_pairs()
    assert {("text", "raised"), ("muted", "panel"), ("on_alert", "alert")} <= pairs
    low = [
        (front, back, round(contrast(getattr(tokens, front), getattr(tokens, back)), 2))
        for front, back in sorted(pairs)
        if contrast(getattr(tokens, front), getattr(tokens, back)) < TEXT
    ]
    assert low == []


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_what_tells_the_focus_or_a_value_has_contrast_to_what_is_around_it(tokens: Tokens):
    pairs = graphic_pairs()
    assert {("accent", "panel"), ("text", "panel"), ("outline", "panel")} <= pairs
    low = [
        (front, back, round(contrast(getattr(tokens, front), getattr(tokens, back)), 2))
        for front, back in sorted(pairs)
        if contrast(getattr(tokens, front), getattr(tokens, back)) < GRAPHICS
    ]
    assert low == []


def test_text_over_pictures_has_contrast_even_over_white():
    share = SHADE.alphaF()
    behind = [
        round(share * shade + (1 - share) * 255)
        for shade in (SHADE.red(), SHADE.green(), SHADE.blue())
    ]
    back = "#" + "".join(f"{value:02x}" for value in behind)
    for ink in (INK, FAINT):
        assert contrast(ink.name(), back) >= TEXT
