"""Paints only where the user brushes: a mask by hand, for stills and paused streams."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.engine.config import EngineConfig
from app.engine.matting.brushing import Mask, Place, brush, mask_of
from app.engine.matting.files import MatteError, is_mask
from app.engine.matting.masks import mask_at
from app.errors import Problem
from app.options import EVERYTHING, ONLY_PERSON
from app.ui.looks.gestures import Gestures
from app.ui.person.mask_files import MaskFiles
from app.ui.window_context import WindowContext
from utils.stroke_directions import HAND
from utils.translation.texts import mark, tr

DRAFT_MS = 50  # between two masks during a drag
NO_PICTURE = mark("Open a picture first: the brush paints on stills and paused streams")
PLAYING = mark("Pause first (Space): the brush paints on stills and paused streams")
HINT = mark("Drag over what to paint")
ERASER_HINT = mark("Drag over what not to paint")


class BrushController(QObject):
    """Connects the brush over the picture with the mask, the session's config and undo.

    Signals:
        changed: The brush is on or off, erases or not, or can or cannot be used.
        toggled: Whether the brush is on.
    """

    changed = Signal()
    toggled = Signal(bool)

    def __init__(self, context: WindowContext, gestures: Gestures) -> None:
        super().__init__(context.window)
        session = self._session = context.session
        self._viewport, self._say, self._gestures = context.viewport, context.say, gestures
        self._action, self.control = context.actions["brush"], context.viewport.brush
        self._files = MaskFiles(session)
        self._mask: Mask | None = None
        self._file = ""  # of the mask, as in the config
        self._stroke: _Stroke | None = None
        self._direction = session.config.strokes_direction
        self._draft = QTimer(self, interval=DRAFT_MS, singleShot=True)
        self._draft.timeout.connect(self._show_draft)
        session.config_changed.connect(self._on_config)
        session.source_changed.connect(self._on_source)
        session.paused_changed.connect(self._on_source)
        for signal, slot in (
            (self.control.pressed, self._begin),
            (self.control.moved, self._go_on),
            (self.control.released, self._end),
            (self.control.canceled, self._cancel),
        ):
            signal.connect(slot)

    @property
    def on(self) -> bool:
        return self.control.open

    @property
    def refusal(self) -> str:
        """Why the brush cannot be used now, as a sentence; "" if it can."""
        if self._session.info is None:
            return tr(NO_PICTURE)
        return tr(PLAYING) if self._session.streaming else ""

    def toggle(self) -> None:
        """Turn the brush on, or off again."""
        self.use(on=not self.on, erases=False)

    def use(self, *, on: bool, erases: bool) -> None:
        """Turn the brush or the eraser on, or both off; where it is of no use, say why."""
        if on and (reason := self.refusal):
            self._say(reason)
            on = False
        before = self.on
        self.control.erases = erases
        self.control.show_brush(on=on, hint=tr(ERASER_HINT if erases else HINT))
        self._action.setChecked(on)
        if on:
            self._viewport.setFocus()
        if on != before:
            self.toggled.emit(on)
        self.changed.emit()

    def clear(self) -> None:
        """Paint nothing until the next stroke."""
        mask = self._new_mask(full=False)
        if mask is not None:
            self._use_mask(mask, self._session.config, fresh=False)

    # Strokes

    def _begin(self, at: Place, erases: bool) -> None:
        self._gestures.press()
        self._stroke = None
        try:
            mask, fresh = self._mask_in_use(erases=erases)
        except MatteError as exc:
            self._session.problem.emit(Problem.of(exc, failure="Could not read the painted mask"))
            return
        if mask is not None:
            self._stroke = _Stroke(mask, self._session.config, at, erases=erases, fresh=fresh)
            self._go_on(at)

    def _go_on(self, at: Place) -> None:
        stroke = self._stroke
        if stroke is None:
            return
        brush(stroke.mask, (stroke.at, at), self.control.radius, erases=stroke.erases)
        stroke.at, stroke.shown = at, False
        if not self._draft.isActive():
            self._show_draft()

    def _show_draft(self) -> None:
        """Show the stroke so far."""
        stroke = self._stroke
        if stroke is not None and not stroke.shown:
            stroke.shown = True
            self._paint_by(self._files.draft(stroke.mask), fresh=stroke.fresh)
            self._draft.start()

    def _end(self) -> None:
        self._draft.stop()
        if (stroke := self._stroke) is not None:
            self._stroke = None
            self._use_mask(stroke.mask, stroke.before, fresh=stroke.fresh)
        self._gestures.release()

    def _cancel(self) -> None:
        self._draft.stop()
        if (stroke := self._stroke) is not None:
            self._stroke = None
            self._session.config = stroke.before
        self._gestures.release()

    # Masks

    def _mask_in_use(self, *, erases: bool) -> tuple[Mask | None, bool]:
        """Return a copy of the mask to paint into, and whether it is a new one.

        A new mask is empty, or full for the eraser; it is None without a picture.

        Raises:
            MatteError: If the file of the mask cannot be read.
        """
        file = self._session.config.matte
        if not is_mask(Path(file)):
            return self._new_mask(full=erases), True
        if file != self._file or self._mask is None:
            self._mask, self._file = mask_at(Path(file)), file
        return self._mask.copy(), False

    def _new_mask(self, *, full: bool) -> Mask | None:
        styled = self._viewport.styled
        if styled is None:
            return None
        whole = styled.captured or styled.frame
        return mask_of(whole.width, whole.height, full=full)

    def _use_mask(self, mask: Mask, before: EngineConfig, *, fresh: bool) -> None:
        """Keep a mask, and paint by it; return to the config `before` if it cannot be kept."""
        path = self._files.keep(mask, partial(self._give_up, before, mask))
        self._mask, self._file = mask, str(path)
        self._paint_by(path, fresh=fresh)

    def _paint_by(self, file: Path, *, fresh: bool) -> None:
        config = self._session.config
        if fresh:  # where the brush paints, and not around it, whatever was chosen for people
            config = replace(config, paint=ONLY_PERSON, swap_matte=False)
        elif config.paint == EVERYTHING:
            config = replace(config, paint=ONLY_PERSON)
        self._session.config = replace(config, matte=str(file))

    def _give_up(self, before: EngineConfig, mask: Mask, problem: Problem) -> None:
        """Return from a mask that cannot be kept, unless the user has painted on since."""
        if mask is self._mask and self._session.config.matte == self._file:
            self._session.config_refused.emit(before)
            self._session.config = before
        self._session.problem.emit(problem)

    # Changes elsewhere

    def _on_config(self, config: EngineConfig) -> None:
        """Leave the picture to the handles of strokes, once the user chooses to comb by hand."""
        before, self._direction = self._direction, config.strokes_direction
        if self.on and before != HAND == config.strokes_direction:
            self.use(on=False, erases=False)

    def _on_source(self) -> None:
        """Turn the brush off while a stream plays."""
        if self.on and self.refusal:
            self.use(on=False, erases=False)
        self.changed.emit()


class _Stroke:
    """A stroke that goes on.

    Attributes:
        mask: Painted into while the drag goes on.
        before: The config before the stroke.
        at: The newest place.
        fresh: Whether the mask was new.
        shown: Whether the engine has the newest state of the mask.
    """

    def __init__(
        self, mask: Mask, before: EngineConfig, at: Place, *, erases: bool, fresh: bool
    ) -> None:
        self.mask, self.before, self.at = mask, before, at
        self.erases, self.fresh, self.shown = erases, fresh, False
