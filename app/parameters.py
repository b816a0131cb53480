"""The one table of parameters that change the look or the speed; imports nothing slow.

A field of `Parameters` with a row is a control. EngineConfig and Settings inherit the field. The
row generates the control in the panel, the flag with its help, and the metadata of saved pictures.
Only its effect has to be implemented, in `app/engine`.

Fields without a row have controls and flags of their own, because their options are found at run
time (styles, devices) or need PyTorch (kernels).
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from typing import Any, TypeVar

from app.errors import StyleForgeError
from app.options import (
    DEFAULT_MIX_AMOUNT,
    EVERYTHING,
    NAMED_DIRECTIONS,
    NETWORKS,
    PAINTED,
    RESTS,
    SCENE_AS_IT_IS,
    STROKES,
    UPSAMPLING,
    Option,
    direction_of,
)
from utils.stroke_directions import (
    HAND,
    MOST_HANDLES,
    Handle,
    Handles,
    are_handles,
    format_handles,
    parse_handles,
)
from utils.translation.mnemonics import without_mnemonic

T = TypeVar("T")

_ROW = "row"  # the key of a parameter in its field's metadata

AUTO = "auto"  # the value of an amount that the engine chooses


class Group(StrEnum):
    """Headings of the panel, from top to bottom.

    PERSON has a window of its own, and ENGINE a place in the speed test.
    """

    STYLE = "Style"
    STROKES = "Strokes and texture"
    COLORS = "Colors"
    MOTION = "Motion"
    PERSON = "Person and background"
    ENGINE = "Engine"


class Stage(Enum):
    """The place in the pipeline where a parameter takes effect."""

    NETWORK = "network"  # a change needs another run of the network
    FINISHING = "finishing"  # applied to the network's result; a change needs no new run


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One row of the table; its field has the name and the default value.

    Attributes:
        label: text in the panel, "&" before the mnemonic.
        title: accessible name; by default `label` without its mnemonic.
        help: help text of the flag of `stylize` and, with `window_flag`, of the window; empty for
            no flag.
        of_streams: whether it concerns only streams, so that `stylize` has no flag.
        metadata: key in the metadata of saved pictures; empty for none.
        persisted: whether the settings file stores the value.
    """

    label: str
    tip: str
    group: Group
    stage: Stage
    title: str = ""
    help: str = ""
    window_flag: bool = True
    of_streams: bool = False
    metadata: str = ""
    persisted: bool = True

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", without_mnemonic(self.label))

    def valid(self, value: object) -> bool:
        raise NotImplementedError

    def text(self, value: Any) -> str:
        raise NotImplementedError

    def stored(self, value: Any) -> Any:
        """Return `value` as JSON and flags have it."""
        return value

    def restored(self, stored: object) -> object:
        """Return the value of what `stored` returned; anything else is returned as it is."""
        return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class FractionParameter(Parameter):
    """A number from 0 to 1, shown as a slider in percent; `zero` is shown instead of "0 %"."""

    zero: str = "0 %"

    def valid(self, value: object) -> bool:
        return isinstance(value, float) and 0 <= value <= 1

    def text(self, value: float) -> str:
        return f"{value:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountParameter(Parameter):
    """A number from 0 to 1, or AUTO to let the engine choose.

    It is a slider in percent, with `zero` for "0 %", whose left end stands for AUTO.
    """

    zero: str = "0 %"

    def valid(self, value: object) -> bool:
        return value == AUTO or (isinstance(value, float) and 0 <= value <= 1)

    def text(self, value: float | str) -> str:
        return value if isinstance(value, str) else f"{value:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionParameter(Parameter):
    """A key of STROKE_DIRECTIONS except ONE_WAY, an angle, or AUTO to let the style choose.

    It is a drop-down list, with a slider `angle` for the option ONE_WAY. Angles are in degrees,
    counterclockwise from the horizontal, and less than HALF_TURN. With HAND, strokes lie as the
    handles say, and as with FOLLOW before there is one.
    """

    automatic: Option
    angle: str

    @property
    def angle_title(self) -> str:
        return without_mnemonic(self.angle)

    def valid(self, value: object) -> bool:
        named = (AUTO, *NAMED_DIRECTIONS)
        return not isinstance(value, int) and direction_of(value, named) is not None

    def text(self, value: float | str) -> str:
        if isinstance(value, str):
            return value
        return f"{value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlesParameter(Parameter):
    """The handles of strokes that are combed by hand, a tuple of at most MOST_HANDLES.

    They are set on the picture; the control removes them all.
    """

    def valid(self, value: object) -> bool:
        return are_handles(value)

    def text(self, value: Handles) -> str:
        return format_handles(value)

    def stored(self, value: Handles) -> str:
        """Return `value` as JSON and flags have it."""
        return format_handles(value)

    def restored(self, stored: object) -> object:
        """Return the handles of a text; anything else is returned as it is."""
        try:
            return parse_handles(stored) if isinstance(stored, str) else stored
        except ValueError:
            return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchParameter(Parameter):
    """A boolean, shown as a check box."""

    def valid(self, value: object) -> bool:
        return isinstance(value, bool)

    def text(self, value: bool) -> str:
        return "yes" if value else "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParameter(Parameter):
    """A key of `options`, shown as a drop-down list.

    With `checked`, one key of two options, it is a check box that selects this option when checked.
    """

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
    """The table, and a value for every parameter.

    `style` is the key of a style, `kernels` one of models.transformer_net.ALL_VARIANTS, `device` is
    "auto" or a PyTorch device string. Flags and metadata follow the order of the rows; within a
    group of the panel, check boxes come last.
    """

    style: str = "candy"
    kernels: str = "fused"
    device: str = "auto"
    strength: float = _row(
        1.0,
        FractionParameter(
            label="S&trength",
            tip="Strength of the style; 0 % is the original",
            group=Group.STYLE,
            stage=Stage.FINISHING,
            help="0 is the original picture, 1 the full style",
            window_flag=False,
            metadata="Strength",
        ),
    )
    keep_colors: bool = _row(
        False,
        SwitchParameter(
            label="Keep &colors",
            tip="Combine the brightness of the styled picture with the colors of the source",
            group=Group.COLORS,
            stage=Stage.FINISHING,
            help="keep the picture's own colors",
            window_flag=False,
            metadata="Keep colors",
        ),
    )
    network: str = _row(
        "auto",
        ChoiceParameter(
            label="Style &version",
            tip="Fine has more detail, fast gives more pictures a second",
            group=Group.ENGINE,
            stage=Stage.NETWORK,
            options=NETWORKS,
            help="version of the style: full (fine) or lite (fast)",
        ),
    )
    mix_amount: float = _row(
        DEFAULT_MIX_AMOUNT,
        FractionParameter(
            label="&Mix share",
            title="Share of the second style",
            tip="0 % is the first style alone, 100 % the second",
            group=Group.STYLE,
            stage=Stage.NETWORK,
        ),
    )
    strokes: str = _row(
        "medium",
        ChoiceParameter(
            label="St&roke width",
            tip="Fine strokes show more detail and take longer",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            options=STROKES,
            help="width of the strokes",
            metadata="Strokes",
        ),
    )
    keep_strokes: bool = _row(
        False,
        SwitchParameter(
            label="Keep stroke &width",
            tip="Keep strokes as wide as with automatic detail, whatever the detail",
            group=Group.STROKES,
            stage=Stage.NETWORK,
        ),
    )
    texture: float | str = _row(
        AUTO,
        AmountParameter(
            label="T&exture",
            tip="Paints skies, walls and other flat parts, which stay smooth without it. "
            "Auto uses the style's own amount, or less in streams to keep them steady",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            zero="Off",
            help="how much to paint where the picture is flat, 0 to 1, or auto for the style's own "
            "amount",
            metadata="Texture",
        ),
    )
    strokes_direction: float | str = _row(
        AUTO,
        DirectionParameter(
            label="&Brushwork",
            tip="How strokes lie in skies, walls and other flat parts",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            automatic=Option("As the style", "The direction that suits the style"),
            angle="Turned b&y",
            help="how strokes lie where the picture is flat: none (as they are), follow (along the "
            "lines of the picture), swirl, hand (by --strokes-handles), an angle in degrees, or "
            "auto for the style's own direction",
            metadata="Brushwork",
        ),
    )
    strokes_handles: tuple[Handle, ...] = _row(
        (),
        HandlesParameter(
            label="Remove handles (&J)",
            title="Strokes by hand",
            tip="Remove all handles, so that strokes follow the picture again",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            help="directions of strokes at places of the picture: x,y,angle of up to "
            f"{MOST_HANDLES} handles, separated by semicolons, with x and y from 0 to 1 from the "
            "top left and the angle in degrees counterclockwise",
            metadata="Strokes by hand",
        ),
    )
    strokes_length: float | str = _row(
        AUTO,
        AmountParameter(
            label="Stroke lengt&h",
            tip="How long strokes with a direction are",
            group=Group.STROKES,
            stage=Stage.NETWORK,
            zero="Short",
            help="how long strokes with a direction are, 0 to 1, or auto for the style's own "
            "length",
            metadata="Stroke length",
        ),
    )
    upsampling: str = _row(
        "guided",
        ChoiceParameter(
            label="Keep &fine detail",
            tip="Restore edges and fine detail of the original, where the painting is coarser",
            group=Group.STROKES,
            stage=Stage.FINISHING,
            options=UPSAMPLING,
            checked="guided",
            help="how to upsample a result that is smaller than the picture",
            metadata="Upsampling",
        ),
    )
    smoothing: float = _row(
        0.0,
        FractionParameter(
            label="Less flic&ker",
            tip="Reduces flicker in streams by following their motion",
            group=Group.MOTION,
            stage=Stage.FINISHING,
            zero="Off",
            help="strength of the flicker reduction for a video, or for pictures that are "
            "consecutive frames",
        ),
    )
    fluid: bool = _row(
        True,
        SwitchParameter(
            label="F&luid",
            tip="Show every frame of a slow stream: until the next painting is there, the last one "
            "moves with the scene",
            group=Group.MOTION,
            stage=Stage.FINISHING,
            help="move the last painting with the scene while the next one is painted",
            of_streams=True,
        ),
    )
    paint: str = _row(
        EVERYTHING,
        ChoiceParameter(
            label="&Paint",
            tip="What is painted, once the program knows the empty scene or has a network that "
            "finds people",
            group=Group.PERSON,
            stage=Stage.FINISHING,
            options=PAINTED,
            help="what to paint: all, only the person or only the background; needs --background "
            "or --matte",
            window_flag=False,
            metadata="Painted",
            persisted=False,
        ),
    )
    rest: str = _row(
        SCENE_AS_IT_IS,
        ChoiceParameter(
            label="Unpain&ted",
            tip="What is shown in place of what is not painted",
            group=Group.PERSON,
            stage=Stage.FINISHING,
            options=RESTS,
            help="what is around the painted part: the picture, or green for programs that replace "
            "it",
            window_flag=False,
            metadata="Unpainted",
        ),
    )
    feather: float = _row(
        0.0,
        FractionParameter(
            label="Soft &edge",
            tip="How softly the painted part fades into the rest",
            group=Group.PERSON,
            stage=Stage.FINISHING,
            zero="Sharp",
            help="how softly the painted part fades into the rest, 0 to 1",
            window_flag=False,
        ),
    )
    swap_matte: bool = _row(
        False,
        SwitchParameter(
            label="S&wap person and background",
            tip="For networks whose masks mark the background",
            group=Group.PERSON,
            stage=Stage.FINISHING,
            help="swap person and background, for networks whose masks mark the background",
            window_flag=False,
        ),
    )


PARAMETERS: dict[str, Parameter] = {
    each.name: each.metadata[_ROW] for each in fields(Parameters) if _ROW in each.metadata
}

MATTED = tuple(name for name, row in PARAMETERS.items() if row.group is Group.PERSON)

CHOICES: dict[str, Mapping[str, Option]] = {
    name: row.options for name, row in PARAMETERS.items() if isinstance(row, ChoiceParameter)
}


def parameter_values(parameters: Parameters) -> dict[str, Any]:
    """Return the values of all fields of the table by name, including fields without a row."""
    return {each.name: getattr(parameters, each.name) for each in fields(Parameters)}


def given_values(options: Namespace) -> dict[str, Any]:
    """Return the values of the rows whose flags were passed or have a default, by name.

    Raises:
        StyleForgeError: If flags contradict each other. The message is one sentence.
    """
    flags = {name: getattr(options, name, None) for name in PARAMETERS}
    try:
        return combed({name: value for name, value in flags.items() if value is not None})
    except ValueError as exc:
        raise StyleForgeError(str(exc)) from exc


def combed(values: dict[str, Any]) -> dict[str, Any]:
    """Return given values of rows by name; handles without a direction comb strokes by hand.

    Raises:
        ValueError: If there are handles and another direction. The message is one sentence.
    """
    direction = values.get("strokes_direction", AUTO)
    if not values.get("strokes_handles") or direction == HAND:
        return values
    if direction != AUTO:
        raise ValueError(f"handles comb strokes with the direction {HAND} only, not {direction}")
    return {**values, "strokes_direction": HAND}


def stored_value(name: str, value: Any) -> Any:
    """Return the value of a field of `Parameters`, or of a class that extends it, for JSON."""
    return PARAMETERS[name].stored(value) if name in PARAMETERS else value


def restored_value(name: str, stored: Any) -> Any:
    """Return the value of a field from the output of `stored_value`, not checked."""
    return PARAMETERS[name].restored(stored) if name in PARAMETERS else stored
