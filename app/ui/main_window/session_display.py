"""Shows the session's results and changes in the window."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.engine.config import EngineConfig
from app.engine.result import StyledFrame
from app.frame import SourceInfo
from app.styles.pack import Style
from app.ui.film.exporter import ExportShown
from app.ui.main_window.parts import WindowParts
from app.ui.main_window.views import Views
from app.ui.speed.words import plain_words
from utils.translation.texts import tr


class SessionDisplay(QObject):
    """Shows results, sources, configs and new styles in `window`."""

    def __init__(self, window: WindowParts, views: Views) -> None:
        super().__init__(window)
        self._window, self._views = window, views

    def show_styled(self, styled: StyledFrame) -> None:
        window = self._window
        window.loading_message.stop(styled)
        window.viewport.show_styled(styled)
        automatic = styled.config.network == "auto"
        words = plain_words(styled.running, automatic=automatic)
        window.status.show_running(words, str(styled.running))

    def show_export(self, shown: ExportShown) -> None:
        """Show the progress of a film, and its newest frame while the session is paused."""
        window = self._window
        window.film.show_export(shown.text, shown.share)
        if window.session.paused:
            window.viewport.show_styled(shown.styled, timed=False)

    def show_config(self, config: EngineConfig) -> None:
        """Show the style and the view of the config that the next results use."""
        window = self._window
        window.viewport.set_style_title(window.mixer.label())
        if config.compare != (window.viewport.view == "compare"):
            self._views.show("compare" if config.compare else "styled")
        window.loading_message.start()
        window.settings.save_soon()

    def show_source(self, info: SourceInfo | None) -> None:
        window = self._window
        window.status.show_source(info)
        window.setWindowTitle(
            tr("{title} - StyleForge", title=info.title) if info else "StyleForge"
        )
        if info is None:
            window.viewport.show_stand_in(None)
            window.viewport.show_styled(None)
        elif window.viewport.styled is None:
            window.loading_message.show_now()
        window.settings.save_soon()

    def offer_trained(self, style: Style) -> None:
        window = self._window

        def use() -> None:
            window.session.config = window.session.config.mixed([(style.key, 1.0)])

        window.notices.show_offer(
            tr("'{title}' is trained and ready in the gallery", title=style.title),
            tr("&Use it"),
            tr("Style the picture with '{title}'", title=style.title),
            use,
        )
