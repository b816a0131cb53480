"""Mutants of streams that move their last painting."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LOOP = "tests/app/live/test_fluid.py"
_ENGINE = "tests/app/engine/test_moving.py"
_MOVING = "tests/app/engine/post/test_moving.py"
_NATIVE = "tests/kernels/frames/test_native_moving.py"


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
        "        self._finishing.reset_history()\n",
        "",
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
)
