"""Mutants of the panel of settings and of the engine's lists."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PANEL = "tests/app/ui/window/test_panel.py"

MUTANTS = (
    Mutant(
        "folded groups are open at the next start",
        "app/ui/main_window/parts.py",
        "self.panel.fold(self.settings.value.folded_groups.split())",
        "pass",
        ("tests/app/ui/window/test_panel.py::test_a_folded_group_is_folded_at_the_next_start",),
    ),
    Mutant(
        "the left end of an amount is a number below 0",
        "app/ui/widgets/end_stop.py",
        "self.chosen.emit(None if value == end else value)",
        "self.chosen.emit(value)",
        (f"{_PANEL}::test_the_left_end_of_an_amount_makes_it_automatic_again",),
    ),
    Mutant(
        "a key that passes 0 does not reach the end stop",
        "app/ui/widgets/end_stop.py",
        "value < end / 2 if self.isSliderDown() else value < self._before",
        "value < end / 2",
        (f"{_PANEL}::test_the_left_end_of_an_amount_makes_it_automatic_again",),
    ),
    Mutant(
        "a drag stops between the end stop and 0",
        "app/ui/widgets/end_stop.py",
        "if end < value < 0:",
        "if False:",
        (f"{_PANEL}::test_a_drag_snaps_to_the_end_stop_or_to_nothing",),
    ),
    Mutant(
        "a screen reader does not hear that a slider is automatic",
        "app/ui/widgets/end_stop.py",
        "self.setAccessibleDescription(remark or text)",
        "self.setAccessibleDescription(remark)",
        (f"{_PANEL}::test_the_left_end_of_an_amount_makes_it_automatic_again",),
    ),
    Mutant(
        "a chosen stroke width changes with the detail",
        "app/ui/panel/stroke_width.py",
        '"keep_strokes": True',
        '"keep_strokes": False',
        (f"{_PANEL}::test_one_slider_sets_the_stroke_width_and_keeps_it_or_leaves_it_automatic",),
    ),
    Mutant(
        "a rate that comes takes another line",
        "app/ui/speed/bar.py",
        "self.left.setText(rate_text(smooth) or NO_RATE)",
        'self.left.setText(f"{rate_text(smooth)}\\n" if smooth else NO_RATE)',
        (f"{_PANEL}::test_remarks_and_rates_that_come_by_themselves_move_no_control",),
    ),
    Mutant(
        "the address field that a key opens is out of sight",
        "app/ui/panel/panel.py",
        "        self.ensureWidgetVisible(control)\n",
        "",
        (f"{_PANEL}::test_what_a_key_opens_in_the_panel_is_scrolled_to_and_has_the_focus",),
    ),
    Mutant(
        "the speed test hides the lists of its engine",
        "app/ui/main_window/views.py",
        '        self._window.engine_bar.set_testing(view == "compare")\n',
        "",
        (f"{_PANEL}::test_the_engine_is_shown_with_the_speed_test_or_by_its_key",),
    ),
)
