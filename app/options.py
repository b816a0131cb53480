"""The tables of what can be chosen by name: the network, the strokes, the way back to the frame.

Menus, flags and the settings read them; what a choice does is decided where it is done.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """`title` is its name, `remark` says in a line what choosing it means."""

    title: str
    remark: str


STROKE_SIZE = 384  # long side, in pixels, of the network's input that gives strokes of medium width


@dataclass(frozen=True, slots=True)
class Stroke(Option):
    """`scale` multiplies STROKE_SIZE, or a size chosen by hand: strokes have a fixed width in the
    network's input, so a larger input makes them finer."""

    scale: float


NETWORKS: dict[str, Option] = {
    "auto": Option("Automatic", "Lite where the full network is below 15 fps"),
    "full": Option("Full", "The network as published"),
    "lite": Option("Lite", "Narrower layers: faster, a little coarser"),
}

STROKES: dict[str, Stroke] = {
    "fine": Stroke("Fine", "Takes about twice as long", 1.5),
    "medium": Stroke("Medium", "As the style was trained", 1.0),
    "bold": Stroke("Bold", "Takes about a third of the time", 0.6),
}

UPSAMPLING: dict[str, Option] = {
    "guided": Option("Sharpen to frame", "Takes edges and fine detail from the frame"),
    "smooth": Option("Smooth", "Only scales the result up"),
}
