"""Mutants of paintings that WebGPU's shaders move between the pieces of the next one."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SHADERS = "tests/kernels/network/webgpu/test_moving.py::"
_PIECES = "tests/kernels/network/webgpu/test_streamed.py::"
_ENGINE = "tests/app/engine/test_shader_moving.py::"
_FOLDER = "kernels/network/webgpu"

MUTANTS = (
    Mutant(
        "by shaders, a painting moves by chance after a cut",
        f"{_FOLDER}/moving/showing.py",
        "return select(1.0, 0.0, sum < SAME * cells);",
        "return 1.0;",
        (f"{_SHADERS}test_a_cut_leaves_the_painting_as_it_is",),
    ),
    Mutant(
        "by shaders, a new painting appears at once",
        f"{_FOLDER}/moving/stream.py",
        "if self._frames >= FADE:",
        "if self._frames:",
        (f"{_SHADERS}test_a_new_painting_fades_in_over_the_moved_one_before",),
    ),
    Mutant(
        "by shaders, a motion counts however little it explains",
        f"{_FOLDER}/moving/trusting.py",
        "certain * agreement_of(place, row, column), clamp(gain, 0.0, 1.0),",
        "certain * agreement_of(place, row, column), 1.0,",
        (f"{_SHADERS}test_paintings_move_as_on_the_cpu",),
    ),
    Mutant(
        "a move through WebGPU waits for the whole next painting",
        f"{_FOLDER}/plan.py",
        "if form.measured >= pieces_from:",
        "if form.measured < 0:",
        (f"{_PIECES}test_pictures_in_pieces_are_those_of_one_submission",),
    ),
    Mutant(
        "a new share of a mix reaches into a painting under way",
        f"{_FOLDER}/mixing.py",
        "        self._device.background.wait()\n",
        "",
        (f"{_PIECES}test_a_picture_in_pieces_keeps_its_mix",),
    ),
    Mutant(
        "shaders move paintings on the processor's cores",
        "app/engine/engine/movers.py",
        "is_webgpu(device) and not adapter_of(device).software",
        "is_webgpu(device)",
        (f"{_ENGINE}test_on_a_software_gpu_the_cpu_moves_the_painting",),
    ),
    Mutant(
        "a GPU that cannot move a painting is tried again and again",
        "app/engine/engine/moving.py",
        "        self._on_failure(self._device, error)\n",
        "",
        (f"{_ENGINE}test_a_gpu_that_fails_to_move_is_given_up_with_its_reason",),
    ),
    Mutant(
        "a wait for the GPU makes a stream show fewer frames",
        "app/live/moves.py",
        "self._fluid.moved(taken.begun + queued_s, ended)",
        "self._fluid.moved(taken.begun, ended)",
        ("tests/app/live/test_fluid.py::test_a_wait_for_the_gpu_does_not_count_as_moving",),
    ),
)
