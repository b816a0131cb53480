"""Mutants of strokes with a direction."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENGINE = "tests/app/engine/test_texture.py"
_KERNELS = "tests/kernels/frames/test_texture.py"
_CONTROL = "tests/app/ui/window/test_panel.py"
_COMBING = "tests/app/ui/window/test_combing.py"
_TABLE = "tests/app/test_parameters.py"

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
    Mutant(
        "a handle far away counts as much as one nearby",
        "kernels/frames/native/combing.h",
        "const float weight = 1 / (away * away);",
        "const float weight = 1;",
        (
            f"{_KERNELS}::"
            "test_strokes_lie_as_the_nearest_handle_says_wherever_the_scene_moves[emulated]",
        ),
    ),
    Mutant(
        "strokes between opposite handles have a seam",
        "kernels/frames/combing.py",
        "across = 1j * cmath.sqrt(line)",
        "across = 0j",
        (f"{_KERNELS}::test_strokes_turn_from_handle_to_handle_without_a_seam[34.4-124.4]",),
    ),
    Mutant(
        "handles never reach the kernels",
        "app/engine/config.py",
        "return Comb(HAND, length, handles) if handles else Comb(FOLLOW, length)",
        "return Comb(FOLLOW, length)",
        (f"{_ENGINE}::test_strokes_combed_by_hand_follow_the_picture_until_there_is_a_handle",),
    ),
    Mutant(
        "a picture that is being combed is withheld until the drag ends",
        "app/engine/config.py",
        "_DRAGGED = FractionParameter, HandlesParameter",
        "_DRAGGED = (FractionParameter,)",
        (f"{_TABLE}::test_only_sliders_leave_the_choice_as_it_is",),
    ),
    Mutant(
        "handles of the command line have no effect without a direction",
        "app/parameters.py",
        'return {**values, "strokes_direction": HAND}',
        "return values",
        (f"{_TABLE}::test_handles_comb_by_hand_unless_another_direction_is_given",),
    ),
    Mutant(
        "a drag on a mirrored picture combs its other side",
        "app/ui/viewport/combing.py",
        "            angle = HALF_TURN - angle\n",
        "            pass\n",
        (f"{_COMBING}::test_a_drag_on_a_mirrored_picture_sets_the_handle_of_what_is_under_it",),
    ),
    Mutant(
        "a drag of the divider combs",
        "app/ui/viewport/viewport.py",
        "used = not divides and any(tool.press(event) for tool in self._tools)",
        "used = any(tool.press(event) for tool in self._tools)",
        (f"{_COMBING}::test_the_divider_is_still_dragged_and_the_rest_is_combed",),
    ),
    Mutant(
        "each move of a drag is a change of its own",
        "app/ui/looks/combing.py",
        "comb.pressed.connect(gestures.press)",
        "comb.pressed.connect(lambda: None)",
        (f"{_COMBING}::test_a_drag_is_one_change",),
    ),
)
