"""Mutants of the log, of reports and of other help for users who are stuck."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "the log names the user's home folder",
        "app/diagnostics/log_file.py",
        "return without_home(super().format(record))",
        "return super().format(record)",
        (
            "tests/app/diagnostics/test_log_file.py::"
            "test_what_is_logged_is_in_the_file_and_the_home_folder_is_not",
        ),
    ),
    Mutant(
        "an exception of a thread is not in the log",
        "app/diagnostics/log_file.py",
        'log.critical("uncaught exception of a thread", exc_info=info)',
        "pass",
        (
            "tests/app/diagnostics/test_log_file.py::"
            "test_exceptions_that_nobody_catches_are_in_the_log",
        ),
    ),
    Mutant(
        "a report shows the folders among the settings",
        "app/diagnostics/report.py",
        "'(set)' if field.name in hidden else getattr(settings, field.name)",
        "getattr(settings, field.name)",
        (
            "tests/app/diagnostics/test_report.py::"
            "test_no_setting_that_may_be_a_path_is_in_a_report",
        ),
    ),
    Mutant(
        "a report has the names of files out of the log",
        "app/diagnostics/privacy.py",
        "_QUOTED.sub(NAME, text)",
        "text",
        (
            "tests/app/diagnostics/test_privacy.py::"
            "test_names_in_quotation_marks_paths_and_addresses_are_removed",
        ),
        breaks=("reports",),
    ),
    Mutant(
        "a report that failed cannot be asked for again",
        "app/ui/support/report_copier.py",
        "self._action.setEnabled(True)",
        "pass",
        (
            "tests/app/ui/window/test_reports.py::"
            "test_a_report_that_cannot_be_made_is_a_problem_and_can_be_tried_again",
        ),
    ),
    Mutant(
        "an error of the window does not say what to do",
        "app/ui/widgets/toasts.py",
        'f"{shown}\\n{advice}"',
        "shown",
        ("tests/app/ui/widgets/test_bars.py::test_a_problem_says_what_to_do_next",),
    ),
    Mutant(
        "an error that another one caused has no advice of its cause",
        "app/errors.py",
        "cause = cause.__cause__",
        "cause = None",
        ("tests/app/test_errors.py::test_an_error_without_advice_has_that_of_its_cause",),
    ),
    Mutant(
        "buttons are 32 pixels high",
        "app/ui/theme/theme.py",
        "padding: 4px 10px; min-height: 28px;",
        "padding: 4px 10px; min-height: 20px;",
        ("tests/app/ui/window/test_targets.py::test_what_is_clicked_is_40_pixels_high",),
        breaks=("docs/reference/accessibility.md",),
    ),
    Mutant(
        "a muted text is too faint in the light theme",
        "app/ui/theme/tokens.py",
        'muted="#4d5562"',
        'muted="#8b929d"',
        ("tests/app/ui/widgets/test_contrast.py::test_text_has_contrast_to_what_is_behind_it",),
    ),
    Mutant(
        "the pages of the help have no name for a screen reader",
        "app/ui/help_dialog.py",
        'self.pages.setAccessibleName(tr("Help"))',
        "pass",
        (
            "tests/app/ui/window/test_screen_readers.py::"
            "test_everything_that_takes_the_focus_has_a_name",
        ),
    ),
    Mutant(
        "a recording blinks although motion is reduced",
        "app/ui/player/recording_light.py",
        "if moves(self) and int(time.monotonic() / BLINK_S) % 2:",
        "if int(time.monotonic() / BLINK_S) % 2:",
        (
            "tests/app/ui/window/test_motion.py::"
            "test_a_recording_blinks_and_work_is_busy_unless_motion_is_reduced",
        ),
    ),
    Mutant(
        "buttons of an error take the room of its text where letters are large",
        "app/ui/widgets/toasts.py",
        "wide = 2 * self._buttons.sizeHint().width() < event.size().width()",
        "wide = True",
        (
            "tests/app/ui/window/test_large_fonts.py::"
            "test_an_error_has_half_of_the_bar_at_least_and_its_buttons_below",
        ),
    ),
)
