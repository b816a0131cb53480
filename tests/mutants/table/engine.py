"""Mutants of the engine."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FAMILIES = "tests/models/families/test_families.py"
_ENGINE = "tests/app/engine/test_engine.py"
_TOLD = "tests/app/engine/test_run_info.py"
_GAIN = "tests/models/families/test_bf16_gain.py"
_ADAPTED = "tests/app/engine/test_adaptation.py"
_FINISHED = "tests/app/engine/post/test_post_processing.py"
_TEXTURE = "tests/app/engine/test_texture.py"
_SMOOTHED = "tests/app/engine/post/test_temporal_smoothing.py"
_FLOW = "tests/app/engine/post/test_optical_flow.py"
_BANDS = "tests/models/inference/test_banded.py"
_IN_BANDS = "tests/app/engine/test_bands.py"


MUTANTS = (
    Mutant(
        "what does not fit at once is computed at once",
        "app/engine/network_pool.py",
        "if at_once <= AT_ONCE * free or in_bands is None:",
        "if True:",
        (f"{_IN_BANDS}::test_bands_paint_the_same_picture_and_say_why",),
    ),
    Mutant(
        "the way of a picture follows the memory that is free now",
        "app/engine/network_pool.py",
        "        if device not in self._free_bytes:\n",
        "        if True:\n",
        (f"{_IN_BANDS}::test_the_way_of_later_pictures_does_not_change_with_free_memory",),
    ),
    Mutant(
        "a result of 16 bits is one of 8, widened",
        "app/engine/network_pool.py",
        "steps = (raw.clamp(0, 255) * _PER_DEEP + 0.5).to(torch.int32)",
        "steps = (raw.clamp(0, 255) + 0.5).to(torch.int32) * _PER_DEEP",
        (f"{_IN_BANDS}::test_a_result_of_16_bits_is_that_of_8_and_finer",),
    ),
    Mutant(
        "each band is normed by the statistics of the last one",
        "models/inference/banded_layers.py",
        "        delta = center.double() + moved - self._mean\n",
        "        self._count, self._mean, self._squares = 0, 0 * self._mean, 0 * self._squares\n"
        "        delta = center.double() + moved - self._mean\n",
        (f"{_BANDS}::test_bands_change_nothing_but_rounding",),
    ),
    Mutant(
        "a band reads the result of the band above instead of its input",
        "models/inference/banded.py",
        "above = raw[:, :, bottom - 1 : bottom].clone()",
        "above = raw[:, :, bottom - 1 : bottom]",
        (f"{_BANDS}::test_bands_change_nothing_but_rounding",),
    ),
    Mutant(
        "rows that fill the sides up to multiples of 4 are repeated in bands",
        "models/inference/banded.py",
        'x = F.pad(x, (0, right, 0, below), mode="reflect")',
        'x = F.pad(x, (0, right, 0, below), mode="replicate")',
        (f"{_BANDS}::test_bands_change_nothing_but_rounding",),
    ),
    Mutant(
        "texture stays on the screen while the scene moves",
        "app/engine/texture/reference.py",
        "            self.offset = self._moved",
        "            pass",
        (f"{_TEXTURE}::test_the_pattern_moves_with_the_scene",),
    ),
    Mutant(
        "texture is put on what has a structure",
        "app/engine/texture/reference.py",
        "1 - np.sqrt(variance) / FLAT",
        "1 - 0 * np.sqrt(variance) / FLAT",
        (f"{_TEXTURE}::test_structure_gets_none",),
    ),
    Mutant(
        "the native texture is put on what has a structure",
        "kernels/frames/native/texture.cpp",
        "fminf(fmaxf(1 - sqrtf(most) / kFlat, 0.f), 1.f)",
        "1",
        (f"{_TEXTURE}::test_structure_gets_none",),
    ),
    Mutant(
        "the native texture of a new stream follows the scene of the one before",
        "app/engine/texture/native.py",
        "            self._history.forget()",
        "            pass",
        (f"{_TEXTURE}::test_without_an_amount_the_scene_is_forgotten",),
    ),
    Mutant(
        "without its library there is no texture",
        "app/engine/texture/native.py",
        "return self._reference.apply(inputs, amount, continues=continues, comb=comb)",
        "return inputs",
        (f"{_TEXTURE}::test_without_the_library_the_reference_adds_the_texture",),
    ),
    Mutant(
        "a picture with texture is compared with itself",
        "benchmarks/quality/textures.py",
        "        if not amount:\n            plain = result\n",
        "        plain = result\n        if not amount:\n",
        (
            "tests/app/commands/quality/test_command.py::test_texture_is_judged_on_sheets_and_in_figures",
        ),
    ),
    Mutant(
        "streams have the automatic texture of pictures",
        "app/engine/engine/preparation.py",
        "self._style_weights.texture(moving=mode.has_history)",
        "self._style_weights.texture(moving=False)",
        (
            f"{_TEXTURE}::test_automatic_is_the_styles_own_amount_in_pictures_and_a_steady_one_in_streams",
        ),
    ),
    Mutant(
        "the network is given the frame without its texture",
        "app/engine/engine/inference.py",
        "render_all(given, **how) for kernels",
        "render_all(inputs, **how) for kernels",
        (f"{_TEXTURE}::test_the_network_sees_the_texture_and_the_source_stays_clean",),
    ),
    Mutant(
        "the pool builds the baseline whatever was chosen",
        "app/engine/network_pool.py",
        "family.build_on(network, kernels,",
        'family.build_on(network, "baseline",',
        (f"{_ENGINE}::test_the_network_that_was_chosen_is_the_one_that_runs",),
    ),
    Mutant(
        "the engine asks the pool for the baseline whatever was chosen",
        "app/engine/engine/inference.py",
        "self.network(inferred, kernels).render_all",
        'self.network(inferred, "baseline").render_all',
        (f"{_ENGINE}::test_the_network_that_was_chosen_is_the_one_that_runs",),
    ),
    Mutant(
        "the layers of a network that is compared are timed, which slows it",
        "app/engine/engine/inference.py",
        "by_layer = self.by_layer and not inferred.config.compare",
        "by_layer = self.by_layer",
        (f"{_ENGINE}::test_layers_are_timed_while_that_is_wanted_and_never_in_a_comparison",),
    ),
    Mutant(
        "a plan tells groups of layers although every layer is to be timed",
        "kernels/network/graph_plan.py",
        "for name in self.layers if self._by_layer else self.groups:",
        "for name in self.groups:",
        ("tests/kernels/network/test_plan.py",),
    ),
    Mutant(
        "a network computes in FP32 whatever precision was chosen",
        "models/families/family.py",
        "return self.build(network, kernels).to(device, precision.value.dtype)",
        "return self.build(network, kernels).to(device, torch.float32)",
        (f"{_FAMILIES}::test_a_network_is_built_in_its_precision",),
    ),
    Mutant(
        "a GPU that was measured leaves a still picture to the processor",
        "app/engine/engine/engine.py",
        "        if device != self._device:\n            self._finishing.forget_output()\n",
        "",
        (
            "tests/app/ui/window/test_gpu.py::"
            "test_a_gpu_that_was_measured_to_be_faster_paints_from_then_on",
        ),
    ),
    Mutant(
        "a window paints the picture from before a slider was dragged",
        "app/engine/engine/finishing.py",
        "rendering.screen if pixels is rendering.pixels else None",
        "rendering.screen",
        (
            "tests/app/engine/test_display_path.py::"
            "test_what_a_window_paints_is_of_the_picture_that_is_shown",
        ),
    ),
    Mutant(
        "a network keeps the weights of the first style",
        "app/engine/network_pool.py",
        "if active.key != self._loaded:",
        "if self._loaded is None:",
        (f"{_ENGINE}::test_another_style_is_another_picture",),
    ),
    Mutant(
        "a precision is never remarked upon",
        "models/precision.py",
        'if device.type != "cuda" or self is Precision.fp32:',
        "if True:",
        ("tests/models/test_precision.py",),
    ),
    Mutant(
        "FP16 is offered on a CPU",
        "models/precision.py",
        "return _SLOWER_ON_CPU.format(title=self.title)",
        'return ""',
        ("tests/models/test_precision.py",),
    ),
    Mutant(
        "BF16 is offered on every CPU that has its instructions",
        "models/families/family.py",
        "if measured and not bf16_gain.is_faster(self.key, self.sample):",
        "if False:",
        (f"{_GAIN}::test_a_family_offers_bf16_only_if_its_own_network_is_faster",),
    ),
    Mutant(
        "what was measured before our kernels were loaded stays in force",
        "models/families/bf16_gain.py",
        "key = family, in_use()",
        "key = family, False",
        (f"{_GAIN}::test_a_network_is_measured_once_and_again_when_our_kernels_run",),
    ),
    Mutant(
        "a stored precision that the device refuses is computed all the same",
        "app/engine/engine/preparation.py",
        "precision = family.computed(config.kernels, precision, device, slow=config.compare)",
        "pass",
        (
            f"{_ENGINE}::test_a_stored_precision_that_the_cpu_refuses_runs_in_fp32_and_the_result_"
            "says_why",
        ),
    ),
    Mutant(
        "the window calls FP32 in place of a refused precision a broken picture",
        "app/engine/run_info.py",
        "limitations.append(tr(refusal) or broken)",
        "limitations.append(broken)",
        (f"{_TOLD}::test_a_refused_precision_is_told_with_the_reason_and_not_as_broken",),
    ),
    Mutant(
        "a precision that the user asks for by name is replaced and not refused",
        "app/engine/engine/precision_check.py",
        "if all(refusals):",
        "if False:",
        (
            "tests/app/commands/test_stylize.py::"
            "test_a_precision_that_the_cpu_does_not_offer_is_refused_before_any_work",
        ),
    ),
    Mutant(
        "the status line leaves out what is to be said of the precision",
        "app/engine/run_info.py",
        "limitations.append(tr(precision.remark(device)))",
        'limitations.append("")',
        (f"{_TOLD}::test_what_runs_is_said_with_the_remark_of_its_precision",),
    ),
    Mutant(
        "the status line does not tell that kernels became ready",
        "app/engine/run_info.py",
        "reasons, build.reasons(), why_not())",
        "reasons, why_not())",
        (
            "tests/app/engine/test_run_info.py::"
            "test_the_next_frame_tells_of_kernels_that_became_ready",
        ),
    ),
    Mutant(
        "frames keep the weights of the choice before",
        "app/engine/style_weights.py",
        "for _, share in config.parts)\n        self._active.clear()",
        "for _, share in config.parts)",
        (
            "tests/app/engine/test_style_weights.py::"
            "test_frames_share_their_weights_until_another_choice",
        ),
    ),
    Mutant(
        "a broken picture is shown instead of one in a safer precision",
        "app/engine/engine/preparation.py",
        "if not broken or precision.safer is None:",
        "if True:",
        (f"{_ADAPTED}::test_a_broken_half_precision_picture_steps_down_and_says_so_once",),
    ),
    Mutant(
        "strength 0 is not quite the source",
        "app/engine/post/blending.py",
        "cv2.addWeighted(out, strength, source, 1 - strength, 0)",
        "cv2.addWeighted(out, strength + 0.05, source, 0.95 - strength, 0)",
        (
            "tests/app/engine/post/test_blending.py",
            f"{_FINISHED}::test_strength_zero_is_the_source",
        ),
    ),
    Mutant(
        "the colors of the source are not kept",
        "app/engine/post/blending.py",
        "if keep_colors:",
        "if False:",
        ("tests/app/engine/post/test_blending.py",),
    ),
    Mutant(
        "a stream stays with the reference of smoothing when kernels are built",
        "app/engine/post/temporal_smoothing.py",
        "if not isinstance(stream, kind) or stream.size",
        "if stream is None or stream.size",
        (f"{_SMOOTHED}::test_a_stream_goes_on_by_native_kernels_once_they_are_built",),
    ),
    Mutant(
        "nobody is told that the reference smooths",
        "app/engine/run_info.py",
        'if device.type == "cpu" and config.smoothing:',
        "if False:",
        (
            "tests/app/engine/test_run_info.py::test_the_next_frame_tells_that_the_reference_smooths",
        ),
    ),
    Mutant(
        "the result kept is not moved with the scene",
        "app/engine/post/smoothing_reference.py",
        "        self._move(flow)",
        "        pass",
        (f"{_SMOOTHED}::test_a_scene_that_moves_stays_sharp",),
    ),
    Mutant(
        "what is kept covers what comes from behind a thing",
        "app/engine/post/smoothing_reference.py",
        "    return 1 - np.asarray(cv2.blur(cv2.dilate(other",
        "    return 1 - 0 * np.asarray(cv2.blur(cv2.dilate(other",
        (f"{_SMOOTHED}::test_what_comes_from_behind_a_thing_that_moves_is_not_covered_by_it",),
    ),
    Mutant(
        "a flash ends the stream",
        "app/engine/post/smoothing_reference.py",
        "            if self._missed:",
        "            if True:",
        (f"{_SMOOTHED}::test_a_flash_is_shown_and_does_not_end_the_stream",),
    ),
    Mutant(
        "after a cut, the scene before it is kept",
        "app/engine/post/smoothing_reference.py",
        "            self._missed = True",
        "            self._missed = False",
        (f"{_SMOOTHED}::test_a_cut_is_not_smoothed_across",),
    ),
    Mutant(
        "a fade is taken for a cut",
        "app/engine/post/smoothing_reference.py",
        "ALIKE = 0.85",
        "ALIKE = 2.0",
        (f"{_SMOOTHED}::test_a_fade_is_no_cut",),
    ),
    Mutant(
        "a change of light is taken for motion",
        "app/engine/post/optical_flow.py",
        "x = _mean(right * wrong) - mean_right * mean +",
        "x = _mean(right * wrong) +",
        (f"{_FLOW}::test_a_change_of_light_is_no_motion",),
    ),
    Mutant(
        "what a thing covers and leaves counts as the flicker of a film",
        "benchmarks/quality/film_flicker.py",
        "inside & consistent & ~near_edge",
        "inside",
        (
            "tests/benchmarks/quality/test_film_flicker.py::test_what_a_thing_covers_and_leaves_is_not_compared",
        ),
    ),
    Mutant(
        "the flicker of a film counts its motion",
        "benchmarks/quality/film_flicker.py",
        "cv2.remap(before, *displaced(motion),",
        "cv2.remap(before, *displaced(0 * motion),",
        (
            "tests/benchmarks/quality/test_film_flicker.py::test_a_style_that_moves_with_its_source_does_not_flicker",
        ),
    ),
    Mutant(
        "films are measured to their end",
        "benchmarks/quality/films.py",
        "islice(reader, plan.frames)",
        "reader",
        ("tests/benchmarks/quality/test_films.py::test_only_the_first_frames_are_measured",),
    ),
    Mutant(
        "a single picture is smoothed with the one before",
        "app/engine/process_mode.py",
        "return self in (ProcessMode.LIVE, ProcessMode.SEQUENCE)",
        "return True",
        (f"{_FINISHED}::test_a_single_picture_is_never_smoothed",),
    ),
    Mutant(
        "the size and the network change in the middle of a recording",
        "app/engine/engine/engine.py",
        "self._adaptation.held = held",
        "self._adaptation.held = False",
        (f"{_ADAPTED}::test_while_it_is_held_neither_size_nor_network_changes",),
    ),
    Mutant(
        "weights that are not the file their pack describes are used",
        "app/styles/pack.py",
        "hexdigest() != sha256:",
        "hexdigest() != sha256 and False:",
        (f"{_ENGINE}::test_weights_that_were_tampered_with_are_refused",),
    ),
    Mutant(
        "weights that a wheel packed are put together in another order",
        "utils/files/byte_planes.py",
        "data[::2], data[1::2] =",
        "data[1::2], data[::2] =",
        (
            "tests/wheels/test_packing.py"
            "::test_a_packed_style_has_the_same_weights_and_compresses_better",
        ),
    ),
    Mutant(
        "the automatic size of a slow machine becomes fog",
        "app/engine/resolution.py",
        "        best = self._least",
        "        best = 128",
        (
            "tests/app/engine/test_resolution.py::"
            "test_a_slow_machine_paints_fewer_frames_rather_than_fog",
        ),
    ),
)
