"""Mutants of strokes with a direction."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENGINE = "tests/app/engine/test_texture.py"
_KERNELS = "tests/kernels/frames/test_texture.py"
_CONTROL = "tests/app/ui/window/test_panel.py"

MUTANTS = (
    Mutant(
        "the direction of strokes never reaches the networks",
        "app/engine/engine/inference.py",
        "comb=inferred.comb",
        "comb=None",
        (
            f"{_ENGINE}::"
            "test_the_direction_of_strokes_is_the_styles_or_the_users_and_reaches_networks",
        ),
    ),
    Mutant(
        "a mix has the direction of its first style",
        "app/engine/style_weights.py",
        "self._chosen[shares.index(max(shares))]",
        "self._chosen[0]",
        (
            "tests/app/engine/test_style_weights.py::"
            "test_a_mix_takes_the_direction_of_strokes_of_its_main_style",
        ),
    ),
    Mutant(
        "strokes lie across the lines of the picture",
        "kernels/frames/native/combing.h",
        "return {down * down - right * right, -2 * right * down};",
        "return {right * right - down * down, 2 * right * down};",
        (
            f"{_KERNELS}::test_strokes_that_follow_lie_along_the_lines_of_the_picture[emulated-20.0]",
        ),
    ),
    Mutant(
        "directed strokes stay where they are while the scene moves",
        "kernels/frames/native/combing.h",
        "s.left[0] + j + kFineSide",
        "j + kFineSide",
        (f"{_KERNELS}::test_directed_strokes_move_with_the_scene[emulated-follow]",),
    ),
    Mutant(
        "longer strokes are fainter",
        "kernels/frames/combing.py",
        "return 1 / math.sqrt(float(variance))",
        "return 0.35",
        (f"{_KERNELS}::test_longer_strokes_agree_more_and_are_no_stronger[emulated]",),
    ),
    Mutant(
        "the angle of strokes can be set where there is none",
        "app/ui/widgets/parameter_controls.py",
        "turned = self.isEnabled() and isinstance(self.currentData(), float)",
        "turned = self.isEnabled()",
        (f"{_CONTROL}::test_the_angle_is_for_strokes_in_one_direction_alone",),
    ),
)
