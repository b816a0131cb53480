"""Mutants of streams that move their last painting."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LOOP = "tests/app/live/test_fluid.py"
_ENGINE = "tests/app/engine/test_moving.py"
_MOVING = "tests/app/engine/post/test_moving.py"
_NATIVE = "tests/kernels/frames/test_native_moving.py"
_KERNELS = "tests/kernels/frames/test_moving_paintings.py"
_MOVER = "tests/models/inference/test_frame_mover.py"
_DISPLAY = "tests/app/engine/test_display_path.py"


MUTANTS = (
    Mutant(
        "nothing is shown while a stream is painted",
        "app/live/frame_loop.py",
        "        elif self._moves.under_way:\n            self._moves.show_newer()\n",
        "",
        (f"{_LOOP}::test_frames_between_two_paintings_show_the_last_one_moved",),
    ),
    Mutant(
        "a stream between the two limits is fluid by turns",
        "app/live/fluid.py",
        "(FAST_S if self.active else SLOW_S)",
        "SLOW_S",
        (f"{_LOOP}::test_a_painting_that_is_slow_once_changes_nothing_and_a_slow_stream_is_fluid",),
    ),
    Mutant(
        "the painting of another style or stream moves on",
        "app/engine/engine/engine.py",
        "        self._cutout.reset()\n        self._finishing.reset_history()\n",
        "        self._cutout.reset()\n",
        (
            f"{_ENGINE}::test_a_painting_of_another_style_does_not_show_through",
            f"{_ENGINE}::test_another_source_begins_without_a_painting",
        ),
    ),
    Mutant(
        "frames of another shape are painted over",
        "app/engine/engine/moving.py",
        "!= (styled.frame.width, styled.frame.height)",
        "== (0, 0)",
        (f"{_ENGINE}::test_frames_of_another_size_are_not_painted_over",),
    ),
    Mutant(
        "a new painting appears at once",
        "kernels/frames/native/smoothing.cpp",
        "if (++left.shown >= kFadeFrames) left.paintings = 1;",
        "left.paintings = 1;",
        (f"{_MOVING}::test_a_new_painting_fades_in",),
    ),
    Mutant(
        "a painting moves where its motion explains nothing",
        "kernels/frames/native/smoothing/moving.h",
        "const float certain = each[column] * share, counts = certain * gained[column];",
        "const float certain = 1.f, counts = gained[column];",
        (f"{_NATIVE}::test_paintings_move_as_in_the_reference",),
    ),
    Mutant(
        "a painting melts where its motion disagrees",
        "kernels/frames/native/smoothing/moving.h",
        " * agreement_of(level, row, at);",
        ";",
        (f"{_MOVING}::test_a_thing_that_turns_at_once_is_not_melted",),
    ),
    Mutant(
        "noise shakes the painting of a still scene",
        "kernels/frames/native/smoothing/moving.h",
        "counts = certain * gained[column];",
        "counts = certain;",
        (f"{_MOVING}::test_noise_does_not_shake_the_painting_of_a_still_scene",),
    ),
    Mutant(
        "after a cut, a painting moves by chance",
        "kernels/frames/native/smoothing/moving.h",
        "shows_another_scene(trust[0]) ? 0.f : 1.f",
        "shows_another_scene(trust[0]) ? 1.f : 1.f",
        (
            f"{_MOVING}::test_after_a_cut_the_painting_stays_as_it_was",
            f"{_MOVING}::test_no_ghost_of_the_scene_before_a_cut_is_mixed_in",
        ),
    ),
    Mutant(
        "moving a painting counts as the time of the network",
        "app/engine/network_pool.py",
        "            clock.exclude(time.perf_counter() - begun)\n",
        "",
        (
            "tests/app/engine/test_network_pool.py::"
            "test_what_runs_between_two_layers_does_not_count_as_the_network",
        ),
    ),
    Mutant(
        "moved paintings count as painted",
        "app/live/stream_metrics.py",
        "            if not styled.moved:\n                self._painted",
        "            if styled:\n                self._painted",
        (
            "tests/app/live/test_stream_metrics.py::"
            "test_paintings_that_move_are_counted_apart_from_what_is_shown",
        ),
    ),
    Mutant(
        "the badge hides how few frames are painted",
        "app/ui/speed/badge.py",
        "if 0 < painted < _FEWER * shown:",
        "if painted < 0:",
        ("tests/app/ui/speed/test_words.py::test_the_badge_shows_both_rates_where_paintings_move",),
    ),
    Mutant(
        "a painting that stays on a GPU is not moved",
        "app/engine/engine/finishing.py",
        "            painting = rendering.kept\n",
        "            painting = None\n",
        (f"{_ENGINE}::test_a_painting_on_a_gpu_moves_as_one_on_the_cpu",),
    ),
    Mutant(
        "every painting stays on the GPU, however fast it is",
        "app/engine/display_path.py",
        "keeps = moves and self._is_slow(styler)",
        "keeps = moves",
        (f"{_DISPLAY}::test_the_results_of_slow_paintings_alone_stay_on_the_gpu_to_be_moved",),
    ),
    Mutant(
        "a frame is painted over one that is still copied to be moved",
        "models/inference/frame_styler.py",
        "                slot.kept.wait_for_reads(self._up)\n",
        "                pass\n",
        (f"{_MOVER}::test_the_next_frame_in_its_place_waits_until_a_painting_is_copied",),
    ),
    Mutant(
        "paintings move after the network's work, not ahead of it",
        "models/inference/side_stream.py",
        "torch.cuda.Stream(priority=FIRST)",
        "torch.cuda.Stream()",
        (f"{_MOVER}::test_the_stream_of_moves_is_ahead_of_the_network",),
    ),
    Mutant(
        "on a GPU, a painting moves by chance after a cut",
        "kernels/frames/native/moving.h",
        "return sum < kSameTrust * p.rows * p.columns ? 0.f : 1.f;",
        "return sum < kSameTrust * p.rows * p.columns ? 1.f : 1.f;",
        (
            f"{_KERNELS}::test_paintings_move_as_on_the_cpu",
            f"{_KERNELS}::test_a_cut_on_the_gpu_leaves_the_painting_as_it_is",
        ),
    ),
    Mutant(
        "a GPU moves paintings with other limits than the CPU",
        "kernels/frames/launchers.py",
        "if round(1000 * getattr(module, name)) != thousandths:",
        "if False:",
        (f"{_KERNELS}::test_a_library_whose_constants_differ_is_refused",),
    ),
    Mutant(
        "a GPU is never asked whether it is done with a painting",
        "app/engine/engine/engine.py",
        "return submitted.submission.ready()",
        "return True",
        (f"{_DISPLAY}::test_a_frame_in_flight_is_ready_once_its_picture_is",),
    ),
    Mutant(
        "a GPU stands still until the next frame is due",
        "app/live/moves.py",
        "            self.show_newer(min(left, BETWEEN_S))\n",
        "            time.sleep(left)\n",
        (f"{_LOOP}::test_before_the_next_frame_is_due_newer_frames_are_shown",),
    ),
    Mutant(
        "a painting that newer frames have overtaken is shown",
        "app/live/frame_loop.py",
        "        self._moves.resume()\n        try:",
        "        try:",
        (f"{_LOOP}::test_while_no_newer_frame_comes_the_painting_under_way_is_waited_for",),
    ),
    Mutant(
        "a stream that is paused keeps a moved painting",
        "app/live/frame_loop.py",
        "self._reduced or self._moved_to",
        "self._reduced",
        (f"{_LOOP}::test_a_stream_that_is_paused_paints_the_frame_it_moved_to",),
    ),
)
