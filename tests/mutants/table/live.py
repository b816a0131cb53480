"""Mutants of the live loop."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_STREAMING = "tests/app/live/session/test_streaming.py"
_CHOICES = "tests/app/live/session/test_choices.py"
_LARGE = "tests/app/live/test_large_pictures.py"
_STOPPING = "tests/kernels/network/cpu/test_stopping.py"
_QUALITY = "tests/app/ui/window/test_full_quality.py"
_MESSAGES = "tests/app/ui/window/test_messages.py"


MUTANTS = (
    Mutant(
        "a layer goes on although it should stop",
        "kernels/network/cpu/layer.h",
        "layer.stop->load(std::memory_order_relaxed) != 0",
        "false",
        (f"{_STOPPING}::test_a_stopped_layer_computes_nothing_more",),
    ),
    Mutant(
        "a layer that stopped passes for a whole one",
        "kernels/network/cpu/launchers.py",
        "        flag.check()\n",
        "",
        (f"{_STOPPING}::test_every_layer_stops",),
    ),
    Mutant(
        "another style does not stop the picture under way",
        "app/live/frame_loop.py",
        "            self.interrupted.set()\n",
        "            pass\n",
        (
            "tests/app/live/test_frame_loop.py::"
            "test_another_network_stops_the_picture_under_way_and_a_slider_does_not",
        ),
    ),
    Mutant(
        "a slow machine refines a still picture less",
        "app/engine/adaptation.py",
        "        if config.size is not None or mode.refines:\n",
        "        if config.size is not None:\n",
        (
            "tests/app/engine/test_adaptation.py::"
            "test_a_still_of_a_picture_style_is_refined_as_of_any_other",
        ),
    ),
    Mutant(
        "a moved painting is saved as it is shown",
        "app/ui/controllers/full_quality.py",
        "not (styled.moved or hurried)",
        "not hurried",
        (f"{_QUALITY}::test_a_result_of_the_stream_does_not_have_the_quality_of_a_still_one",),
    ),
    Mutant(
        "the quality of the stream is saved",
        "app/ui/controllers/full_quality.py",
        "config == styled.config and has_full_quality(styled)",
        "config == styled.config",
        (f"{_QUALITY}::test_a_result_of_the_stream_is_saved_in_full_quality",),
    ),
    Mutant(
        "the last picture of the style before ends the new style's preview",
        "app/ui/controllers/loading_message.py",
        "if styled is not None and not self._is_wanted(styled):",
        "if False:",
        (f"{_MESSAGES}::test_a_style_appears_as_its_preview_until_its_first_picture",),
    ),
    Mutant(
        "a picture in bands keeps another choice waiting",
        "app/live/frame_loop.py",
        "if changed or self.interrupted.is_set():",
        "if False:",
        (f"{_LARGE}::test_another_choice_does_not_wait_for_the_picture_under_way",),
    ),
    Mutant(
        "a canceled picture is begun again",
        "app/live/frame_loop.py",
        "self._styled, self._given_up = self._engine.config, True",
        "self._styled, self._given_up = None, False",
        (f"{_LARGE}::test_a_canceled_picture_is_not_begun_again",),
    ),
    Mutant(
        "a refined picture that is canceled is begun again",
        "app/live/frame_loop.py",
        "config is None or self._given_up:",
        "config is None:",
        (
            "tests/app/live/test_finishing_again.py::"
            "test_a_refined_picture_that_is_canceled_is_refined_after_the_next_change",
        ),
    ),
    Mutant(
        "Esc does not cancel a picture in bands",
        "app/ui/main_window/commands.py",
        "for bar in window.quick_bars if bar.isVisible()",
        "for bar in window.quick_bars[:1] if bar.isVisible()",
        (f"{_LARGE}::test_the_window_shows_the_share_and_cancels",),
    ),
    Mutant(
        "a grabber keeps the oldest frame instead of the newest",
        "app/sources/grabber.py",
        "self._unread = frame\n",
        "self._unread = self._unread or frame\n",
        ("tests/app/sources/test_camera.py::test_a_slow_reader_sees_the_newest_frame",),
    ),
    Mutant(
        "frames that nobody read are not counted as dropped",
        "app/sources/grabber.py",
        "self._dropped += self._unread is not None",
        "self._dropped += 0",
        ("tests/app/sources/test_camera.py::test_a_slow_reader_sees_the_newest_frame",),
    ),
    Mutant(
        "the window gets the oldest result it has not taken instead of the newest",
        "app/live/latest_value.py",
        "self._value, self._awaited = value, False",
        "self._value, self._awaited = self._value or value, False",
        ("tests/app/live/test_worker.py::test_the_newest_value_wins_and_is_taken_once",),
    ),
    Mutant(
        "a slider moved while a frame is computed waits for the next frame",
        "app/live/frame_loop.py",
        "self._engine.finish(inferred, self.wanted)",
        "self._engine.finish(inferred)",
        ("tests/app/live/test_worker.py::test_a_slider_moved_during_a_frame_is_in_that_frame",),
    ),
    Mutant(
        "the engine takes an older config although a newer one is on its way",
        "app/live/frame_loop.py",
        "return  # a newer one is already on its way",
        "pass",
        ("tests/app/live/test_worker.py::test_only_the_newest_of_several_configs_takes_effect",),
    ),
    Mutant(
        "a picture of a choice given up is shown",
        "app/live/session/delivery.py",
        "if result is not None and same_choice(result.config, self._choice.shown):",
        "if result is not None:",
        (f"{_CHOICES}::test_no_picture_of_a_choice_given_up_is_ever_shown",),
    ),
    Mutant(
        "a source that is replaced stays open",
        "app/live/frame_loop.py",
        "self._source.close()",
        "pass",
        (f"{_STREAMING}::test_everything_on_a_source_happens_on_the_engines_thread",),
    ),
    Mutant(
        "a source that failed is still said to be open",
        "app/live/frame_loop.py",
        "self._events.ended()",
        "pass",
        (
            f"{_STREAMING}::"
            "test_a_failing_source_ends_the_stream_with_a_problem_and_another_can_be_opened",
        ),
    ),
    Mutant(
        "the metrics count no dropped frame",
        "app/live/stream_metrics.py",
        "self._dropped += frame.index - self._last_index - 1",
        "self._dropped += 0",
        ("tests/app/live/test_stream_metrics.py",),
    ),
    Mutant(
        "the shortest stretch of a frame is called the bottleneck",
        "app/live/stream_metrics.py",
        "max(ENGINE_PARTS, key=",
        "min(ENGINE_PARTS, key=",
        ("tests/app/live/test_stream_metrics.py",),
    ),
)
