"""Mutants of the texture that WebGPU's shaders add."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SHADERS = "tests/kernels/network/webgpu/test_texture.py::"
_ENGINE = "tests/app/engine/test_shader_texture.py::"
_FOLDER = "kernels/network/webgpu/texture"

MUTANTS = (
    Mutant(
        "on a GPU, the pattern stands still before a scene that moves",
        f"{_FOLDER}/motion.py",
        "        s.offset = s.moved;",
        "",
        (f"{_SHADERS}test_a_stream_has_the_texture_of_the_cpu",),
    ),
    Mutant(
        "on a GPU, a scene that is out of reach is not measured from the frame before",
        f"{_FOLDER}/motion.py",
        "let again = follows && !found.known;",
        "let again = false;",
        (f"{_SHADERS}test_a_scene_that_becomes_another_one_is_followed_from_the_frame_before",),
    ),
    Mutant(
        "on a GPU, a scene that went far is measured from its first frame",
        f"{_FOLDER}/motion.py",
        "|| length(found.motion) > 0.06",
        "|| length(found.motion) > 9.0",
        (f"{_SHADERS}test_a_scene_that_goes_far_is_followed_from_newer_references",),
    ),
    Mutant(
        "on a GPU, texture of an unknown motion does not fade",
        f"{_FOLDER}/motion.py",
        "s.presence = max(0.0, s.presence - 0.25);",
        "s.presence = s.presence;",
        (f"{_SHADERS}test_where_the_motion_is_not_known_the_texture_fades_and_returns",),
    ),
    Mutant(
        "on a GPU, directions are not averaged over frames",
        f"{_FOLDER}/stream.py",
        "averages=self._keeps_axes and not begins,",
        "averages=False,",
        (f"{_SHADERS}test_a_stream_has_the_texture_of_the_cpu",),
    ),
    Mutant(
        "a GPU averages directions of two modes",
        f"{_FOLDER}/stream.py",
        "self._keeps_axes = comb is not None and comb.direction == FOLLOW",
        "self._keeps_axes = True",
        (f"{_SHADERS}test_each_direction_in_a_stream_begins_without_the_last_one",),
    ),
    Mutant(
        "on a GPU, a stream that is forgotten goes on",
        f"{_FOLDER}/stream.py",
        '        """Begin another stream with the next frame."""\n        self._begins = True',
        '        """Begin another stream with the next frame."""',
        (f"{_SHADERS}test_a_stream_that_is_forgotten_begins_anew",),
    ),
    Mutant(
        "on a GPU, the wide blur of flat parts is the narrow one",
        f"{_FOLDER}/flatness.py",
        "weight = _weight(close[k] if k <= REACHES[0] else 0.0, wide[k])",
        "weight = _weight(*[close[k] if k <= REACHES[0] else 0.0] * 2)",
        (f"{_SHADERS}test_a_picture_gets_the_texture_of_the_cpu",),
    ),
    Mutant(
        "on a GPU, strokes are straight",
        f"{_FOLDER}/combing.py",
        "let bend = (then - ahead) / steps;",
        "let bend = vec2<f32>();",
        (f"{_SHADERS}test_a_picture_gets_the_texture_of_the_cpu",),
    ),
    Mutant(
        "on a GPU, one color of four pixels gets its neighbor's level",
        f"{_FOLDER}/adding.py",
        "add(id.x * 3u, levels.xxxy);",
        "add(id.x * 3u, levels.xxxx);",
        (f"{_SHADERS}test_a_picture_gets_the_texture_of_the_cpu",),
    ),
    Mutant(
        "on a GPU, a larger copy gets its own pattern",
        f"{_FOLDER}/adding.py",
        'KEEP", "field[at] = by;" if keeps else "")',
        'KEEP", "field[at] = 0.0;" if keeps else "")',
        (f"{_SHADERS}test_a_larger_copy_gets_the_same_texture",),
    ),
    Mutant(
        "a plan forgets the texture of a picture",
        "kernels/network/webgpu/plan.py",
        "self._device.submit([changes])",
        "pass",
        (f"{_SHADERS}test_a_plan_paints_the_textured_picture",),
    ),
    Mutant(
        "the shaders' stream goes on after frames of the CPU",
        "app/engine/engine/inference.py",
        "        self._shader_texture.reset()\n",
        "",
        (f"{_ENGINE}test_a_stream_that_the_cpu_textured_meanwhile_begins_anew",),
    ),
    Mutant(
        "the shaders' stream goes on with another source",
        "app/engine/engine/engine.py",
        "        self._shader_texture.reset()\n",
        "",
        (f"{_ENGINE}test_a_stream_after_another_one_begins_anew",),
    ),
    Mutant(
        "shaders forget the direction of strokes",
        "app/engine/engine/inference.py",
        "continues=True, comb=comb)",
        "continues=True)",
        (f"{_ENGINE}test_a_live_stream_has_its_texture_by_shaders",),
    ),
    Mutant(
        "a film's texture is lost with its state",
        "app/engine/engine/inference.py",
        "shaded = inferred.mode is ProcessMode.LIVE and",
        "shaded =",
        (f"{_ENGINE}test_a_film_has_its_texture_by_the_cpu_whose_state_is_saved",),
    ),
)
