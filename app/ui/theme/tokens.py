"""Design tokens: the colors and sizes of the light and dark themes."""

from __future__ import annotations

from dataclasses import dataclass

SPACE = 8  # px; every margin and gap is a multiple of half of it
RADIUS = 6  # px


@dataclass(frozen=True, slots=True)
class Tokens:
    """Colors as #rrggbb.

    Text has a contrast of at least 4.5:1 to its background (WCAG AA), `outline` and `accent` at
    least 3:1.
    """

    name: str  # "light" or "dark"
    canvas: str  # behind the picture
    window: str  # toolbar, gallery, status line
    panel: str
    raised: str  # buttons and fields
    hover: str
    line: str  # separators; decoration only
    outline: str  # the edge of a field
    text: str
    muted: str
    disabled: str
    accent: str
    on_accent: str
    alert: str  # background of the problem bar
    on_alert: str
    fault: str  # failure text, on the window or on a raised background
    calm: str  # background of notices and questions
    on_calm: str


DARK = Tokens(
    name="dark",
    canvas="#0d0e10",
    window="#17181b",
    panel="#1c1e22",
    raised="#2a2d33",
    hover="#353942",
    line="#2c2f36",
    outline="#757c89",
    text="#eceef1",
    muted="#a9b0bb",
    disabled="#6c7380",
    accent="#f59b4c",
    on_accent="#1b1206",
    alert="#5b1f24",
    on_alert="#ffe9e6",
    fault="#ff9e94",
    calm="#23384d",
    on_calm="#e6f1fb",
)

LIGHT = Tokens(
    name="light",
    canvas="#d5d8dd",
    window="#f3f4f6",
    panel="#fafafb",
    raised="#ffffff",
    hover="#e6e9ed",
    line="#d9dce2",
    outline="#7c8491",
    text="#1a1d22",
    muted="#4d5562",
    disabled="#8b929d",
    accent="#b4500f",
    on_accent="#ffffff",
    alert="#fbe0dd",
    on_alert="#6b1512",
    fault="#a3261f",
    calm="#dcebf9",
    on_calm="#10324f",
)
