"""Saves and applies looks from the strip and from pictures that the program saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QObject, QTimer
from PySide6.QtGui import QAction, QImage

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.errors import ADVICE, Problem
from app.live.session import Session
from app.looks.look import KEY, Look, LookError, parse_look
from app.looks.look_file import LookFile, NamedLook, look_name
from app.options import blend_label
from app.ui.looks.strip import LookStrip, ShownLook, thumbnail
from app.ui.widgets.message_bars import NoticeBar
from app.ui.widgets.prompt_bar import PromptBar
from utils.images.metadata import read_metadata
from utils.images.opening import ImageError
from utils.text import printable
from utils.translation.texts import mark, tr

MOST = 500  # named looks; 10 KB each
QUALITY = 85  # JPEG quality of their pictures, 0 to 100
LAST = 12  # unnamed looks in the strip
SETTLE_MS = 1500  # time a look stays on screen before it joins the last ones
SAVED_AS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")  # these can contain a look
MISSING_ADVICE = mark("Install the named style, or choose the values of the look by hand.")
DAMAGED_ADVICE = mark("A copy of the file is in the same folder. Save the lost looks again.")
_NAME = 100  # characters of a file's name in a message


class LookController(QObject):
    """Connects the strip, the file of looks and the session."""

    def __init__(
        self,
        session: Session,
        styled: Callable[[], StyledFrame | None],
        questions: PromptBar,
        notices: NoticeBar,
        actions: Mapping[str, QAction],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session, self._styled = session, styled
        self._questions, self._notices = questions, notices
        self.strip = LookStrip(actions["save_look"])
        self._file = LookFile()
        self._saved: list[NamedLook] = []
        self._pictures: dict[str, QImage] = {}  # pictures of the saved looks, by name
        self._last: list[tuple[Look, QImage]] = []
        self._changes = 0
        self._settled = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settled.timeout.connect(self._keep_last)
        self.strip.used.connect(lambda shown: self.use(shown.look))
        self.strip.named.connect(self._ask_name)
        self.strip.removed.connect(self._remove)
        session.config_changed.connect(lambda _: self._show())
        session.styles_changed.connect(self._show)
        session.painted.connect(self._on_painted)
        self._waits_for: EngineConfig | None = None
        session.run(self._file.read, self._on_read, failure="Could not read the saved looks")

    # Commands

    def save(self) -> None:
        """Ask for a name for the current look, and save it."""
        look, styled = Look.of(self._session.config), self._styled()
        picture = QImage() if styled is None else thumbnail(styled)
        self._ask_name(ShownLook(look, self._title(look), "", picture))

    def use(self, look: Look) -> bool:
        """Apply a look; return whether that is possible."""
        missing = look.missing({style.key for style in self._session.catalog.styles})
        if missing:
            self._session.problem.emit(Problem(missing, advice=tr(MISSING_ADVICE)))
        else:
            self._session.config = look.applied(self._session.config)
        return not missing

    def open_dropped(
        self, spec: str | Sequence[str], otherwise: Callable[[], object] | None = None
    ) -> None:
        """Open a source; for a picture that the program saved, restore its look instead.

        Args:
            spec: As for app.sources.open_source.
            otherwise: Called instead of reporting a problem if the source cannot be opened.
        """
        if not isinstance(spec, str) or Path(spec).suffix.lower() not in SAVED_AS:
            self._session.open(spec, otherwise)
            return
        name = printable(Path(spec).name, _NAME)

        def done(found: Look | LookError | None) -> None:
            if isinstance(found, Look) and self.use(found):
                self._notices.show_offer(
                    tr("Painting with the look of '{name}'", name=name),
                    tr("&Open the picture"),
                    tr("Open '{name}' as a picture to paint", name=name),
                    lambda: self._session.open(spec),
                )
                return
            if isinstance(found, LookError):
                fault = tr("The look in '{name}' cannot be used: {found}", name=name, found=found)
                self._session.problem.emit(Problem(fault, advice=tr(ADVICE["LookError"])))
            self._session.open(spec, otherwise)

        self._session.run(
            lambda: _look_in(Path(spec)), done, failure=tr("Could not read {name}", name=name)
        )

    # The strip

    def _show(self) -> None:
        saved = [
            ShownLook(each.look, each.name, each.name, self._pictures[each.name])
            for each in self._saved
        ]
        last = [ShownLook(look, self._title(look), "", picture) for look, picture in self._last]
        self.strip.show_looks([*saved, *last], Look.of(self._session.config))

    def _title(self, look: Look) -> str:
        titles = {style.key: style.title for style in self._session.catalog.styles}
        label = blend_label([(titles.get(key, key), share) for key, share in look.parts])
        return (
            label
            if look.strength == 1
            else tr("{label} at {strength}", label=label, strength=f"{look.strength:.0%}")
        )

    def _on_painted(self, styled: StyledFrame) -> None:
        if styled.config != self._waits_for and styled.config == self._session.config:
            self._waits_for = styled.config
            self._settled.start()

    def _keep_last(self) -> None:
        """Add the look on screen to the recently used ones, unless the strip already shows it."""
        styled, look = self._styled(), Look.of(self._session.config)
        if styled is None or Look.of(styled.config) != look:
            return
        if any(shown.look == look for shown in self.strip.shown):
            return
        self._last = [(look, thumbnail(styled)), *self._last][:LAST]
        self._show()

    # Names

    def _ask_name(self, shown: ShownLook) -> None:
        def named(text: str) -> None:
            if name := look_name(text):
                self._store(shown, name)

        self._questions.ask(
            tr("Rename the look '{name}'", name=shown.name) if shown.name else tr("Save this look"),
            tr("&Rename") if shown.name else tr("&Save"),
            named,
            label=tr("&Name:"),
            text=shown.title,
        )

    def _store(self, shown: ShownLook, name: str) -> None:
        """Save a look under a name, replacing any look of that name.

        If MOST looks are saved already, show a notice instead.
        """
        entry = NamedLook(name, shown.look, _jpeg(shown.picture))
        self._pictures[name] = shown.picture
        places = [row for row, each in enumerate(self._saved) if each.name in (shown.name, name)]
        kept = [each for each in self._saved if each.name not in (shown.name, name)]
        if len(kept) >= MOST:
            self._notices.show_notice(
                tr("At most {most} looks can be saved; delete one first", most=MOST)
            )
            return
        kept.insert(places[0] if places else len(kept), entry)
        self._last = [each for each in self._last if each[0] != shown.look]
        self._write(kept)

    def _remove(self, shown: ShownLook) -> None:
        if shown.name:
            self._questions.ask(
                tr("Delete the look '{name}'?", name=shown.name),
                tr("&Delete"),
                lambda _: self._delete(shown.name),
            )
        else:
            self._last = [each for each in self._last if each[0] != shown.look]
            self._show()

    def _delete(self, name: str) -> None:
        self._write([each for each in self._saved if each.name != name])

    def _write(self, looks: list[NamedLook]) -> None:
        self._saved = looks
        self._changes += 1
        number = self._changes
        self._show()
        self._session.write(
            lambda: self._file.write(number, looks),
            lambda _: None,
            failure="Could not save the looks",
        )

    def _on_read(self, found: tuple[list[NamedLook], str]) -> None:
        looks, fault = found
        if fault:
            self._session.problem.emit(Problem(fault, advice=tr(DAMAGED_ADVICE)))
        new = {each.name for each in self._saved}  # saved before the file was read
        self._saved = [*(each for each in looks if each.name not in new), *self._saved]
        for each in looks:
            self._pictures.setdefault(each.name, QImage.fromData(each.picture))
        self._show()


def _look_in(path: Path) -> Look | LookError | None:
    """Return the look in a saved picture, or its error; None without a look or picture."""
    try:
        text = read_metadata(path).get(KEY)
        return None if text is None else parse_look(text)
    except LookError as fault:
        return fault
    except (ImageError, OSError):
        return None  # opening the picture reports the reason


def _jpeg(picture: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not picture.isNull():
        picture.save(buffer, "JPG", QUALITY)  # type: ignore[call-overload]  (a str, by its docs)
    return bytes(buffer.data().data())
