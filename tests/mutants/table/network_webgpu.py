"""Mutants of the network in WebGPU's shaders."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAYERS = "tests/kernels/network/webgpu/test_layers.py::"
_PLAN = "tests/kernels/network/webgpu/test_plan.py::"
_STARTED = "tests/kernels/network/webgpu/test_started.py::"
_PACED = "tests/kernels/network/webgpu/test_paced.py::"
_SUBMISSIONS = "tests/kernels/network/webgpu/test_submissions.py::"
_TUNING = "tests/kernels/network/webgpu/test_tuning.py::"
_KEPT = "tests/kernels/network/webgpu/test_kept_tiles.py::"
_ADAPTERS = "tests/kernels/network/webgpu/test_adapters.py::"
_FOLDER = "kernels/network/webgpu"

MUTANTS = (
    Mutant(
        "a shader repeats the border in place of reflecting it",
        f"{_FOLDER}/wgsl.py",
        "return clamp(last - abs(last - abs(at)), vec2<i32>(), last);",
        "return clamp(at, vec2<i32>(), last);",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "a shader enlarges the rounding of a picture of one color",
        f"{_FOLDER}/transform_in.py",
        "let x{y}_{x} = z{y}_{x} - first;",
        "let x{y}_{x} = z{y}_{x};",
        (f"{_PLAN}test_pictures_of_one_color_are_exact",),
    ),
    Mutant(
        "a norm forgets that its channel has a NaN",
        f"{_FOLDER}/moments.py",
        "= select({center}, shift, broken(shift));",
        "= {center};",
        (f"{_PLAN}test_a_relu_that_drops_nan_does_not_heal_a_picture",),
    ),
    Mutant(
        "the last layer reads a NaN as zero",
        f"{_FOLDER}/last.py",
        "  let bias = filters[BIAS] + dot(spoiled, vec4<f32>(1.0));",
        "  let bias = filters[BIAS];",
        (f"{_PLAN}test_a_relu_that_drops_nan_does_not_heal_a_picture",),
    ),
    Mutant(
        "a shader's moments count pixels beyond the result",
        f"{_FOLDER}/convolution.py",
        "let covered = min(TILE, end - corner);",
        "let covered = TILE;",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "merging forgets how far the means of parts are apart",
        f"{_FOLDER}/moments.py",
        "sum += fma(apart * apart, vec4<f32>(part.count), part.squares);",
        "sum += part.squares;",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "a layer of Mesa prints an error whenever a server lists its GPUs",
        f"{_FOLDER}/library.py",
        'os.environ.setdefault("NODEVICE_SELECT", "1")',
        "pass",
        (f"{_ADAPTERS}test_listing_the_gpus_of_a_server_prints_nothing",),
    ),
    Mutant(
        "a picture that nobody wants any more is submitted whole",
        f"{_FOLDER}/paced.py",
        "            check()  # a fast GPU is done before the wait begins\n",
        "",
        (f"{_PACED}test_a_flag_stops_a_picture_before_its_next_piece",),
    ),
    Mutant(
        "all pieces of a picture are under way at once",
        f"{_FOLDER}/paced.py",
        "if len(under_way) == UNDER_WAY:",
        "if False:",
        (f"{_PACED}test_a_picture_that_is_given_up_is_not_submitted_whole",),
    ),
    Mutant(
        "each piece of a layer is its first one",
        f"{_FOLDER}/steps.py",
        "sizes = *self.sizes[:-1], (first, every)",
        "sizes = *self.sizes[:-1], (0, every)",
        (f"{_PACED}test_a_slow_gpus_picture_is_that_of_one_submission",),
    ),
    Mutant(
        "a slow layer is one piece",
        f"{_FOLDER}/paced.py",
        "most = max(1, math.ceil(ms / self._most))",
        "most = 1",
        (f"{_PACED}test_layers_are_divided_into_as_many_pieces_as_their_time_asks",),
    ),
    Mutant(
        "a picture waits for all its shaders when nobody wants it any more",
        f"{_FOLDER}/device.py",
        "        flag.check()\n    compiled.result()",
        "        pass\n    compiled.result()",
        (f"{_PACED}test_a_wait_for_shaders_that_compile_can_be_given_up",),
    ),
    Mutant(
        "the first picture of a size is one piece",
        f"{_FOLDER}/form.py",
        "times = self._times or {part: self._pace * ms for part, ms in slow.items()}",
        "times = self._times or dict.fromkeys(slow, 0.0)",
        (f"{_PACED}test_a_sizes_first_picture_is_divided_by_an_estimate",),
    ),
    Mutant(
        "a wait for a slow GPU hears no flag",
        f"{_FOLDER}/readback.py",
        "                check()\n",
        "",
        (f"{_PACED}test_a_flag_ends_a_wait_for_the_gpu",),
    ),
    Mutant(
        "a software GPU is taken unasked",
        f"{_FOLDER}/adapters.py",
        "if not adapter.software:",
        "if adapter:",
        (f"{_ADAPTERS}test_software_is_used_only_by_name",),
    ),
    Mutant(
        "a picture may be larger than a GPU's buffers",
        f"{_FOLDER}/plan.py",
        "if max(buffer_sizes(network, size, band_bytes(device)).values())",
        "if min(buffer_sizes(network, size, band_bytes(device)).values())",
        (f"{_PLAN}test_unsupported_pictures_and_gpus_are_refused_in_words",),
    ),
    Mutant(
        "each band of a layer is its first one",
        f"{_FOLDER}/steps.py",
        "counts, band = (across, tiles), (first, part)",
        "counts, band = (across, tiles), (0, part)",
        (f"{_PLAN}test_bands_paint_the_picture_of_whole_layers",),
    ),
    Mutant(
        "the moments of a band overwrite the first band's",
        f"{_FOLDER}/steps.py",
        "part += end[0]",
        "part += 0",
        (f"{_PLAN}test_bands_paint_the_picture_of_whole_layers",),
    ),
    Mutant(
        "bands need more memory than a GPU binds",
        f"{_FOLDER}/plan.py",
        "return min(BAND_BYTES, device.adapter.binding_bytes)",
        "return BAND_BYTES",
        (f"{_PLAN}test_unsupported_pictures_and_gpus_are_refused_in_words",),
    ),
    Mutant(
        "the second phase of an enlarged tile is two pixels late",
        f"{_FOLDER}/transform_out.py",
        "* SCALE - phase;",
        "* SCALE + phase;",
        (f"{_LAYERS}test_winograds_enlarging_convolution_equals_pytorch",),
    ),
    Mutant(
        "an enlarging layer reflects the border of its input",
        f"{_FOLDER}/transform_in.py",
        'border = "replicated" if enlarges else "reflected"',
        'border = "reflected"',
        (f"{_LAYERS}test_winograds_enlarging_convolution_equals_pytorch",),
    ),
    Mutant(
        "an error of wgpu leaves the library as it is",
        f"{_FOLDER}/library.py",
        "except (wgpu().GPUError, RuntimeError, MemoryError, ValueError) as error:",
        "except MemoryError as error:",
        (f"{_ADAPTERS}test_failures_of_wgpu_are_one_class_of_errors",),
        breaks=("WebGpuError",),
    ),
    Mutant(
        "the second picture in flight is the first one",
        f"{_FOLDER}/form.py",
        "return {**layers, name: [first._replace(bound=place.reading), *others]}",
        "return layers",
        (f"{_STARTED}test_pictures_in_flight_are_right_in_any_order",),
    ),
    Mutant(
        "a third picture may be in flight",
        f"{_FOLDER}/form.py",
        "if len(self._places) == IN_FLIGHT:",
        "if len(self._places) > IN_FLIGHT:",
        (f"{_STARTED}test_a_third_picture_in_flight_is_refused",),
    ),
    Mutant(
        "a picture that nobody reads keeps its place",
        f"{_FOLDER}/form.py",
        "self._places = [place for place in self._places if not place.lost]",
        "self._places = [*self._places]",
        (f"{_STARTED}test_pictures_that_nobody_reads_free_their_places",),
    ),
    Mutant(
        "limits hide a number that is not finite",
        f"{_FOLDER}/last.py",
        "select(limits.spoiled, 1.0, any(broken(color).xyz)),",
        "limits.spoiled,",
        (f"{_STARTED}test_limits_are_nan_if_one_value_is_not_finite",),
    ),
    Mutant(
        "a tick of a GPU's clock is taken for a nanosecond",
        f"{_FOLDER}/stamps.py",
        "float(ticks) * self._tick / 1e6",
        "float(ticks) / 1e6",
        (f"{_STARTED}test_ticks_of_a_gpus_clock_become_milliseconds",),
    ),
    Mutant(
        "a submission may take longer than drivers allow",
        f"{_FOLDER}/submissions.py",
        "if not submissions or filled + taken > longest:",
        "if not submissions or taken > longest:",
        (f"{_SUBMISSIONS}test_layers_are_packed_in_order_below_the_limit",),
        breaks=("docs/explanation/webgpu.md",),
    ),
    Mutant(
        "a layer's time includes the compilation of its shaders",
        f"{_FOLDER}/submissions.py",
        "stopwatch([step._replace(groups=(1, 1, 1)) for step in shaders.values()])",
        "del shaders",
        (f"{_SUBMISSIONS}test_shaders_run_before_they_are_measured",),
    ),
    Mutant(
        "a tile that paints another picture is taken",
        f"{_FOLDER}/tuning.py",
        "if apart > LEVELS else",
        "if apart > 255 else",
        (f"{_TUNING}test_a_tile_with_wrong_values_is_refused",),
    ),
    Mutant(
        "a tile that is hardly faster is taken",
        f"{_FOLDER}/tuning.py",
        "if least[1] > FASTER * least[0]:",
        "if least[1] > least[0]:",
        (f"{_TUNING}test_a_tile_that_is_hardly_faster_is_not_taken",),
    ),
    Mutant(
        "tiles are kept for every driver of a GPU",
        f"{_FOLDER}/kept_tiles.py",
        '"driver": adapter.driver,',
        '"driver": "",',
        (f"{_KEPT}test_another_gpu_driver_or_network_has_tiles_of_its_own",),
    ),
    Mutant(
        "a kept tile may be any tile",
        f"{_FOLDER}/kept_tiles.py",
        "if not found:",
        "if not values:",
        (f"{_KEPT}test_a_tile_that_no_test_knows_is_refused",),
    ),
    Mutant(
        "sums in FP16 forget the channels before",
        f"{_FOLDER}/registers.py",
        "{total(*each)} += vec4<f32>({_part(*each)});",
        "{total(*each)} = vec4<f32>({_part(*each)});",
        (f"{_LAYERS}test_sums_in_fp16_are_near_pytorch",),
    ),
    Mutant(
        "sums in FP16 are taken whatever they paint",
        f"{_FOLDER}/tuning.py",
        "if decibels < DECIBELS else",
        "if decibels < 0 else",
        (f"{_TUNING}test_sums_in_fp16_are_taken_if_they_are_faster_and_right",),
    ),
)
