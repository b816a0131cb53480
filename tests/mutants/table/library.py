"""Mutants of the operations for any model, and of their benchmark."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ELEMENTWISE = "tests/kernels/ops/general/elementwise/test_elementwise.py"
FUSION = "tests/kernels/ops/general/fusion/test_fusion.py"
KERNELS = "tests/kernels/ops/general/fusion/test_fusion_kernels.py"
BENCH = "tests/benchmarks/operations/test_command.py"
ATTENTION = "tests/kernels/ops/general/attention/test_attention.py"
BITS = "tests/kernels/ops/general/elementwise/test_bits.py"
EMULATED = "tests/kernels/ops/general/elementwise/test_emulated_elementwise.py"
COMPOSED = "tests/kernels/ops/general/test_composed.py"

MUTANTS = (
    Mutant(
        "gelu_multiply is approximated unless the call asks for that",
        "kernels/ops/general/elementwise/api.py",
        '"gelu_multiply", "gelu_multiply", "gelu_tanh_multiply"',
        '"gelu_multiply", "gelu_tanh_multiply", "gelu_multiply"',
        (
            "tests/kernels/ops/general/elementwise/test_elementwise.py::"
            "test_it_is_what_pytorch_computes",
        ),
    ),
    Mutant(
        "with gradients an addition keeps its result",
        "kernels/ops/general/elementwise/api.py",
        "    recorded=masked.in_place_of_add_relu,\n",
        "",
        (
            "tests/kernels/ops/general/elementwise/test_masked.py::"
            "test_with_gradients_an_addition_keeps_bits_and_nothing_else",
        ),
    ),
    Mutant(
        "of two vectors of FP32 the bits are those of the first",
        "kernels/ops/general/elementwise/relu_mask.cu",
        "bits |= __shfl_xor_sync(0xffffffffu, bits, 1) << 4;",
        "bits |= bits << 4;",
        (
            "tests/kernels/ops/general/elementwise/test_masked.py::"
            "test_results_bits_and_gradients_are_those_of_the_reference",
        ),
    ),
    Mutant(
        "what goes past the caches is the first piece of its block, again and again",
        "kernels/ops/general/reduction/reduction.cpp",
        "stream(to + k, made + k);",
        "stream(to + k, made);",
        (f"{FUSION}::test_gradients_of_reductions_that_go_past_the_caches_are_the_same",),
    ),
    Mutant(
        "parts of a sum are rounded to 16 bits before they are summed",
        "kernels/ops/general/reduction/reductions.py",
        "partial = run(term, torch.float32, scale)",
        "partial = run(term, x.dtype, scale)",
        (f"{KERNELS}::test_sums_take_one_launch_or_one_more_over_parts_in_fp32",),
    ),
    Mutant(
        "beyond the end of a row its last batch is summed again",
        "kernels/ops/general/reduction/reduction.cu",
        "if (!kWhole && i + a * stride >= end) continue;",
        "",
        (f"{KERNELS}::test_a_kernel_computes_what_its_reference_does",),
    ),
    Mutant(
        "rows with a bias are walked by blocks of several tiles",
        "kernels/ops/general/elementwise/launchers.py",
        "elif fits and of_rows and len(walk.sizes) == 2 and not p.backward:",
        "elif False:",
        (
            "tests/kernels/ops/general/elementwise/test_launchers.py::test_a_block_has_one_tile_of_rows_with_a_bias",
        ),
    ),
    Mutant(
        "with gradients a dropout on a CPU draws its numbers twice",
        "kernels/ops/general/elementwise/declaration.py",
        "dropped.in_place_of(row.name) if row.drops else recorded",
        "recorded",
        (f"{BITS}::test_what_dropout_dropped_has_the_gradient_of_its_numbers",),
    ),
    Mutant(
        "the gradient of a large relu takes the bits of its first piece",
        "kernels/ops/general/elementwise/elementwise.cpp",
        "keep_by_bits(grad + at, bits + at / kBits, kSize, kept);",
        "keep_by_bits(grad + at, bits, kSize, kept);",
        (f"{BITS}::test_of_an_addition_the_bits_are_those_of_the_reference",),
    ),
    Mutant(
        "the slope of GELU on a CPU is that of a polynomial of one degree less",
        "kernels/include/cpu/gelu_slope.h",
        "float p = -3.15550738e-07f;",
        "float p = 0.f;",
        (f"{ELEMENTWISE}::test_the_slope_of_gelu_on_a_cpu_errs_less_than_two_ten_millionths",),
    ),
    Mutant(
        "GELU in 16 bits on a GPU is that of a polynomial of one degree less",
        "kernels/ops/general/elementwise/math.cuh",
        "float p = -4.5817504e-04f;",
        "float p = 0.f;",
        (f"{EMULATED}::test_gelu_in_16_bits_is_rounded_once",),
    ),
    Mutant(
        "the slope of mish on a GPU leaves out how its softplus changes",
        "kernels/ops/general/elementwise/functors.h",
        "A(4) * inverse * (t - w * inverse)",
        "A(4) * inverse * t",
        (f"{EMULATED}::test_sigmoid_and_mish_err_by_less_than_a_millionth",),
    ),
    Mutant(
        "x times a sigmoid grows again far below 0",
        "kernels/include/cpu/vector_math.h",
        "within(v, -88.f, 89.f)",
        "within(v, -87.f, 88.f)",
        (f"{ELEMENTWISE}::test_far_numbers_infinities_and_nan_give_what_pytorch_gives",),
    ),
    Mutant(
        "the slope of mish overflows far below 0",
        "kernels/ops/general/elementwise/functors.h",
        "(t + in[0] * bend)",
        "(t + A(1e4) * in[0] * (bend * A(1e-4)))",
        (f"{EMULATED}::test_far_numbers_infinities_and_nan_give_what_pytorch_gives",),
    ),
    Mutant(
        "the two numbers of a word of dropout on a GPU change places",
        "kernels/ops/general/elementwise/group.cuh",
        "% 2 ? word : word << 16;",
        "% 2 ? word << 16 : word;",
        (f"{EMULATED}::test_blocks_take_several_tiles_and_leave_no_element",),
    ),
    Mutant(
        "blocks on a CPU are summed without the last place of each",
        "kernels/ops/general/attention/attention_parts.cpp",
        "for (int64_t i = begins[block]; i < begins[block + 1]; ++i) {",
        "for (int64_t i = begins[block]; i + 1 < begins[block + 1]; ++i) {",
        (f"{ATTENTION}::test_blocks_are_gathered_and_summed_on_any_threads_as_by_pytorch",),
    ),
    Mutant(
        "a block that there is not is read on a CPU",
        "kernels/ops/general/attention/attention_parts.cpp",
        "if (places[i] < 0 || places[i] >= blocks) {",
        "if (places[i] >= blocks + 1) {",
        (f"{ATTENTION}::test_places_of_blocks_that_there_are_not_are_refused",),
    ),
    Mutant(
        "a pass over a convolution's result adds its bias alone",
        "kernels/ops/general/conv/composed.py",
        "pointwise_bias is not None and _bias_is_apart(x):",
        "False:",
        (f"{COMPOSED}::test_where_a_bias_is_a_pass_of_its_own_it_is_that_of_the_activation",),
    ),
    Mutant(
        "a group's variance leaves out how far the means of its channels lie apart",
        "kernels/ops/general/fusion/fusion.cu",
        "(moments[1] + team.sum(apart)) * each",
        "moments[1] * each",
        (f"{KERNELS}::test_a_kernel_computes_what_its_reference_does",),
    ),
    Mutant(
        "a variance leaves out how far the means of blocks lie apart",
        "kernels/ops/general/fusion/held_norm.cuh",
        "published[i].second + n * above * above",
        "published[i].second",
        (f"{KERNELS}::test_a_team_of_blocks_holds_what_is_normed_together",),
    ),
    Mutant(
        "a block leaves out what its last warp has of a plane",
        "kernels/ops/general/fusion/held.cuh",
        "w <= (to - 1 - first) / each",
        "w < (to - 1 - first) / each",
        (f"{KERNELS}::test_a_team_of_blocks_holds_what_is_normed_together",),
    ),
    Mutant(
        "blocks are given parts of two tensors that one has room for",
        "kernels/ops/general/fusion/held.py",
        "room_of(gpu) // (BYTES * tensors)",
        "room_of(gpu) // BYTES",
        (f"{KERNELS}::test_teams_are_of_as_many_blocks_as_hold_a_slab",),
    ),
    Mutant(
        "a network without a gradient has its whole hidden layer in memory",
        "kernels/ops/general/linear/api.py",
        "return network(x) if parts < 2 or needs_gradient(x, *given) else",
        "return network(x) if True else",
        (
            f"{COMPOSED}::test_a_network_without_a_gradient_has_a_part_of_its_hidden_layer_at_a_time",
        ),
    ),
    Mutant(
        "a batch norm in evaluation leaves out the bias of its convolution",
        "kernels/ops/general/conv/composed.py",
        "mean = running_mean if bias is None else running_mean - bias",
        "mean = running_mean",
        (f"{COMPOSED}::test_where_a_bias_is_a_pass_of_its_own_it_is_that_of_the_activation",),
    ),
    Mutant(
        "a batch norm in evaluation divides by the variance without eps",
        "kernels/ops/general/fusion/channels.py",
        "kept=kept, eps=eps)",
        "kept=kept, eps=0.0)",
        (f"{KERNELS}::test_a_kernel_computes_what_its_reference_does",),
    ),
    Mutant(
        "dropout leaves what it keeps as it is",
        "kernels/table/philox.py",
        "return _NUMBERS / keeping if keeping else 0.0",
        "return 1.0 if keeping else 0.0",
        (f"{ELEMENTWISE}::test_dropout_follows_the_seed_and_drops_as_often_as_asked",),
    ),
    Mutant(
        "elements that lie apart are read as a vector",
        "kernels/ops/general/elementwise/layout.py",
        "and all(strides[0] in (0, 1) for strides in self.strides)",
        "and True",
        (
            "tests/kernels/ops/general/elementwise/test_launchers.py::test_what_lies_otherwise_is_read_one_by_one",
        ),
    ),
    Mutant(
        "the running variance is that of the batch alone",
        "kernels/ops/general/fusion/norms.py",
        " * (count / (count - 1))",
        "",
        (f"{FUSION}::test_running_statistics_move_as_pytorchs",),
    ),
    Mutant(
        "the gradients of a row leave its mean in",
        "kernels/ops/general/fusion/row_norm.cuh",
        "(values[group][k] - of.mean) * of.inverse;",
        "values[group][k] * of.inverse;",
        (f"{KERNELS}::test_a_kernel_computes_what_its_reference_does",),
    ),
    Mutant(
        "two sums of a team are of the first of its warps alone",
        "kernels/include/common/team.cuh",
        "own[0] = other < size / 32 ? sums[2 * (first + other)] : 0;",
        "own[0] = other < 1 ? sums[2 * first] : 0;",
        (f"{KERNELS}::test_a_block_sums_the_gradients_of_all_its_rows",),
    ),
    Mutant(
        "on the CPU every row is normed backward by the mean of the first one",
        "kernels/ops/general/fusion/fusion.cpp",
        "const Moments of = {statistics[2 * row], statistics[2 * row + 1]};",
        "const Moments of = {statistics[0], statistics[2 * row + 1]};",
        (f"{FUSION}::test_results_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "a layer of 16 bits rounds its product before the bias is added",
        "kernels/ops/general/linear/api.py",
        "x.dtype in (torch.float16, torch.bfloat16):",
        "x.dtype in ():",
        (f"{COMPOSED}::test_a_layers_relu_takes_the_side_of_the_sum_that_is_rounded_once",),
    ),
    Mutant(
        "the slope of tanh is the difference of two numbers near 1",
        "kernels/ops/general/elementwise/tanh_slope.h",
        "return fourfold / (sum * sum);",
        "return 1.f - (2.f - sum) / sum * ((2.f - sum) / sum);",
        (f"{ELEMENTWISE}::test_the_slope_of_tanh_loses_no_digit_where_it_is_small",),
    ),
    Mutant(
        "the parameters of a group on the CPU are those of its sample's first channels",
        "kernels/ops/general/fusion/group_norm.cpp",
        "settle(group * of.of_group, group * of.of_group % of.channels);",
        "settle(group * of.of_group, 0);",
        (f"{FUSION}::test_the_number_of_threads_changes_no_bit",),
    ),
    Mutant(
        "the mean of a group's gradient stays in",
        "kernels/ops/general/fusion/group_norm.cpp",
        "(through * of.weight - (means.inner + normed * means.product)) * of.inverse",
        "(through * of.weight - normed * means.product) * of.inverse",
        (f"{FUSION}::test_results_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "what goes past the caches of a plane is its first piece, again and again",
        "kernels/ops/general/fusion/norm_channels.h",
        "compute(k, made, kPiece);",
        "compute(begin, made, kPiece);",
        (f"{FUSION}::test_groups_that_go_past_the_caches_are_the_same",),
    ),
    Mutant(
        "the last elements of a plane are in no sum",
        "kernels/ops/general/fusion/norm_channels.h",
        "to.sum += joined(sums) + sum;",
        "to.sum += joined(sums);",
        (f"{FUSION}::test_results_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "on the CPU a convolution's bias is left to nobody where a group norm follows",
        "kernels/ops/general/conv/composed.py",
        "of_conv, shift = (None, bias) if _bias_is_apart(x) else (bias, None)",
        "of_conv, shift = (None, bias) if _bias_is_apart(x) else (None, None)",
        (f"{COMPOSED}::test_a_group_norm_with_gradients_is_joined_with_relu",),
    ),
    Mutant(
        "the gradient of a sum that is normed, too, is forgotten",
        "kernels/ops/general/fusion/declaration.py",
        "*(added or [None]),",
        "None,",
        (f"{FUSION}::test_results_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "the gradients of a batch norm do not know that its statistics follow from x",
        "kernels/ops/general/fusion/channels.py",
        "*of, dx, training)",
        "*of, dx, False)",
        (f"{FUSION}::test_results_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "a row that begins beside a multiple of 16 bytes is read 16 at a time",
        "kernels/ops/general/fusion/arguments.py",
        "x.data_ptr() % BYTES for x in given",
        "False for x in given",
        (f"{KERNELS}::test_vectors_are_taken_where_rows_are_made_of_them",),
    ),
    Mutant(
        "`bench` leaves out what has no row for it",
        "benchmarks/operations/library_cases.py",
        "    for op in chosen:\n",
        "    for op in (op for op in chosen if op.timed is not None):\n",
        (f"{BENCH}::test_what_a_row_does_not_say_is_measured_on_its_largest_sample",),
    ),
    Mutant(
        "the report of a run that was cut does not say so",
        "benchmarks/operations/command.py",
        "(missing if count < len(parts) else {})",
        "{}",
        (f"{BENCH}::test_a_run_that_is_cut_keeps_what_it_has_measured",),
    ),
    Mutant(
        "long calls of a GPU are timed as often as short ones",
        "benchmarks/operations/ways.py",
        "    return Rounds(min(runs, enough), repeats)",
        "    return Rounds(runs, repeats)",
        (f"{BENCH}::test_the_longer_a_call_of_a_gpu_takes_the_fewer_are_timed",),
    ),
    Mutant(
        "a thread of autograd gets no context",
        "kernels/driver/driver.py",
        "return error or (0 if current else self.make_current(device))",
        "return error",
        ("tests/kernels/driver/test_context.py::test_a_thread_without_a_context_gets_one_once",),
    ),
    Mutant(
        "a flag of TF32 is not put back",
        "utils/tf32.py",
        "        _torch._set_cudnn_allow_tf32(cudnn)",
        "        pass",
        ("tests/utils/test_tf32.py::test_every_flag_is_set_and_put_back",),
    ),
)
