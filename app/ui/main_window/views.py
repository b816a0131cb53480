"""Switches between the views: styled, before and after, speed test."""

from __future__ import annotations

from dataclasses import replace

from app.ui.main_window.parts import WindowParts
from app.ui.main_window.visibility import show_strips
from app.ui.viewport.viewport import VIEWS


class Views:
    """The view in `window`, its actions, and whether the engine compares."""

    def __init__(self, window: WindowParts) -> None:
        self._window = window
        self._before = "styled"  # the view before the speed test

    def choose(self, view: str) -> None:
        """Show `view`, one of VIEWS; "compare" also makes the engine compare."""
        window = self._window
        if view == "compare" and window.viewport.view != "compare":
            self._before = window.viewport.view
        window.queue.hide()
        window.wall.leave()
        self.show(view)
        window.session.config = replace(window.session.config, compare=view == "compare")

    def show(self, view: str) -> None:
        """Show `view` without changing what the engine computes."""
        self._window.viewport.view = view
        self._window.actions_by_key[f"view_{view}"].setChecked(True)
        if view == "compare":
            show_strips(self._window)  # hidden first: a small window would grow for both
        self._window.engine_bar.set_testing(view == "compare")
        self._window.speed_test.set_testing(view == "compare")
        show_strips(self._window)
        self._window.settings.update(view=view)

    def choose_next(self) -> None:
        """Show the next of VIEWS; the first follows the last."""
        self.choose(VIEWS[(VIEWS.index(self._window.viewport.view) + 1) % len(VIEWS)])

    def toggle_compare(self) -> None:
        """Start a speed test, or return to the view before it."""
        comparing = self._window.viewport.view == "compare"
        self.choose(self._before if comparing else "compare")
