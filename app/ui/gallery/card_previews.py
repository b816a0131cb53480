"""Shows the user's own picture in each style on the cards of the gallery."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QPixmap

from app.engine.post.blending import Pixels
from app.frame import Frame, SourceInfo
from app.live.previews.painter import SIZE, Preview
from app.live.session import Session
from app.ui.gallery.style_gallery import StyleGallery
from app.ui.viewport.frame_painter import as_image
from app.ui.viewport.scaling import scale_frame

ASK_MS = 100  # delay after the last change of the visible cards


class CardPreviews(QObject):
    """Requests previews of the styles in `gallery`, visible cards first, and shows them.

    While the gallery is hidden, no preview is painted.

    Args:
        gallery: Shows them instead of the shipped thumbnails while a source is open.
    """

    def __init__(self, session: Session, gallery: StyleGallery) -> None:
        super().__init__(gallery)
        self._session, self._gallery = session, gallery
        self._whole: dict[str, Pixels] = {}
        self._soon = QTimer(self, interval=ASK_MS, singleShot=True)
        self._soon.timeout.connect(self._ask)
        session.previews.made.connect(self._show)
        session.source_changed.connect(self._follow_source)
        for changed in (session.styles_changed, session.paused_changed):
            changed.connect(self._soon.start)
        gallery.view.horizontalScrollBar().valueChanged.connect(lambda _: self._soon.start())
        gallery.model.modelReset.connect(self._soon.start)
        gallery.installEventFilter(self)
        gallery.view.viewport().installEventFilter(self)

    def whole(self, style: str) -> Pixels | None:
        """Return the newest preview of the whole picture in a style, if there is one."""
        return self._whole.get(style)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide):
            self._soon.start()
        return False

    def _ask(self) -> None:
        inside = self._gallery.keys_in_view() if self._gallery.isVisible() else []
        outside = [key for key in self._gallery.keys if key not in inside]
        self._session.previews.want((*inside, *outside) if inside else (), len(inside))

    def _follow_source(self, info: SourceInfo | None) -> None:
        if info is None:
            self._gallery.model.clear_previews()
        self._whole.clear()
        self._soon.start()

    def _show(self, preview: Preview) -> None:
        pixmap = QPixmap()
        if preview.pixels is not None:
            pixmap = QPixmap.fromImage(as_image(_for_card(preview.pixels)))
            if preview.whole:
                self._whole[preview.style] = preview.pixels
        self._gallery.model.set_preview(preview.style, pixmap, preview.reason)


def _for_card(pixels: Pixels) -> Pixels:
    """Return the middle of a preview, in a card's size."""
    height, width, _ = pixels.shape
    across = min(width, max(1, height * SIZE[0] // SIZE[1]))
    down = min(height, max(1, width * SIZE[1] // SIZE[0]))
    left, top = (width - across) // 2, (height - down) // 2
    middle = np.ascontiguousarray(pixels[top : top + down, left : left + across])
    return scale_frame(Frame(middle), *SIZE).pixels
