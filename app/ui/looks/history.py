"""The history of choices in panel and gallery, for undo and redo."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, replace

from app.engine.config import EngineConfig
from app.options import EVERYTHING
from app.parameters import MATTED, PARAMETERS, Group
from utils.translation.texts import mark, tr

LIMIT = 100  # changes that can be undone
_WIDTH = frozenset({"strokes", "keep_strokes"})  # set by the slider of the stroke width
_SPEED = frozenset({"network", "size", "precision", "keep_strokes"})  # set by the speed slider
_SHARES = frozenset({"mix_amount", "mix_more"})  # set by the wheel
_STYLES = _SHARES | {"style", "mix"}
_PERSON = frozenset({"matte", *MATTED})  # set by the window of person and background
_TITLES = {
    "style": mark("Style"),
    "mix": mark("Mix"),
    "mix_more": mark("Mix"),
    "size": mark("Detail"),
    "precision": mark("Precision"),
    "kernels": mark("Engine"),
    "device": mark("Device"),
    "matte": Group.PERSON,
    **{name: row.title for name, row in PARAMETERS.items()},
}


def change_title(before: EngineConfig, after: EngineConfig) -> str:
    """Return the name of a change, as in "Undo Strength"; "" if nothing undoable changed."""
    changed = _changed(before, after)
    if not changed:
        return ""
    if len(changed) == 1:
        return tr(_TITLES[next(iter(changed))])
    if changed <= _WIDTH:
        return tr(_TITLES["strokes"])
    if changed <= _SHARES:
        return tr("Shares of the mix")
    if changed <= _STYLES:
        return tr("Style") if len(after.styles) == len(before.styles) == 1 else tr("Mix")
    if changed <= _PERSON:
        return tr(Group.PERSON)
    return tr("Smooth or sharp") if changed <= _SPEED else tr("Look")


class History:
    """A list of configs with one current; it ignores the speed test view.

    It stores whole configs rather than changes. An unusable one (the engine refused it, its style
    was removed) can therefore be dropped, and the others remain valid.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._kept = [_choice(config)]
        self._at = 0
        # The gesture that chose the current config, and the fields it changes.
        self._gesture: tuple[int, frozenset[str]] | None = None

    @property
    def current(self) -> EngineConfig:
        return self._kept[self._at]

    @property
    def undo_title(self) -> str:
        """The change that `undo` reverts; "" for none."""
        return change_title(self._kept[self._at - 1], self.current) if self._at else ""

    @property
    def redo_title(self) -> str:
        """The change that `redo` repeats; "" for none."""
        rest = self._kept[self._at + 1 :]
        return change_title(self.current, rest[0]) if rest else ""

    def record(self, config: EngineConfig, gesture: int | None = None) -> None:
        """Append a chosen config, and drop everything that could be redone.

        Args:
            gesture: Number of the gesture that chose it; its changes of one control merge into one.
                None for a separate change.
        """
        choice = _choice(config)
        if choice == self.current:
            return
        control = None if gesture is None else (gesture, _control(self.current, choice))
        del self._kept[self._at + 1 :]
        if control is not None and control == self._gesture and self._at:
            self._kept.pop()
        if choice != self._kept[-1]:
            self._kept.append(choice)
        self._kept = self._kept[-LIMIT - 1 :]
        self._at = len(self._kept) - 1
        self._gesture = control

    def undo(self) -> EngineConfig:
        return self._go(max(self._at - 1, 0))

    def redo(self) -> EngineConfig:
        return self._go(min(self._at + 1, len(self._kept) - 1))

    def refuse(self, returned: EngineConfig) -> None:
        """Drop a config that could not be used.

        Args:
            returned: The config in use instead. Configs between it and the refused one, on either
                side, build on the latter and are dropped too.
        """
        choice, at = _choice(returned), self._at
        self._gesture = None
        places = [place for place, kept in enumerate(self._kept) if kept == choice]
        if places:
            back = min(places, key=lambda place: abs(place - at))
            if back <= at:
                del self._kept[back + 1 : at + 1]
                self._at = back
            else:
                del self._kept[at:back]
        elif at:  # it was current within a gesture
            del self._kept[at]
            self._kept[at - 1] = choice
            self._at = at - 1
        else:
            self._kept[0] = choice
        self._drop(lambda _: True)

    def keep_styles(self, keys: Collection[str]) -> None:
        """Drop configs whose styles are not in `keys`, the existing styles."""
        self._drop(lambda config: all(key in keys for key in config.styles))

    def forget_mattes(self, of_source: Callable[[str], bool]) -> None:
        """Go back to no matte of a source that is left; see EngineConfig.matte."""
        self._kept = [
            _without_matte(each) if of_source(each.matte) else each for each in self._kept
        ]
        self._gesture = None
        self._drop(lambda _: True)

    def _drop(self, wanted: Callable[[EngineConfig], bool]) -> None:
        """Keep the wanted configs and the current one, without consecutive duplicates."""
        kept: list[EngineConfig] = []
        at = 0
        for place, config in enumerate(self._kept):
            current = place == self._at
            if (current or wanted(config)) and not (kept and kept[-1] == config):
                kept.append(config)
            if current:
                at = len(kept) - 1
        self._kept, self._at = kept, at

    def _go(self, place: int) -> EngineConfig:
        self._at, self._gesture = place, None
        return self.current


def _changed(before: EngineConfig, after: EngineConfig) -> frozenset[str]:
    a, b = _choice(before), _choice(after)
    names = (field.name for field in fields(EngineConfig))
    return frozenset(name for name in names if getattr(a, name) != getattr(b, name))


def _control(before: EngineConfig, after: EngineConfig) -> frozenset[str]:
    """Return the fields set by the control that made a change."""
    changed = _changed(before, after)
    controls = _WIDTH, _SPEED, _SHARES, _PERSON
    return next((several for several in controls if changed <= several), changed)


def _without_matte(config: EngineConfig) -> EngineConfig:
    return replace(config, matte="", paint=EVERYTHING)


def _choice(config: EngineConfig) -> EngineConfig:
    """Return the config without the view's field."""
    return replace(config, compare=False)
