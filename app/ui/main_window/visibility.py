"""Shows the parts of the window that the settings and full screen allow."""

from __future__ import annotations

from dataclasses import replace

from app.settings import ALWAYS
from app.ui.main_window.parts import WindowParts


def show_strips(window: WindowParts) -> None:
    """Show styles, pictures and looks, unless the speed test has their place."""
    window.strips.setVisible(window.viewport.view != "compare")


class Visibility:
    """Decides which parts of `window` are visible, and whether it fills the screen."""

    def __init__(self, window: WindowParts) -> None:
        self._window = window
        self._maximized = False  # before full screen

    def update(self) -> None:
        """Show the parts that the settings and full screen allow."""
        window = self._window
        full = window.isFullScreen()
        wall = window.wall.shown and not window.queue.shown
        settings = window.settings.value
        layers = settings.overlay and settings.layers
        for action, on in (
            ("wall_camera", settings.wall_camera == ALWAYS),
            ("remember_source", settings.remember_source == ALWAYS),
            ("mirror", settings.mirror),
            ("reduce_motion", settings.reduce_motion),
            ("overlay", settings.overlay),
            ("layers", layers),
            ("badge", settings.badge),
            ("advanced", settings.advanced),
            ("gallery", settings.show_gallery),
            ("film_strip", settings.show_strip),
            ("looks", settings.show_looks),
            ("fullscreen", full),
            ("queue", window.queue.shown),
        ):
            window.actions_by_key[action].setChecked(on)
        window.viewport.mirrored = settings.mirror
        window.session.time_layers(layers)
        window.overlay.show_layers(layers)
        window.overlay.setVisible(settings.overlay and not wall)
        window.engine_bar.set_wanted(settings.advanced)
        window.badge.set_wanted(settings.badge and not (settings.overlay or full or wall))
        show_strips(window)
        window.film_strip.set_wanted(settings.show_strip)
        window.strips.set_wanted("gallery", settings.show_gallery)
        window.strips.set_wanted("looks", settings.show_looks)
        bare = full or wall
        window.workspace.show_panel(settings.show_panel, full=bare)
        for part in (window.toolbar, window.status):
            part.setVisible(not bare)
        window.bottom_bars.setVisible(not (bare or window.queue.shown))

    def store_checked(self, action: str, setting: str) -> None:
        """Store whether `action` is checked as the value of `setting`."""
        checked = self._window.actions_by_key[action].isChecked()
        self._window.settings.update(**{setting: checked})
        self.update()

    def toggle_strip(self, key: str, setting: str) -> None:
        """Bring a strip to the front of the others, or show or hide it; end the speed test."""
        if self._window.viewport.view == "compare":
            self._end_speed_test()
            self._window.settings.update(**{setting: True})
            self.update()
            self._window.strips.bring_up(key)
        elif self._window.strips.is_behind(key):
            self._window.strips.bring_up(key)
            self.update()
        else:
            self.store_checked(key, setting)

    def toggle_layers(self) -> None:
        """Start timing every layer, which also shows the figures, or stop."""
        settings = self._window.settings
        on = self._window.actions_by_key["layers"].isChecked()
        settings.update(layers=on, overlay=on or settings.value.overlay)
        self.update()

    def toggle_panel(self) -> None:
        """Show or hide the panel, which is a drawer in a narrow window."""
        workspace, settings = self._window.workspace, self._window.settings
        if self._window.wall.shown:
            self._window.wall.leave()
            if workspace.panel_shown:
                return
        if self._window.isFullScreen() or not workspace.narrow:
            settings.update(show_panel=not settings.value.show_panel)
            self.update()
        elif workspace.panel_shown:
            workspace.close_drawer()
        else:
            workspace.open_drawer()

    def show_panel(self) -> None:
        """Show the panel, leaving full screen if necessary."""
        if self._window.isFullScreen():
            self.toggle_full_screen()
        self._window.wall.leave()
        if not self._window.workspace.panel_shown:
            self.toggle_panel()

    def show_gallery(self) -> None:
        """Show the gallery instead of the queue or the speed test, except in full screen."""
        window = self._window
        if not window.isFullScreen():
            window.queue.hide()
            window.wall.leave()
            self._end_speed_test()
            window.settings.update(show_gallery=True)
            self.update()
            window.strips.bring_up("gallery")

    def _end_speed_test(self) -> None:
        session = self._window.session
        if session.config.compare:  # setting the config ends the trial of a style
            session.config = replace(session.config, compare=False)

    def show_engine(self) -> None:
        """Show the engine's lists, which the queue and full screen hide, and focus the first."""
        if self._window.isFullScreen():
            self.toggle_full_screen()
        self._window.queue.hide()
        self.update()
        self._window.engine_bar.open()

    def update_panel_action(self) -> None:
        """Check the panel's action while the panel is shown, including as a drawer."""
        self._window.actions_by_key["panel"].setChecked(self._window.workspace.panel_shown)

    def toggle_full_screen(self) -> None:
        """Show the picture in full screen, or restore the window."""
        window = self._window
        if window.isFullScreen():
            (window.showMaximized if self._maximized else window.showNormal)()
        else:
            self._maximized = window.isMaximized()
            window.queue.hide()
            window.showFullScreen()
            window.viewport.setFocus()
        self.update()
