"""Mutants of the network on the CPU."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAYERS = "tests/kernels/network/cpu/test_layers.py::"
_PLAN = "tests/kernels/network/cpu/test_plan.py::"
_POOL = "tests/app/engine/test_network_pool.py::"
_VIT = "tests/models/inference/vit/test_executor.py::"
_WEIGHTS = "tests/kernels/network/cpu/test_weights.py::"
_STATES = "tests/models/inference/test_style_state.py::"
_SHARED = "tests/app/engine/test_shared_transforms.py::"

MUTANTS = (
    Mutant(
        "a convolution repeats the border in place of reflecting it",
        "kernels/network/cpu/convolution.h",
        "return reflected(i - 1, size);",
        "return replicated(i - 1, size);",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "an enlarging convolution reflects the small picture",
        "kernels/network/cpu/convolution.h",
        "return replicated(i - 1, size);",
        "return reflected(i - 1, size);",
        (f"{_LAYERS}test_an_enlarging_convolution_equals_pytorch",),
    ),
    Mutant(
        "a picture of one color is enlarged rounding",
        "kernels/network/cpu/convolution.h",
        "store(center_ + c, read<kReading>(layer_, c, scale, shift));",
        "store(center_ + c, Vector{});",
        (f"{_PLAN}test_pictures_of_one_color_are_exact",),
    ),
    Mutant(
        "the first layer keeps the color of a picture of one color",
        "kernels/network/cpu/first.h",
        "const float center = colors()[color];",
        "const float center = 0;",
        (f"{_PLAN}test_pictures_of_one_color_are_exact",),
    ),
    Mutant(
        "a convolution without norms forgets what it subtracted",
        "kernels/network/cpu/convolution.h",
        "pixels[i * kOutputs + j] + base);",
        "pixels[i * kOutputs + j]);",
        (f"{_LAYERS}test_a_convolution_without_norms_equals_pytorch",),
    ),
    Mutant(
        "blocks of pixels are merged as if they had the same mean",
        "kernels/network/cpu/moments.h",
        " + delta * delta * ((count - n) * n / count);",
        ";",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "the pixels outside the picture count in the norm",
        "kernels/network/cpu/convolution.h",
        "moments_.count(block, phase, (bottom - top) * (right - left));",
        "moments_.count(block, phase, kOutputs * kOutputs);",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "a ReLU turns NaN into zero",
        "kernels/network/cpu/vectors.h",
        "return x < zero ? zero : x;",
        "return x > zero ? x : zero;",
        (f"{_PLAN}test_a_pixel_that_is_no_number_spoils_the_picture_and_not_the_next",),
    ),
    Mutant(
        "a residual block loses its input",
        "kernels/network/cpu/convolution.h",
        "store(layer_.kept + rows[i] + at[j] + c, column[i]);",
        "(void)column;",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "threads divide the moments of a layer",
        "kernels/network/cpu/convolution.h",
        "tiles_(2 * kTiles * kPositions * deep_ > kBlock ? kTiles : 2 * kTiles),",
        "tiles_(layer.threads > 1 ? kTiles : 2 * kTiles),",
        (f"{_PLAN}test_threads_and_runs_change_no_bit",),
    ),
    Mutant(
        "the phases of an enlargement are transposed",
        "kernels/network/cpu/weights.h",
        "filters_.rows + phase / filters_.phases * side * kTaps;",
        "filters_.rows + phase % filters_.phases * side * kTaps;",
        (f"{_WEIGHTS}test_filters_are_transformed_in_float64_and_rounded_once",),
    ),
    Mutant(
        "the last inputs of a layer are left out",
        "kernels/network/cpu/weights.h",
        "parts_((filters.inputs + kDeep - 1) / kDeep) {}",
        "parts_((filters.inputs + kDeep / 4) / kDeep) {}",
        (f"{_WEIGHTS}test_filters_are_transformed_in_float64_and_rounded_once",),
    ),
    Mutant(
        "a picture in bytes is not padded to the size of the activations",
        "kernels/network/cpu/first.h",
        "return reflected(reflected(i - layer_.side / 2, padded), size);",
        "return reflected(i - layer_.side / 2, size);",
        (f"{_PLAN}test_floats_of_other_sides_are_padded_and_cropped",),
    ),
    Mutant(
        "a first layer without a norm forgets what it subtracted",
        "kernels/network/cpu/first.h",
        "tile[i * kOutputs + j] + base);",
        "tile[i * kOutputs + j]);",
        (f"{_LAYERS}test_the_first_layer_on_a_padded_picture_equals_pytorch",),
    ),
    Mutant(
        "NaN is not seen in a picture in bytes",
        "kernels/network/cpu/last.h",
        "faults_ = faults_ + (values - values);",
        "faults_ = faults_ + Floats<4>{};",
        (f"{_PLAN}test_one_channel_that_is_no_number_shows_in_the_limits",),
    ),
    Mutant(
        "the limits of a picture include what was cropped",
        "kernels/network/cpu/last.h",
        "i % kOutputs >= right) values[i] = values[0];",
        "i % kOutputs > right) values[i] = values[0];",
        (f"{_PLAN}test_bytes_are_the_rounded_floats",),
    ),
    Mutant(
        "a last layer drops the limits of all jobs but the last",
        "kernels/network/cpu/last.h",
        "++job) range.add(ranges_[job]);",
        "++job) range = ranges_[job];",
        (f"{_PLAN}test_bytes_are_the_rounded_floats",),
    ),
    Mutant(
        "a picture of 16 bits is painted in bytes",
        "app/engine/network_pool.py",
        "painted = None if deep else self._bytes(pictures, passed)",
        "painted = self._bytes(pictures, passed)",
        (f"{_POOL}test_a_picture_of_16_bits_keeps_its_values",),
    ),
    Mutant(
        "the any-style network's first layer is left to PyTorch",
        "models/inference/winograd.py",
        "fits = stride == 1 if inputs == COLORS else side",
        "fits = side",
        (f"{_VIT}test_in_fp32_the_kernels_of_the_cpu_convolve_every_layer",),
    ),
    Mutant(
        "bytes are painted under autocast",
        "models/inference/winograd.py",
        'if torch.is_autocast_enabled("cpu") or dtypes',
        "if dtypes",
        (f"{_POOL}test_other_precisions_round_floats_on_a_cpu",),
    ),
    Mutant(
        "gradients are asked of the native network",
        "models/inference/winograd.py",
        'x.device.type != "cpu" or torch.is_grad_enabled() or unsupported(network)',
        'x.device.type != "cpu" or unsupported(network)',
        ("tests/models/test_transformer_net.py::test_gradients_of_the_variants_agree",),
    ),
    Mutant(
        "changed weights are painted with the old ones",
        "models/inference/buffers.py",
        "if held is None or held[0] != key or not (counted or torch.equal(held[1], source)):",
        "if held is None:",
        ("tests/models/test_transformer_net.py::test_prepared_weights_follow_the_parameters",),
    ),
    Mutant(
        "each engine transforms the style that it read",
        "models/families/feed_forward.py",
        "state = StyleState.shared(load_checkpoint(path))",
        "state = StyleState(load_checkpoint(path))",
        (f"{_SHARED}test_two_engines_transform_a_style_once",),
    ),
    Mutant(
        "two threads transform a style that both need",
        "models/inference/style_state.py",
        "        with _lock:\n            before =",
        "        if True:\n            before =",
        (f"{_STATES}test_two_threads_that_need_a_style_transform_it_once",),
    ),
    Mutant(
        "a mix keeps the transforms of its last shares",
        "models/inference/style_state.py",
        "        self._current.clear()\n",
        "",
        (f"{_STATES}test_another_share_is_painted_with_its_own_transforms",),
    ),
    Mutant(
        "weights that changed after loading are painted with the style's transforms",
        "models/inference/style_state.py",
        "if stamp is None or stamp != self._stamps[name]:",
        "if stamp is None:",
        (f"{_STATES}test_a_change_of_the_weights_is_painted",),
    ),
    Mutant(
        "the transforms of every style stay in memory",
        "models/inference/style_state.py",
        "if kept > MOST_BYTES and state is not self:",
        "if kept > 2**60 and state is not self:",
        (f"{_STATES}test_the_styles_used_last_keep_their_transforms",),
    ),
    Mutant(
        "painting a style does not count as using it",
        "models/inference/winograd.py",
        "            loaded.touch()\n",
        "            pass\n",
        (f"{_STATES}test_painting_counts_as_a_use",),
    ),
    Mutant(
        "a processor with AVX-512 takes the image for AVX2",
        "kernels/jit/prebuilt.py",
        '{"AVX512": 4, "AVX2": 3}',
        '{"AVX512": 3, "AVX2": 3}',
        ("tests/kernels/jit/test_prebuilt.py::test_a_machine_takes_what_its_processor_has",),
    ),
)
