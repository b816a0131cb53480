"""Mutants of the code around the network on a GPU."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FRAMES = "tests/kernels/frames/test_frames.py"
_NATIVE = "tests/kernels/frames/test_native_smoothing.py"

MUTANTS = (
    Mutant(
        "what smooths is compiled with products that are joined with sums",
        "kernels/jit/libraries.py",
        'return any(name.endswith("common/exact.h") for',
        'return any(name.endswith("common/inexact.h") for',
        (
            f"{_NATIVE}::test_both_devices_compile_it_without_contraction",
            "tests/kernels/jit/test_prebuilt.py::test_the_compilers_use_the_same_arithmetic",
        ),
    ),
    Mutant(
        "on the CPU every frame begins a stream",
        "kernels/frames/native_smoothing.py",
        "        self._begins = False",
        "        self._begins = True",
        (f"{_NATIVE}::test_a_stream_is_smoothed_as_by_the_reference",),
    ),
    Mutant(
        "the reference of smoothing keeps what moves longer than kernels do",
        "app/engine/post/smoothing_reference.py",
        "MAX_MOVING_WEIGHT = 0.92",
        "MAX_MOVING_WEIGHT = 0.95",
        (f"{_NATIVE}::test_the_reference_and_the_headers_have_the_same_constants",),
    ),
    Mutant(
        "no status tells that the reference smooths",
        "kernels/table/registry.py",
        "whole = tuple(_WHOLE.get(kind, ())) if family in (None, STYLE) else ()",
        'whole = tuple(_WHOLE["cuda"]) if kind == "cuda" and family in (None, STYLE) else ()',
        (f"{_NATIVE}::test_the_status_of_the_cpu_says_what_smooths",),
    ),
    Mutant(
        "a picture that is smoothed is read by its address, whatever its strides",
        "kernels/frames/native_smoothing.py",
        "result, source = np.ascontiguousarray(result), np.ascontiguousarray(source)",
        "result, source = np.asarray(result), np.asarray(source)",
        (f"{_NATIVE}::test_pictures_of_any_strides_are_read_and_left_as_they_are",),
    ),
    Mutant(
        "on a GPU a motion is searched from nothing at every size",
        "kernels/frames/dense_motion.py",
        "coarse = None if known is None else known.data_ptr()",
        "coarse = None",
        (f"{_FRAMES}::test_the_motion_is_that_of_the_cpu",),
    ),
    Mutant(
        "on a GPU the noise of a motion moves what stands still",
        "kernels/frames/dense_motion.py",
        "settles = flows is self._flows[0]",
        "settles = False",
        (f"{_FRAMES}::test_the_motion_is_that_of_the_cpu",),
    ),
    Mutant(
        "a repeated launch has the addresses of the first",
        "kernels/driver/sequence.py",
        "hole.value = addresses[slot] + offset",
        "hole.value = hole.value or addresses[slot] + offset",
        (
            "tests/kernels/driver/test_sequence.py::test_addresses_take_their_places_and_nothing_else_changes",
        ),
    ),
    Mutant(
        "what a call launches does not depend on TF32",
        "kernels/ops/style/convolution/on_cuda.py",
        "return run(launch, prepare, tensors, (*options, convolutions_use_tf32()))",
        "return run(launch, prepare, tensors, (*options, False))",
        ("tests/kernels/ops/cuda/test_calls.py::test_tf32_is_looked_at_by_every_call",),
    ),
    Mutant(
        "a lazily negated tensor is read as it is in memory",
        "kernels/table/direct.py",
        "if each.get_device() != device or _keys_of(each).raw_repr() not in _PLAIN:",
        "if each.get_device() != device:",
        (
            "tests/kernels/table/test_direct.py::test_arguments_that_the_kernel_cannot_take_as_they_are_go_to_the_dispatcher",
        ),
    ),
    Mutant(
        "a frame on the GPU is smoothed with frames of other weights",
        "app/engine/display_path.py",
        "if before is None or styler is not before.styler or weights != self._weights:",
        "if before is None or styler is not before.styler:",
        (
            "tests/app/engine/test_display_path.py::test_the_history_ends_with_the_weights_the_network_and_a_reset",
        ),
    ),
    Mutant(
        "a frame on the GPU is sharpened by what the network is given, with its texture",
        "models/inference/frame_styler.py",
        "frames = slot.frames[place], slot.clean[place]",
        "frames = slot.frames[place], self.detail.frames[place]",
        (
            "tests/models/inference/test_frame_styler.py::test_the_network_is_given_texture_and_the_rest_the_clean_frame",
        ),
    ),
    Mutant(
        "a block leaves out pixels of which it is to sum",
        "kernels/frames/native/motion.h",
        "if (column >= columns) column -= columns, ++row;",
        "if (column > columns) column -= columns, ++row;",
        ("tests/kernels/frames/test_block.py::test_every_thread_learns_the_sums_of_all_pixels",),
    ),
    Mutant(
        "a block compares the pixels after a row as well",
        "kernels/frames/native/block.cuh",
        "left < 4 ? (1u << left * 8) - 1 : ~0u",
        "~0u",
        ("tests/kernels/frames/test_block.py::test_rows_are_as_far_apart_as_their_bytes",),
    ),
    Mutant(
        "on a GPU an area has pixels of the one beside it",
        "kernels/frames/native/area.cuh",
        "first + k < pixels ? gray_of_word(four[k]) : 0",
        "gray_of_word(four[k])",
        ("tests/kernels/frames/test_area.py::test_an_area_by_words_has_the_bits_of_its_pixels",),
    ),
    Mutant(
        "on a GPU the texture of a word is that of its first pixel",
        "kernels/frames/native/add.cuh",
        "k < whole ? one : other",
        "one",
        ("tests/kernels/frames/test_add.py::test_a_block_adds_the_texture_of_single_pixels",),
    ),
    Mutant(
        "each block of a cluster sums the same pixels",
        "kernels/frames/native/block.cuh",
        "{block * kTeam + rank, kBlocks * kTeam}",
        "{rank, kBlocks * kTeam}",
        ("tests/kernels/frames/test_block.py::test_a_cluster_follows_a_scene_as_one_thread_does",),
    ),
    Mutant(
        "a block halves pictures without rounding",
        "kernels/frames/native/block.cuh",
        "(below >> 8 & kEven) + 0x00020002;",
        "(below >> 8 & kEven);",
        ("tests/kernels/frames/test_block.py::test_a_picture_is_halved_by_words_as_by_pixels",),
    ),
    Mutant(
        "on a GPU directions are blurred less far down than on the CPU",
        "kernels/frames/native/axes.cuh",
        "part; j <= 2 * kCarryReach;",
        "part; j < 2 * kCarryReach - 8;",
        ("tests/kernels/frames/test_comb.py::test_a_block_measures_the_axes_of_single_pixels",),
    ),
    Mutant(
        "on a GPU strokes are combed between other pixels than the CPU's",
        "kernels/frames/native/comb.cuh",
        "upper.value + upper.step * x",
        "upper.value",
        (
            "tests/kernels/frames/test_comb.py::test_a_block_adds_the_combed_texture_of_single_pixels",
        ),
    ),
    Mutant(
        "of an area of whole pixels one counts twice",
        "kernels/frames/native/sampling.h",
        "column * wide + j)",
        "column * wide + (j > 0 ? j : wide - 1))",
        (
            "tests/kernels/frames/test_area.py::test_the_mean_of_whole_pixels_has_the_bits_of_weighted_ones",
        ),
    ),
    Mutant(
        "on a GPU the median of changes is a bin too low where a lane's last one holds it",
        "kernels/frames/native/median.cuh",
        "(rank >= three)",
        "(rank > three)",
        ("tests/kernels/frames/test_median.py::test_every_thread_learns_the_median_of_bins",),
    ),
    Mutant(
        "frames without texture are timed with it",
        "benchmarks/network/frames.py",
        '"off": Finish(),',
        '"off": WITH,',
        (
            "tests/benchmarks/network/test_frames.py::test_frames_with_texture_are_timed_beside_those_without",
        ),
    ),
    Mutant(
        "texture on the GPU stays on the screen while the scene moves",
        "models/inference/frame_styler.py",
        "continues=finish.follows",
        "continues=False",
        (
            "tests/models/inference/test_frame_styler.py::test_in_a_batch_the_texture_moves_from_frame_to_frame",
        ),
    ),
    Mutant(
        "texture is written to the input of a network that still reads the frame before",
        "models/inference/frame_styler.py",
        "slot.textured if finish.texture else clean",
        "self.detail.frames if finish.texture else clean",
        (
            "tests/models/inference/test_frame_styler.py::test_what_the_network_is_given_is_made_on_the_stream_of_uploads",
        ),
    ),
    Mutant(
        "texture of another amount is launched as the graph of the one before",
        "models/inference/frame_styler.py",
        "                self._given.add(key)\n",
        "",
        (
            "tests/models/inference/test_frame_styler.py::test_frames_with_other_options_are_other_graphs_on_either_stream",
        ),
    ),
    Mutant(
        "frames under way are timed by one clock",
        "app/engine/display_path.py",
        "idle.pop() if idle",
        "idle[-1] if idle",
        (
            "tests/app/engine/test_display_path.py::test_a_frame_under_way_is_timed_by_a_clock_of_its_own",
        ),
    ),
    Mutant(
        "a stopwatch tells the stages of the frame before as well",
        "app/engine/stage_timer.py",
        "        self._marks.clear()",
        "        pass",
        (
            "tests/app/engine/test_stage_timer.py::test_after_a_reset_the_same_events_time_the_next_frame_alone",
        ),
    ),
    Mutant(
        "a plan keeps the weights that were changed in place",
        "models/inference/cuda.py",
        "if plan is None or version is None or made != version:",
        "if plan is None or version is None:",
        (
            "tests/models/inference/test_plan_cache.py::test_frames_have_one_plan_whose_weights_are_given_to_it_when_they_change",
        ),
    ),
    Mutant(
        "the range of what layers paint is not that of the picture",
        "models/inference/sequential_plan.py",
        "return torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)",
        "return bits",
        (
            "tests/models/inference/test_layerwise_plan.py::test_a_frame_becomes_the_networks_picture",
        ),
    ),
    Mutant(
        "a result on the GPU is enlarged without the frame's detail",
        "models/inference/painted_frames.py",
        "if finish.guided and result.numel() < picture.numel():",
        "if False:",
        (
            "tests/models/inference/test_frame_styler.py::test_a_stream_becomes_what_the_cpu_makes_of_it",
        ),
    ),
    Mutant(
        "a frame is held back although the GPU waits for it",
        "app/live/pacing.py",
        "min(computed - lead, spent.queue)",
        "computed - lead",
        (
            "tests/app/live/test_overlap.py::test_the_next_frame_is_due_when_half_of_the_one_under_way_is_computed",
        ),
    ),
    Mutant(
        "a frame comes too late for the GPU by the time that scaling it takes",
        "app/live/pacing.py",
        "LEAD * (spent.upload + spent.resize)",
        "LEAD * spent.upload",
        (
            "tests/app/live/test_overlap.py::test_a_frame_that_is_scaled_behind_its_upload_is_due_earlier",
        ),
    ),
    Mutant(
        "a third frame is uploaded over one that is computed",
        "models/inference/frame_styler.py",
        "if slot.in_flight:",
        "if False:",
        (
            "tests/models/inference/test_frame_styler.py::test_more_frames_than_there_are_buffers_for_are_refused",
        ),
        breaks=("docs/explanation/architecture.md",),
    ),
    Mutant(
        "a frame of other strides is read where its copy was freed",
        "models/inference/host_memory.py",
        "staging.copy_(_view(dense))",
        "dense = _view(dense); staging.copy_(dense)",
        (
            "tests/models/inference/test_frame_styler.py::test_a_frame_of_any_strides_is_read_before_its_copy_is_freed",
        ),
    ),
    Mutant(
        "a part of pinned memory is uploaded as the whole",
        "models/inference/host_memory.py",
        "base = pixels.base  #",
        "base = getattr(pixels.base, 'base', None) or pixels.base  #",
        (
            "tests/models/inference/test_host_memory.py::test_only_the_whole_of_pinned_memory_is_uploaded_from_there",
        ),
    ),
    Mutant(
        "the first frame of a stream is launched as those that follow another",
        "models/inference/frame_styler.py",
        "due and not begins",
        "due",
        (
            "tests/models/inference/test_frame_styler.py::test_another_choice_or_a_new_stream_is_not_what_was_captured",
        ),
    ),
    Mutant(
        "kernels of frames are launched with structs that the library has otherwise",
        "kernels/frames/launchers.py",
        'check(told["structs"], STRUCTURES, "kernels/frames/structs.py")',
        "pass",
        (
            "tests/kernels/frames/test_description.py::test_a_library_whose_struct_differs_is_refused",
        ),
    ),
)
