"""Mutants of cameras in the window, and of features for presenting."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CAMERA = "tests/app/ui/window/test_camera_mode.py"
_MODES = "tests/app/sources/test_camera_modes.py"
_SLIDES = "tests/app/ui/window/test_slideshow.py"
_SAVED = "tests/app/ui/window/test_saved_files.py"
_STRIP = "tests/app/ui/window/test_film_strip.py"
_PROJECTOR = "tests/app/ui/window/test_projector.py"


MUTANTS = (
    Mutant(
        "a camera that is given another size counts as lost for a moment",
        "app/sources/grabber.py",
        "            if self._renewing.is_set():\n                continue\n",
        "            self._lost = FeedLost('renewed')\n",
        (f"{_MODES}::test_another_size_is_delivered_without_the_camera_counting_as_lost",),
    ),
    Mutant(
        "the projector closes without a question",
        "app/ui/main_window/closing.py",
        'lambda: tr("the projector window closes"),',
        'lambda: "",',
        (f"{_PROJECTOR}::test_closing_the_window_asks_first_and_then_closes_it",),
    ),
    Mutant(
        "a chosen size is forgotten at the next start",
        "app/live/session/session.py",
        'self._spec = with_mode(f"camera:{self._info.title}", width, height, fps)',
        "pass",
        (f"{_CAMERA}::test_a_chosen_size_is_remembered_for_the_next_start",),
    ),
    Mutant(
        "a camera in another size is listed twice",
        "app/ui/controllers/source_opener.py",
        "self._used[info.title] = spec",
        "pass",
        (f"{_CAMERA}::test_a_camera_is_listed_once_whatever_its_size",),
    ),
    Mutant(
        "an exposure in stops is added to a time in multiples of 100 us",
        "app/sources/camera_modes/exposure.py",
        "round(base * 2.0**stops)",
        "round(base + stops)",
        (f"{_MODES}::test_stops_double_the_time_that_the_automatic_had",),
    ),
    Mutant(
        "a range of sizes is taken for a single one",
        "app/sources/camera_modes/v4l2.py",
        "if answer[2] == _DISCRETE:",
        "if answer[2]:",
        (f"{_MODES}::test_of_a_range_the_usual_sizes_within_it_are_offered",),
    ),
    Mutant(
        "the last picture of a lost camera looks as if it were live",
        "app/ui/camera/controller.py",
        "dimmed=text == tr(LOST)",
        "dimmed=False",
        (f"{_CAMERA}::test_the_last_picture_of_a_lost_camera_stays_dimmed_and_it_comes_back",),
    ),
    Mutant(
        "what was saved has no button",
        "app/ui/widgets/toasts.py",
        "() if button is None else (button,)",
        "()",
        ("tests/app/ui/window/test_saved_files.py::test_a_recording_can_be_shown_in_its_folder",),
    ),
    Mutant(
        "before and after are exchanged",
        "app/export/before_after/composing.py",
        "made[:, :middle] = before[:, :middle]",
        "made[:, middle:] = before[:, middle:]",
        (
            "tests/app/export/test_before_after.py::"
            "test_split_the_original_is_left_and_the_painting_right_of_the_line",
        ),
    ),
    Mutant(
        "every frame of a GIF has other colors",
        "app/export/before_after/wipe.py",
        "        image.putpalette(colors)\n",
        "        image.putpalette(colors[::-1])\n",
        (
            "tests/app/export/test_before_after.py::test_a_wipe_is_a_gif_that_is_played_for_ever_"
            "and_holds_little_more_than_two_pictures",
        ),
    ),
    Mutant(
        "the divider at the left edge saves both side by side",
        "app/ui/showing/before_after.py",
        'arrangement = "side" if at is None else "split"',
        'arrangement = "split" if at else "side"',
        (
            "tests/app/ui/window/test_before_after.py::"
            "test_the_divider_at_the_edge_is_no_side_by_side",
        ),
    ),
    Mutant(
        "the projector forgets what the virtual camera needs",
        "app/live/session/session.py",
        "self._post(self._loop.set_least_size, max(widths), max(heights))",
        "self._post(self._loop.set_least_size, width, height)",
        (f"{_PROJECTOR}::test_streams_are_styled_in_the_size_of_the_larger_of_both",),
    ),
    Mutant(
        "Esc is taken by the window before it closes the projector",
        "app/ui/showing/controller.py",
        'self._leaving = actions["back"], actions["fullscreen"]',
        "self._leaving = ()",
        (f"{_PROJECTOR}::test_escape_closes_it_and_the_window_stays",),
    ),
    Mutant(
        "a style that the user chooses is faded away",
        "app/ui/showing/slideshow.py",
        "target, refused = self._target, now == self._from",
        "return",
        (f"{_SLIDES}::test_a_style_that_the_user_chooses_meanwhile_stays",),
    ),
    Mutant(
        "reduced motion is ignored",
        "app/ui/showing/slideshow.py",
        "if cuts or following not in mixable:",
        "if following not in mixable:",
        (f"{_SLIDES}::test_with_reduced_motion_it_cuts",),
    ),
    Mutant(
        "thumbnails keep the style of before",
        "app/ui/film_strip/thumbnails.py",
        "or shown[0] == self._look",
        "or shown[0] is not None",
        (f"{_STRIP}::test_another_style_styles_the_thumbnails_anew",),
    ),
    Mutant(
        "thumbnails are kept for ever",
        "app/ui/film_strip/thumbnails.py",
        "            self._plain.popitem(last=False)\n",
        "            break\n",
        (f"{_STRIP}::test_memory_is_bounded_however_many_pictures_are_seen",),
    ),
    Mutant(
        "before/after is of the picture on screen and not of the saved one",
        "app/ui/showing/controller.py",
        "self.before_after.save(saved.picture)",
        "self.before_after.save()",
        (f"{_SAVED}::test_before_after_is_of_the_saved_picture_and_not_of_the_next_one",),
    ),
    Mutant(
        "a square wipe is wide",
        "app/export/before_after/wipe.py",
        "    if square:\n",
        "    if False:\n",
        (f"{_SAVED}::test_a_wipe_of_the_saved_picture_takes_six_seconds",),
    ),
    Mutant(
        "Escape closes a projector that fills the screen",
        "app/ui/showing/projector.py",
        "        if event.key() == Qt.Key.Key_Escape and self.isFullScreen():\n",
        "        if False:\n",
        ("tests/app/ui/window/test_projector.py::test_escape_leaves_its_full_screen_first",),
    ),
)
