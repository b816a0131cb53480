"""The main window, which connects its parts to the session and closes them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent

from app.errors import ADVICE, Problem
from app.live.session import Session
from app.settings import Settings
from app.ui import actions
from app.ui.controllers.gpu_offer import offer_failed_gpu
from app.ui.main_window.closing import Closing
from app.ui.main_window.commands import Commands
from app.ui.main_window.parts import WindowParts
from app.ui.main_window.session_display import SessionDisplay
from app.ui.main_window.views import Views
from app.ui.main_window.visibility import Visibility
from utils.translation.texts import tr


class MainWindow(WindowParts):
    """The main window.

    A worker thread calls `save_settings` shortly after settings change; closing calls it once
    more. The window does not shut the session down. `reopen_wanted` asks for another window with
    the same content, in the language of the settings.
    """

    reopen_wanted = Signal()

    def __init__(
        self, session: Session, settings: Settings, save_settings: Callable[[Settings], None]
    ) -> None:
        views, visibility = Views(self), Visibility(self)
        commands = Commands(self, views, visibility)
        super().__init__(session, settings, save_settings, commands.slots())
        self.views, self.visibility, self.commands = views, visibility, commands
        self.closing = Closing(self)
        self._display = SessionDisplay(self, views)
        self._connect()
        self._restore()

    def _connect(self) -> None:
        session, display = self.session, self._display
        session.styled.connect(display.show_styled)
        session.problem.connect(self.problems.add)
        for reporting in (self.problems, self.training_launcher):
            reporting.report_requested.connect(self.actions_by_key["copy_report"].trigger)
        self.problems.another_requested.connect(self.actions_by_key["open"].trigger)
        session.notice.connect(self.notices.show_notice)
        session.gpu_failed.connect(self._offer_failed_gpu)
        session.style_jobs.progress.connect(self.job.show_progress)
        self.job.canceled.connect(session.style_jobs.cancel)
        session.progress.connect(self.painting.show_share)
        self.painting.canceled.connect(session.cancel)
        self.full_quality.progressed.connect(self.saving.show_share)
        self.saving.canceled.connect(self.full_quality.cancel)
        self.film_exporter.progressed.connect(display.show_export)
        self.film_exporter.ended.connect(lambda: self.film.show_export("", 0.0))
        self.film.paused.connect(self.film_exporter.pause)
        self.film.canceled.connect(self.film_exporter.cancel)
        # Their buttons lose the focus when disabled.
        for bar in (self.job, self.painting, self.saving, self.learning, self.film):
            bar.canceled.connect(self.queue.pages.setFocus)
        session.source_status.connect(self.notices.show_state)
        session.config_changed.connect(display.show_config)
        session.source_changed.connect(display.show_source)
        session.paused_changed.connect(self.actions_by_key["pause"].setChecked)
        session.styles_changed.connect(lambda: display.show_config(session.config))
        session.trained.connect(display.offer_trained)
        session.picture_styled.connect(self.training_launcher.offer)
        self.panel.mix_picked.connect(self.mixer.pick)
        self.panel.sources.left.connect(self.viewport.setFocus)
        for below in (self.engine_bar, self.speed_test.sheet):
            below.left.connect(self.viewport.setFocus)
        self.wall.shown_changed.connect(self.speed_test.cancel)
        self.training_launcher.progress_text_changed.connect(self.toolbar.show_training)
        self.queue.words_changed.connect(self.toolbar.show_queue)
        self.languages.picked.connect(self._change_language)
        for covered in (self.queue.shown_changed, self.wall.shown_changed):
            covered.connect(self.visibility.update)
        self.wall.shown_changed.connect(self.remembering.update)
        session.opening_changed.connect(lambda opening: opening and self.queue.hide())
        for follow in (session.set_display_size, self._follow_screen):
            self.viewport.resized.connect(follow)
        self.workspace.panel_changed.connect(self.visibility.update_panel_action)
        self.cards.covered_height_changed.connect(self.queue.set_covered_height)
        self.viewport.split_changed.connect(lambda split: self.settings.update(split=split))
        self.theme.changed.connect(
            lambda tokens: self._icons.start(actions.apply_icons(self.actions_by_key, tokens))
        )

    def _offer_failed_gpu(self, sentence: str) -> None:
        offer_failed_gpu(sentence, self.notices, self.session.gpu.try_again)

    def _change_language(self) -> None:
        """Ask for a window in the chosen language, which would end running work."""
        if self.closing.would_ask:
            self.notices.show_notice(
                tr("The language changes at the next start, since work is still running")
            )
        else:
            self.reopen_wanted.emit()

    def _restore(self) -> None:
        settings = self.settings.value
        for _group in actions.apply_icons(self.actions_by_key, self.theme.tokens):
            pass  # all at once, before the window is shown
        if settings.geometry:
            self.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode()))
        self.viewport.split = settings.split
        self.viewport.show_empty(
            tr("Drop a picture, a video or a folder here"),
            tr("or open one (Ctrl+O), paste one (Ctrl+V), or choose a camera in the panel"),
        )
        self.views.show("compare" if self.session.config.compare else settings.view)
        self.commands.update_theme_action()
        self.commands.update_record_sound_action()
        self.visibility.update()
        self.styles.show_styles()
        self.viewport.set_style_title(self.mixer.label())
        self._display.show_source(self.session.info)
        self.status.show_running(tr("Ready"))
        for sentence in self.session.catalog.broken:
            self.problems.add(
                Problem(
                    tr("A style cannot be used: {sentence}", sentence=sentence),
                    advice=tr(ADVICE["StyleError"]),
                )
            )
        self.session.studio.look_for_unfinished()
        self.interrupted_exports.look()
        self.viewport.setFocus()

    def _follow_screen(self) -> None:
        """Limit results to the screen's refresh rate; 60 Hz if unknown, as offscreen."""
        self.session.delivery.refresh_rate = self.screen().refreshRate() or 60.0

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drop_handler.enter(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_handler.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_handler.drop(event)

    # Closing

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close once all work has ended, and save the settings."""
        if not self.closing.may_close():
            event.ignore()
            return
        self.virtual_camera.close()
        self.showing.close()
        self.film_strip.close()
        self.paint_all.close()
        self.film_exporter.close()
        self.queue.close()
        try:
            self.settings.save_now()
        except OSError as exc:
            self.problems.add(Problem.of(exc, failure="Could not save the settings"))
        if self.commands.help is not None:
            self.commands.help.close()
        self.training_launcher.close()
        event.accept()
