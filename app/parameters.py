"""The one table of what changes the look or the speed of a picture; imports nothing slow.

A field of `Parameters` that carries a row is a control: it appears in the engine's config and the
settings, which inherit it, and from its row in the panel, among the flags, in their help and in
the metadata of saved pictures. All that is left to write is what it does, in `app/engine`.

Fields without a row are chosen by controls and flags of their own: what they offer is found at run
time (styles, devices) or needs PyTorch (kernels).
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from typing import Any, TypeVar

from app.mixing import HALF
from app.options import NETWORKS, STROKES, UPSAMPLING, Option

T = TypeVar("T")

_ROW = "row"  # the key of a parameter in its field's metadata


class Group(StrEnum):
    """The headings of the panel, from the top."""

    STYLE = "Style"
    DETAIL = "Detail"
    MOTION = "Motion"
    SPEED = "Speed"


class Stage(Enum):
    """Where a parameter takes effect."""

    NETWORK = "network"  # a change needs another picture of the network
    FINISHING = "finishing"  # applied to the network's picture; a change needs no new one


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One row of the table. Its name and its default are those of its field.

    `label` is its text in the panel, "&" before the letter of its key; `title` is what a screen
    reader says, `label` without "&" where it is empty. `tip` is the tooltip. `help` explains the
    flag --name of `stylize` and, with `window_flag`, of the window; empty for no flag. `metadata`
    is the key of its value in saved pictures; empty for none. What is not `persisted` has its
    default again when the program starts.
    """

    label: str
    tip: str
    group: Group
    stage: Stage
    title: str = ""
    help: str = ""
    window_flag: bool = True
    metadata: str = ""
    persisted: bool = True

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.label.replace("&", ""))

    def valid(self, value: object) -> bool:
        """Whether `value` may be chosen."""
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """A valid `value` as it stands in the metadata of a saved picture."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class FractionParameter(Parameter):
    """A number of 0 to 1: a slider in percent. `zero` is shown in place of "0 %"."""

    zero: str = "0 %"

    def valid(self, value: object) -> bool:
        return isinstance(value, float) and 0 <= value <= 1

    def text(self, value: float) -> str:
        return f"{value:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchParameter(Parameter):
    """On or off: a check box."""

    def valid(self, value: object) -> bool:
        return isinstance(value, bool)

    def text(self, value: bool) -> str:
        return "yes" if value else "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParameter(Parameter):
    """A key of `options`: a drop-down list; of two options with `checked`, one of their keys, a
    check box that chooses this one where it is checked."""

    options: Mapping[str, Option]
    checked: str = ""

    def valid(self, value: object) -> bool:
        return isinstance(value, str) and value in self.options

    def text(self, value: str) -> str:
        return self.options[value].title


def _row(default: T, parameter: Parameter) -> T:
    return field(default=default, metadata={_ROW: parameter})


@dataclass(frozen=True, slots=True)
class Parameters:
    """The table, and a value of every parameter.

    `style` is the key of a style, `kernels` one of models.transformer_net.VARIANTS, `device` is
    "auto" or as PyTorch writes it. Flags and metadata stand in the order of the rows; within a
    group of the panel, check boxes come last.
    """

    style: str = "candy"
    kernels: str = "fused"
    device: str = "auto"
    strength: float = _row(
        1.0,
        FractionParameter(
            label="S&trength",
            tip="How much of the style: 0 % is the original",
            group=Group.STYLE,
            stage=Stage.FINISHING,
            help="0 is the picture, 1 the style",
            window_flag=False,
            metadata="Strength",
        ),
    )
    keep_colors: bool = _row(
        False,
        SwitchParameter(
            label="Keep &colors",
            tip="Take the brightness of the style and the colors of the source",
            group=Group.STYLE,
            stage=Stage.FINISHING,
            help="keep the picture's own colors",
            window_flag=False,
            metadata="Keep colors",
        ),
    )
    network: str = _row(
        "auto",
        ChoiceParameter(
            label="Net&work",
            tip="Its size: lite is faster, full is finer",
            group=Group.SPEED,
            stage=Stage.NETWORK,
            options=NETWORKS,
            help="its size",
        ),
    )
    mix_amount: float = _row(
        HALF,
        FractionParameter(
            label="Sh&are",
            title="Share of the second style",
            tip="0 % is the first style alone, 100 % the second",
            group=Group.STYLE,
            stage=Stage.NETWORK,
        ),
    )
    strokes: str = _row(
        "medium",
        ChoiceParameter(
            label="St&rokes",
            tip="How wide strokes are: the finer, the larger the picture the network sees",
            group=Group.DETAIL,
            stage=Stage.NETWORK,
            options=STROKES,
            help="how wide they are",
            metadata="Strokes",
        ),
    )
    upsampling: str = _row(
        "guided",
        ChoiceParameter(
            label="Sharpen to &frame",
            tip="Where the network sees a smaller picture, take edges and fine detail from the "
            "frame",
            group=Group.DETAIL,
            stage=Stage.FINISHING,
            options=UPSAMPLING,
            checked="guided",
            help="how a result smaller than the picture is brought to its size",
            metadata="Upsampling",
        ),
    )
    smoothing: float = _row(
        0.0,
        FractionParameter(
            label="Smoot&hing",
            tip="Steadies a stream where nothing moves, against flicker",
            group=Group.MOTION,
            stage=Stage.FINISHING,
            zero="Off",
            help="how far a video, or pictures that are its frames in order, is steadied where "
            "nothing moves",
        ),
    )


PARAMETERS: dict[str, Parameter] = {
    each.name: each.metadata[_ROW] for each in fields(Parameters) if _ROW in each.metadata
}

CHOICES: dict[str, Mapping[str, Option]] = {
    name: row.options for name, row in PARAMETERS.items() if isinstance(row, ChoiceParameter)
}


def values(parameters: Parameters) -> dict[str, Any]:
    """The value of every field of the table, with a row or without, by name."""
    return {each.name: getattr(parameters, each.name) for each in fields(Parameters)}


def given(options: Namespace) -> dict[str, Any]:
    """The value of every row whose flag the command line gives, or gives a default."""
    flags = {name: getattr(options, name, None) for name in PARAMETERS}
    return {name: value for name, value in flags.items() if value is not None}
