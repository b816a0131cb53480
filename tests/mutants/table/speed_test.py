"""Mutants of the speed test of all engines."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_WINDOW = "tests/app/ui/window/test_speed_test.py"
_MEASURING = "tests/app/speed_test/test_measuring.py"
_LAYERS = "tests/app/speed_test/test_layers.py"
_VIEWPORT = "tests/app/ui/widgets/test_viewport.py"

MUTANTS = (
    Mutant(
        "a speed test leaves its size to the stream",
        "app/live/session/choice.py",
        "if self._test is None or not shown.compare:",
        "if self._test is None:",
        (f"{_WINDOW}::test_the_test_has_a_size_of_its_own_and_the_stream_gets_its_own_back",),
    ),
    Mutant(
        "a picture saved from a speed test has the size of the test",
        "app/ui/controllers/full_quality.py",
        "        if not styled.config.compare:\n",
        "        if styled.config.compare:\n",
        (f"{_WINDOW}::test_a_saved_picture_has_the_settings_of_the_stream",),
    ),
    Mutant(
        "the stream runs while engines are measured",
        "app/ui/speed_test/controller.py",
        "        self._session.rest(on)\n",
        "        self._session.rest(False)\n",
        (f"{_WINDOW}::test_the_stream_rests_while_engines_are_measured",),
    ),
    Mutant(
        "a ratio is shown for pictures that differ",
        "app/speed_test/measuring.py",
        "latency.median if agrees else None",
        "latency.median",
        (f"{_MEASURING}::test_a_picture_that_differs_has_no_ratio",),
    ),
    Mutant(
        "plain PyTorch is measured after those it is compared with",
        "app/speed_test/measuring.py",
        "found[n].kernels != BASELINE",
        "found[n].kernels == BASELINE",
        (f"{_MEASURING}::test_each_engine_has_a_time_and_a_ratio_to_plain_pytorch_on_its_device",),
    ),
    Mutant(
        "a divided block is a layer of its own",
        "app/speed_test/layers.py",
        'name.partition(".")[0]',
        "name",
        (f"{_LAYERS}::test_a_divided_block_is_summed_to_the_block_of_the_other_network",),
    ),
    Mutant(
        "layers are shown whatever they add up to",
        "app/speed_test/layers.py",
        "network_ms / FITS <= total <= network_ms * FITS",
        "total > 0",
        (f"{_LAYERS}::test_layers_have_to_add_up_to_about_the_time_of_the_network",),
    ),
    Mutant(
        "an engine chosen in a speed test is the stream's",
        "app/ui/speed/engine_controls.py",
        'if self.test.active and name == "kernels":',
        'if name == "":',
        (f"{_WINDOW}::test_an_engine_of_the_test_is_not_the_streams",),
    ),
    Mutant(
        "one frame makes a figure",
        "app/engine/result.py",
        "return self.frames >= LEAST_TIMED",
        "return self.frames >= 1",
        (f"{_VIEWPORT}::test_figures_wait_for_three_frames",),
    ),
    Mutant(
        "the version of the style changes during a speed test",
        "app/ui/speed/tested_input.py",
        "if not self._active or not self.network:",
        "if True:",
        (f"{_WINDOW}::test_the_version_that_runs_stays_during_the_test",),
    ),
    Mutant(
        "a speed test refuses precisions that are slow",
        "app/ui/speed/engine_controls.py",
        "refusals = limits.absences",
        "refusals = limits.refusals",
        (f"{_WINDOW}::test_a_test_offers_slow_precisions_and_disables_what_cannot_run",),
    ),
    Mutant(
        "the curve keeps the frame that warms up",
        "app/ui/speed_test/curve.py",
        "        if comparison.frames:\n",
        "        if True:\n",
        ("tests/app/ui/speed_test/test_curve.py::test_the_first_frame_warms_up_and_is_no_point",),
    ),
)
