"""Mutants of mattes, and of painting only a person or only the background."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SCENE = "tests/app/engine/matting/test_scene_mattes.py"
_FILES = "tests/app/engine/matting/test_matte_files.py"
_MODEL = "tests/app/engine/matting/test_model_mattes.py"
_CUTOUT = "tests/app/engine/matting/test_cutout.py"
_NATIVE = "tests/kernels/frames/test_native_matting.py"
_KERNELS = "tests/kernels/frames/test_matting_kernels.py"
_WINDOW = "tests/app/ui/window/test_person.py"
_BRUSH = "tests/app/engine/matting/test_brushing.py"
_BRUSH_WINDOW = "tests/app/ui/window/test_brush.py"
_LOOP = "tests/app/live/test_finishing_again.py"
_AGAIN = "tests/app/engine/test_finishing_again.py"
_SERVE = "tests/app/server/test_mattes.py"
_STYLIZE = "tests/app/commands/test_mattes.py"
_REFUSED = "tests/app/live/test_refused_mattes.py"

MUTANTS = (
    Mutant(
        "a refused matte is taken again by the next frame",
        "app/live/frame_loop.py",
        "            self._wanted = kept  # otherwise",
        "            pass  # otherwise",
        (f"{_REFUSED}::test_a_scene_of_another_shape_is_told_once_and_the_stream_goes_on",),
    ),
    Mutant(
        "a refused matte takes the one before along",
        "app/live/frame_loop.py",
        "        if before is not None and before.matte != refused.matte:\n",
        "        if False:\n",
        (f"{_REFUSED}::test_the_matte_before_stays",),
    ),
    Mutant(
        "the dialog covers the countdown",
        "app/ui/person/controller.py",
        "            self._fold()\n",
        "",
        (f"{_WINDOW}::test_the_dialog_makes_room_for_the_countdown_and_comes_back",),
    ),
    Mutant(
        "a shadow is a person",
        "kernels/frames/native/matting.h",
        "fabsf(d.light) - kShade * shadow * plain;",
        "fabsf(d.light);",
        (f"{_NATIVE}::test_mattes_are_those_of_the_reference",),
    ),
    Mutant(
        "a bright edge makes a person grow",
        "kernels/frames/matting.py",
        "ENOUGH = 8.0",
        "ENOUGH = 800.0",
        (f"{_SCENE}::test_a_person_is_as_large_as_the_matte",),
    ),
    Mutant(
        "a matte forgets the last one in the native library",
        "kernels/frames/native/smoothing.cpp",
        "rough_rows(m, compares, !first, rough, begin, end);",
        "rough_rows(m, compares, false, rough, begin, end);",
        (f"{_NATIVE}::test_mattes_from_elsewhere_are_steadied_in_the_same_way",),
    ),
    Mutant(
        "the light of a stream is not followed",
        "app/engine/matting/difference.py",
        "FOLLOWED = 0.5 ",
        "FOLLOWED = 0.0 ",
        (f"{_SCENE}::test_light_that_changes_slowly_is_no_person",),
    ),
    Mutant(
        "a camera is checked in the pixels of the small copy",
        "app/engine/matting/difference.py",
        "max(abs(along) * scale for along, scale",
        "max(abs(along) for along, scale",
        (f"{_SCENE}::test_a_camera_may_shake_by_a_pixel",),
    ),
    Mutant(
        "mattes do not mirror the picture beyond its edges",
        "kernels/frames/native/smoothing/sliding.h",
        "fill(all.begin, there.begin), fill(there.end, all.end);",
        "fill(all.begin, there.begin);",
        (f"{_NATIVE}::test_windows_beyond_the_edges_mirror_frames_of_any_size",),
    ),
    Mutant(
        "a moved camera is no trouble",
        "app/engine/matting/difference.py",
        "            found = Trouble.MOVED\n",
        "            pass\n",
        (f"{_SCENE}::test_a_camera_that_moves_is_named_as_the_trouble",),
    ),
    Mutant(
        "holes in a person stay open",
        "app/engine/matting/refining.py",
        "        rough = np.maximum(rough, enlarged(holes))\n",
        "        pass\n",
        (f"{_SCENE}::test_a_small_hole_in_a_person_is_closed",),
    ),
    Mutant(
        "holes of any size are closed",
        "app/engine/matting/refining.py",
        "LARGEST_HOLE = 0.01 ",
        "LARGEST_HOLE = 0.9 ",
        (f"{_SCENE}::test_the_wall_under_an_arm_stays_background",),
    ),
    Mutant(
        "a scene is its first frame",
        "app/engine/matting/scene.py",
        "return ordered[len(ordered) // 2]",
        "return pictures[0]",
        (f"{_SCENE}::test_something_that_passes_is_not_part_of_the_scene",),
    ),
    Mutant(
        "a scene is stretched to a frame of another shape",
        "app/engine/matting/source.py",
        "            self._check_shape(frame)\n",
        "",
        (f"{_SCENE}::test_a_frame_of_another_shape_is_refused",),
    ),
    Mutant(
        "learned scenes fill the disk",
        "app/engine/matting/files.py",
        "[:-KEPT]",
        "[:0]",
        (f"{_FILES}::test_only_the_newest_scenes_are_kept",),
    ),
    Mutant(
        "a mask of NaN makes a matte",
        "app/engine/matting/model.py",
        "if not np.isfinite(mask).all():",
        "if False:",
        (f"{_MODEL}::test_a_mask_that_is_no_number_is_refused",),
        breaks=("MatteError",),
    ),
    Mutant(
        "logits are probabilities",
        "app/engine/matting/model.py",
        "return np.ascontiguousarray(mask if _probable(mask) else _sigmoid(mask))",
        "return np.ascontiguousarray(mask)",
        (f"{_MODEL}::test_logits_become_probabilities",),
    ),
    Mutant(
        "person and background cannot be swapped",
        "app/engine/matting/cutout.py",
        "(config.paint == ONLY_PERSON) == config.swap_matte",
        "config.paint != ONLY_PERSON",
        (f"{_CUTOUT}::test_only_the_person_is_painted",),
    ),
    Mutant(
        "a green rest shows the frame",
        "app/engine/matting/cutout.py",
        "green = config.rest == GREEN",
        "green = False",
        (f"{_CUTOUT}::test_the_rest_is_green_if_wanted",),
    ),
    Mutant(
        "a moved painting covers the whole frame",
        "app/engine/engine/finishing.py",
        "        pixels, copy = _mixed(parts, styled.frame.pixels, there, shown)\n",
        "        pixels, copy = styled.frame.pixels, None\n",
        (f"{_CUTOUT}::test_a_painting_that_moves_is_cut_out_of_the_newest_frame",),
    ),
    Mutant(
        "without a scene everything is painted in silence",
        "app/engine/engine/finishing.py",
        "self._cutout.limitation(config)",
        '""',
        (f"{_CUTOUT}::test_without_a_scene_everything_is_painted_and_said",),
    ),
    Mutant(
        "a film begins with the matte of the one before",
        "app/engine/engine/engine.py",
        "        self._cutout.reset()\n",
        "",
        (f"{_CUTOUT}::test_a_stream_begins_anew_after_a_reset",),
    ),
    Mutant(
        "a part of a film begins without a matte",
        "app/engine/engine/engine.py",
        '            self._cutout.restore(part_of(state, "matte"))\n',
        "",
        (f"{_CUTOUT}::test_a_stream_goes_on_from_its_state_as_if_it_had_not_ended",),
    ),
    Mutant(
        "a learned scene outlives its source",
        "app/ui/person/controller.py",
        "            self._forget()\n            if is_learned(file):\n",
        "",
        (f"{_WINDOW}::test_another_source_ends_the_learned_scene",),
    ),
    Mutant(
        "the brush has a hard edge",
        "app/engine/matting/brushing.py",
        "share = np.clip((1 - far) / (1 - HARD), 0, 1)",
        "share = (far < 1).astype(np.float32)",
        (f"{_BRUSH}::test_a_dab_is_full_in_its_middle_and_soft_at_its_edge",),
    ),
    Mutant(
        "strokes are dotted",
        "app/engine/matting/brushing.py",
        "SPACING = 0.25 ",
        "SPACING = 3.0 ",
        (f"{_BRUSH}::test_a_stroke_has_no_gaps_and_no_beads",),
    ),
    Mutant(
        "a mask fades in only after the painting under way",
        "app/engine/config.py",
        '    "matte",\n)\n',
        ")\n",
        (f"{_BRUSH}::test_a_stroke_takes_effect_on_the_painting_under_way",),
    ),
    Mutant(
        "each stroke on a still runs the network",
        "app/live/frame_loop.py",
        "if frame is not None or refine or not self._finish_again_or_fail():",
        "if True:",
        (f"{_LOOP}::test_the_network_does_not_run_while_the_mask_changes",),
    ),
    Mutant(
        "a stroke waits until the picture is refined",
        "app/live/frame_loop.py",
        "            self._finish_again()\n",
        "            pass\n",
        (f"{_LOOP}::test_a_stroke_is_shown_while_the_picture_is_refined",),
    ),
    Mutant(
        "a slider on a still shows the picture of another frame",
        "app/engine/engine/finishing.py",
        " or inferred.frame.pixels is not frame.pixels",
        "",
        (f"{_AGAIN}::test_another_frame_runs_through_the_network",),
    ),
    Mutant(
        "a paused stream is smoothed with itself",
        "app/engine/engine/finishing.py",
        "made = self._picture(inferred, output)",
        "made = self._picture(inferred)",
        (f"{_AGAIN}::test_a_paused_stream_is_not_smoothed_with_itself",),
    ),
    Mutant(
        "a style that was replaced is still on the picture",
        "app/engine/engine/engine.py",
        "        self._style_weights.evict(key)\n        self._finishing.forget_output()\n",
        "        self._style_weights.evict(key)\n",
        (f"{_AGAIN}::test_whatever_the_network_depends_on_makes_it_run_again",),
    ),
    Mutant(
        "the next picture of a strip has the mask of the one before",
        "app/live/source_reports.py",
        "            if another:\n                self._left()\n",
        "            if another:\n",
        (
            f"{_LOOP}::"
            "test_the_next_picture_of_a_strip_is_not_painted_by_the_mask_of_the_one_before",
        ),
    ),
    Mutant(
        "a stroke on the picture before is a mask of the next one",
        "app/engine/matting/cutout.py",
        "        if self._left and is_of_source(Path(file)):\n",
        "        if False:\n",
        (
            f"{_LOOP}::"
            "test_the_next_picture_of_a_strip_is_not_painted_by_the_mask_of_the_one_before",
        ),
    ),
    Mutant(
        "a mask stays for the next picture if that has the same name",
        "app/ui/person/controller.py",
        "if stepped or title != self._title:",
        "if title != self._title:",
        (
            f"{_BRUSH_WINDOW}"
            "::test_the_next_picture_of_a_strip_forgets_the_mask_even_with_the_same_name",
        ),
    ),
    Mutant(
        "the window waits until a mask is written",
        "app/ui/person/mask_files.py",
        "        self._session.write(work, done, failure=",
        "        done(work())\n        self._session.write(lambda: None, lambda _: None, failure=",
        (f"{_BRUSH_WINDOW}::test_strokes_are_written_in_order_on_another_thread",),
    ),
    Mutant(
        "the list of parts is about people while a mask is in use",
        "app/ui/person/dialog.py",
        "        paint.show_options(parts)\n",
        "",
        (f"{_BRUSH_WINDOW}::test_the_list_names_the_parts_by_the_mask",),
    ),
    Mutant(
        "cards show only the person painted",
        "app/live/previews/painter.py",
        "        config.unmatted(),\n",
        "        config,\n",
        (
            "tests/app/live/previews/test_painter.py::"
            "test_cards_show_the_whole_painting_whatever_part_of_the_picture_is_painted",
        ),
    ),
    Mutant(
        "the film strip shows only the person painted",
        "app/ui/film_strip/controller.py",
        "        config.unmatted(),\n",
        "        config,\n",
        (
            "tests/app/ui/window/test_film_strip.py::"
            "test_thumbnails_show_the_whole_painting_whatever_part_of_the_picture_is_painted",
        ),
    ),
    Mutant(
        "any picture is a mask",
        "app/engine/matting/files.py",
        'image.mode != "L" or max(image.size) > LARGEST_MASK',
        "False",
        (f"{_BRUSH}::test_a_picture_that_is_no_mask_is_refused",),
        breaks=("MatteError",),
    ),
    Mutant(
        "each draft of a stroke is a change",
        "app/ui/looks/history.py",
        "_WIDTH, _SPEED, _SHARES, _PERSON",
        "_WIDTH, _SPEED, _SHARES",
        (f"{_BRUSH_WINDOW}::test_a_drag_is_one_change",),
    ),
    Mutant(
        "undo brings back the mask of another picture",
        "app/ui/main_window/parts.py",
        "        self.person.source_left.connect(self.undo.forget_source)\n",
        "",
        (
            f"{_BRUSH_WINDOW}"
            "::test_another_picture_forgets_the_mask_and_undo_does_not_bring_it_back",
        ),
    ),
    Mutant(
        "the brush paints beside the pointer on a mirrored picture",
        "app/ui/viewport/picture_tool.py",
        "(1 - x if self._mirrored else x)",
        "x",
        (f"{_BRUSH_WINDOW}::test_a_stroke_on_a_mirrored_picture_paints_what_is_under_it",),
    ),
    Mutant(
        "a server that finds nobody paints everything in silence",
        "app/commands/serve/painter.py",
        "        if not self.matted:\n            check_matted(look)\n",
        "",
        (f"{_SERVE}::test_a_server_that_finds_nobody_refuses_the_options",),
    ),
    Mutant(
        "a server forgets the file that finds people",
        "app/commands/serve/painter.py",
        "            matte=self._config.matte,\n",
        "",
        (f"{_SERVE}::test_a_part_of_a_picture_is_painted_where_the_request_says_so",),
    ),
    Mutant(
        "stylize paints a person without knowing one",
        "app/commands/common_flags.py",
        "    if args.paint != EVERYTHING:\n",
        "    if False:\n",
        (f"{_STYLIZE}::test_a_person_needs_a_way_to_be_found",),
    ),
    Mutant(
        "a GPU paints the person in place of the background",
        "kernels/frames/native/matting.h",
        "here = p.swapped ? 1 - share : share;",
        "here = share;",
        (f"{_KERNELS}::test_pictures_are_mixed_as_on_the_cpu",),
    ),
    Mutant(
        "a GPU takes every shadow for a person",
        "kernels/frames/native/matting.h",
        "const float plain = enlarged_tile(p, row, column, tile);",
        "const float plain = 0;",
        (f"{_KERNELS}::test_mattes_by_difference_have_the_bits_of_the_cpu",),
    ),
    Mutant(
        "a painting on a GPU is cut out by the processor",
        "app/engine/engine/finishing.py",
        "    if there is None or parts.green:\n        return parts.mixed(pixels), None\n",
        "    if screen != ():\n        return parts.mixed(pixels), None\n",
        (f"{_CUTOUT}::test_a_painting_on_a_gpu_is_cut_out_there_as_on_the_cpu",),
    ),
    Mutant(
        "a stream that leaves the GPU begins with another matte",
        "app/engine/matting/refining.py",
        "            frame, rough = self._last\n"
        "            self._matting.rough(frame, None, rough, first=True)\n",
        "            pass\n",
        (f"{_CUTOUT}::test_a_stream_that_leaves_the_gpu_goes_on_with_its_matte",),
    ),
    Mutant(
        "a film is waited for as if somebody stepped out of it",
        "app/ui/person/controller.py",
        "        elif self._is_film():\n",
        "        elif False:\n",
        (
            "tests/app/ui/window/test_person.py"
            "::test_a_film_teaches_the_scene_at_once_and_is_asked_for_a_part_without_people",
        ),
    ),
)
