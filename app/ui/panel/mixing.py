"""The list of second styles, and the wheel for mixes that a slider cannot show."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from app.engine.config import EngineConfig
from app.live.session import Session
from app.styles.pack import Style
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.mix_wheel import MixWheel, WheelStyle
from app.ui.widgets.option_box import Choice, OptionBox
from app.ui.widgets.parameter_controls import FractionControl
from app.ui.widgets.style_list import load_thumbnail
from models.families.keys import FEED_FORWARD
from models.families.table import FAMILIES
from utils.translation.texts import tr

_SEVERAL = object()  # a mix of several styles: the list shows its placeholder


class MixControls(QObject):
    """Shows the session's mix: a list and `share`, or a wheel in place of the share.

    Signals:
        picked: The key of the style to mix in or, in a mix of three or more, to take out; None
            stops mixing.
    """

    picked = Signal(object)

    def __init__(self, session: Session, share: FractionControl, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._share = session, share
        self._listed: tuple[str, ...] = ()  # the mixed styles when the options were listed
        self._pictures: dict[Path, QPixmap] = {}  # thumbnails of the wheel's styles
        self.list = OptionBox(
            tr("Mix with"),
            tr("A second style to mix in (M); you can also Shift-click one in the gallery"),
        )
        self.wheel = MixWheel()
        self._label = QLabel()
        self.list.picked.connect(self.picked)
        self.wheel.picked.connect(self._choose_shares)

    def add_wheel(self, form: FormLayout) -> None:
        """Put the wheel into the row of the share, which `form` has already."""
        self._label = form.add_in_place_of(self._share, self.wheel)

    def show_config(self, config: EngineConfig) -> None:
        """Show the mix of `config` without emitting signals."""
        if config.styles != self._listed:
            self.set_options()
        self._show(config)

    def set_options(self) -> None:
        """List every style that can be mixed with the first."""
        config = self._session.config
        self._listed = config.styles
        others = self._session.catalog.mixable_with(config.style)
        many = len(self._listed) > 2
        full = len(self._listed) == FAMILIES[self._family].most_mixed and many
        self.list.setPlaceholderText(tr("{n} styles", n=len(self._listed)))
        self.list.set_options(
            [
                Choice(None, tr("None")),
                *(
                    Choice(
                        style.key,
                        style.title,
                        tr("Part of the mix; choose it to take it out") if many and mixed else "",
                        tr("At most {n} styles can be mixed", n=len(self._listed))
                        if full and not mixed
                        else "",
                    )
                    for style in others
                    for mixed in (style.key in self._listed,)
                ),
            ]
        )
        self._show(config)

    @property
    def _family(self) -> str:
        return self._session.catalog.family_of(self._session.config.style)

    def _choose_shares(self, shares: tuple[float, ...]) -> None:
        config = self._session.config
        self._session.config = config.mixed(tuple(zip(config.styles, shares, strict=True)))

    def _show(self, config: EngineConfig) -> None:
        """Show the second style and its share.

        For more styles, or styles of pictures, show the wheel instead.
        """
        parts, share = config.parts, self._share
        second = parts[1][0] if len(parts) == 2 else None
        self.list.show_choice(_SEVERAL if len(parts) > 2 else second)
        wheel = len(parts) > (2 if self._family == FEED_FORWARD else 1)
        if not wheel and self.wheel.hasFocus():
            self.list.setFocus()
        for part in share.parts:
            part.setEnabled(len(parts) > 1)
            part.setVisible(not wheel)
        self.wheel.setVisible(wheel)
        self._label.setBuddy(self.wheel if wheel else share)
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignVCenter
        self._label.setAlignment(top if wheel else middle)
        if wheel:
            find = self._session.catalog.find
            styles = [self._wheel_style(key, find(key)) for key, _ in parts]
            self.wheel.show_mix(styles, [amount for _, amount in parts])

    def _wheel_style(self, key: str, style: Style | None) -> WheelStyle:
        path = style.thumbnail if style else None
        if path is not None and path not in self._pictures:
            self._pictures[path] = QPixmap()

            def done(picture: QPixmap) -> None:
                self._pictures[path] = picture
                self._show(self._session.config)

            load_thumbnail(self._session.run, path, done)
        picture = self._pictures[path] if path else QPixmap()
        return WheelStyle(style.title if style else key, picture)
