"""Mutants of undo, of resetting controls, of zoom and of looks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

HISTORY = "tests/app/ui/looks/test_history.py::"
LOOKS = "tests/app/ui/window/test_looks.py::"
ZOOM = "tests/app/ui/widgets/test_zoom.py::"
RESET = "tests/app/ui/window/test_reset.py::"
UNDO = "tests/app/ui/window/test_undo.py::"

MUTANTS = (
    Mutant(
        "a drag of a slider is undone pixel by pixel",
        "app/ui/looks/gestures.py",
        "return self._count if self._pressed or self._key is not None else None",
        "return None",
        (UNDO + "test_a_slider_from_its_press_to_its_release_is_one_change",),
    ),
    Mutant(
        "what was refused can be undone",
        "app/ui/looks/undo.py",
        "self.history.refuse(returned)",
        "pass",
        (UNDO + "test_a_refused_choice_cannot_be_undone",),
    ),
    Mutant(
        "a refusal of what is done again stays in the way",
        "app/ui/looks/history.py",
        "del self._kept[at:back]",
        "self._at = back",
        (HISTORY + "test_a_choice_that_is_refused_when_it_is_done_again_leaves_no_entry",),
    ),
    Mutant(
        "undo chooses a style that was removed",
        "app/ui/looks/undo.py",
        "self.history.keep_styles(self._session.catalog.titles.keys())",
        "pass",
        (UNDO + "test_a_style_that_was_removed_does_not_come_back",),
    ),
    Mutant(
        "undo says nothing",
        "app/ui/looks/undo.py",
        'self._say(tr("Undone: {change}", change=title))',
        "pass",
        (UNDO + "test_what_was_undone_and_done_again_is_said",),
    ),
    Mutant(
        "undo leaves the speed test",
        "app/ui/looks/undo.py",
        "replace(config, compare=self._session.config.compare)",
        "replace(config)",
        (UNDO + "test_undo_leaves_the_view_as_it_is",),
    ),
    Mutant(
        "a double click on a slider is two changes",
        "app/ui/looks/gestures.py",
        "case QEvent.Type.MouseButtonDblClick:",
        "case QEvent.Type.User:",
        (RESET + "test_a_double_click_on_a_slider_resets_it_and_is_one_change",),
    ),
    Mutant(
        "a key resets nothing",
        "app/ui/looks/reset.py",
        "if event.type() == QEvent.Type.KeyPress:",
        "if False:",
        (RESET + "test_delete_on_a_control_resets_it_alone",),
    ),
    Mutant(
        "the tip of a control loses its hint with the next choice",
        "app/ui/looks/reset.py",
        "case QEvent.Type.ToolTipChange | QEvent.Type.EnabledChange:",
        "case QEvent.Type.EnabledChange:",
        (RESET + "test_every_control_tells_in_its_tip_how_it_is_reset",),
    ),
    Mutant(
        "zoom goes to the middle instead of the pointer",
        "app/ui/viewport/zoom.py",
        "return Zoom(factor, x, y).kept_inside(picture, area)",
        "return Zoom(factor).kept_inside(picture, area)",
        (ZOOM + "test_the_pixel_at_the_pointer_stays_there",),
    ),
    Mutant(
        "a zoomed picture is scaled as a whole",
        "app/ui/viewport/frame_painter.py",
        "seen = place & area",
        "seen = place",
        (ZOOM + "test_of_a_picture_of_24_megapixels_no_copy_larger_than_the_screen_is_kept",),
    ),
    Mutant(
        "large pixels are blurred",
        "app/ui/viewport/scaling.py",
        "cv2.INTER_NEAREST if crisp else cv2.INTER_LINEAR",
        "cv2.INTER_LINEAR",
        (ZOOM + "test_pixels_are_squares_from_200_percent_and_smooth_below",),
    ),
    Mutant(
        "a mirrored picture shows the part on its other side",
        "app/ui/viewport/frame_painter.py",
        "part.moveLeft(place.width() - part.x() - part.width())",
        "pass",
        (ZOOM + "test_a_mirrored_picture_zooms_where_the_pointer_is",),
    ),
    Mutant(
        "a zoomed stream stays as coarse as the window",
        "app/ui/viewport/viewport.py",
        "size = self.zoom.shown_size or QSize(",
        "size = QSize(",
        (ZOOM + "test_a_zoomed_stream_is_wanted_in_the_size_it_is_shown",),
    ),
    Mutant(
        "a look is not stored in saved pictures",
        "app/export/image_metadata.py",
        "KEY: Look.of(styled.config).text(),",
        "",
        (LOOKS + "test_a_dropped_snapshot_brings_its_look_back",),
    ),
    Mutant(
        "a setting of a look is taken without a check",
        "app/looks/look.py",
        "if not PARAMETERS[name].valid(value):",
        "if False:",
        ("tests/app/looks/test_look.py::test_what_is_no_look_says_why_in_one_sentence",),
        breaks=("LookError",),
    ),
    Mutant(
        "a damaged file of looks is overwritten",
        "app/looks/look_file.py",
        "shutil.copyfile(self.path, self.path.with_name(DAMAGED))",
        "pass",
        ("tests/app/looks/test_look.py::test_a_damaged_file_is_one_sentence_and_a_copy_is_kept",),
    ),
    Mutant(
        "old looks replace newer ones",
        "app/looks/look_file.py",
        "if number > self._written:",
        "if True:",
        ("tests/app/looks/test_look.py::test_older_looks_never_replace_newer_ones",),
    ),
    Mutant(
        "a look is not saved under the name that was typed",
        "app/ui/looks/controller.py",
        "if name := look_name(text):",
        "if False:",
        (LOOKS + "test_a_look_is_saved_and_used_again",),
    ),
    Mutant(
        "the first result of a picture has other strokes than the refined one",
        "app/engine/resolution.py",
        "return soon if soon.strokes == strokes else Sizes(strokes, strokes)",
        "return soon",
        (
            "tests/app/engine/test_resolution.py::"
            "test_the_first_result_of_a_still_picture_has_the_strokes_of_the_refined_one",
        ),
    ),
    Mutant(
        "nothing says that a picture gets better",
        "app/live/frame_loop.py",
        "self._events.refining(0.0)",
        "pass",
        (
            "tests/app/ui/window/test_refining.py::"
            "test_refining_is_shown_until_the_better_picture_is_there",
        ),
    ),
)
