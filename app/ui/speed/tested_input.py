"""The size, engine, precision and version of a speed test, apart from the stream's own."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.engine.resolution import fit
from app.engine.result import StyledFrame
from app.live.session import Session
from app.live.session.choice import FixedInput
from models.precision import Precision
from utils.translation.texts import mark

SOURCE = "source"
FULL, LITE = "full", "lite"  # keys of NETWORKS
# The pictures that the input fits into, lying or standing; None for the source's own size.
SIZES: dict[str, tuple[int, int] | None] = {
    "512": (512, 512),
    "720p": (1280, 720),
    "1080p": (1920, 1080),
    SOURCE: None,
}
TITLES = {"512": mark("512 px"), SOURCE: mark("Size of the source")}


def long_side(size: str, width: int, height: int) -> int:
    """Return the long side of the largest input of a source's shape that fits into a size."""
    longer, shorter = max(width, height), min(width, height)
    box = SIZES[size]
    if box is None:
        return longer
    return round(longer * min(box[0] / longer, box[1] / shorter))


class TestedInput(QObject):
    """Sets the session's test while it is active; the config stays as it is.

    Attributes:
        size: A key of SIZES.
        kernels: A key of ALL_VARIANTS.
        network: The version that ran when the test began, which stays in place of the automatic
            one; "" before the first picture.
    """

    changed = Signal()

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self.size = next(iter(SIZES))
        self.precision, self.kernels = session.config.precision, session.config.kernels
        self.network = ""
        self._active = False
        session.styled.connect(self._on_styled)
        session.source_changed.connect(lambda _: self._apply())
        session.choice.test_refused.connect(self._on_refused)

    @property
    def active(self) -> bool:
        return self._active

    @property
    def pixels(self) -> tuple[int, int] | None:
        """(width, height) of the networks' input; None without a source."""
        info = self._session.info
        if info is None or not (info.width and info.height):
            return None
        return fit(info.width, info.height, long_side(self.size, info.width, info.height))

    def set_active(self, active: bool) -> None:
        """Begin a test in the stream's precision and with its engine, or end it."""
        if active != self._active:
            self._active = active
            if active:
                config = self._session.config
                self.precision, self.kernels = config.precision, config.kernels
            self._apply()

    def choose_size(self, size: str) -> None:
        self.size = size
        self._apply()

    def choose_precision(self, precision: Precision) -> None:
        self.precision = precision
        self._apply()

    def choose_kernels(self, kernels: str) -> None:
        self.kernels = kernels
        self._apply()

    def _on_styled(self, styled: StyledFrame) -> None:
        """Note the version that runs; in a test, only the first one."""
        if not self._active or not self.network:
            self.network = LITE if styled.running.lite else FULL
            if self._active:
                self._apply()

    def _on_refused(self) -> None:
        """Return to the stream's precision and engine, which can paint."""
        chosen = self._session.config
        if self._active and (self.precision, self.kernels) != (chosen.precision, chosen.kernels):
            self.precision, self.kernels = chosen.precision, chosen.kernels
            self._apply()

    def _apply(self) -> None:
        pixels = self.pixels if self._active else None
        wanted = None
        if pixels is not None:
            wanted = FixedInput(max(pixels), self.precision, self.kernels, self.network)
        self._session.choice.test = wanted
        self.changed.emit()
