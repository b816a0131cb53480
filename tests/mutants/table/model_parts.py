"""Mutants of the attention operations and of operations that create models' inputs."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ATTENTION = "tests/kernels/ops/general/attention"
_INPUTS = "tests/kernels/ops/general/inputs"

MUTANTS = (
    Mutant(
        "bools of a mask are added to the scores",
        "kernels/ops/general/attention/scores.py",
        "_VISIBLE if mask.dtype == torch.bool else _ADDED",
        "_ADDED",
        (f"{_ATTENTION}/test_attention.py::test_masks_broadcast_as_pytorchs",),
    ),
    Mutant(
        "rows of scores that a block cannot hold are launched",
        "kernels/ops/general/attention/scores.py",
        "    if keys > MOST_KEYS:",
        "    if keys < 1:",
        (
            f"{_ATTENTION}/test_attention_kernels.py::test_a_row_is_held_by_as_many_threads_as_it_needs",
        ),
    ),
    Mutant(
        "a product of ours reads queries as if they lay like the keys",
        "kernels/ops/general/attention/product.py",
        "*q.stride()[:3], *k.stride()[:3]",
        "*k.stride()[:3], *k.stride()[:3]",
        (f"{_ATTENTION}/test_attention_kernels.py::test_products_have_the_precision_of_fp32",),
    ),
    Mutant(
        "a product of three times TF32 runs where TF32 is no faster than that",
        "kernels/ops/general/attention/product.py",
        "FASTER_ON = ((8, 0), (9, 0))",
        "FASTER_ON = ((8, 0), (8, 6), (9, 0))",
        (
            f"{_ATTENTION}/test_attention_kernels.py::test_the_product_of_ours_runs_where_it_is_faster",
        ),
    ),
    Mutant(
        "tables of 16 bits are read as FP32",
        "kernels/ops/general/attention/rope.py",
        "*arguments, alike, groups, vector)",
        "*arguments, False, groups, vector)",
        (f"{_ATTENTION}/test_attention_kernels.py::test_tables_in_16_bits_are_read_as_they_are",),
    ),
    Mutant(
        "the kernel for blocks of keys runs where a gradient is wanted",
        "kernels/ops/general/attention/sparse.py",
        "if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):",
        "if False:",
        (
            f"{_ATTENTION}/test_attention_kernels.py::"
            "test_the_kernel_for_blocks_runs_without_gradients_alone",
        ),
    ),
    Mutant(
        "what was summed of blocks before is not scaled by a larger score",
        "kernels/ops/general/attention/block_sparse.cuh",
        "known.out[j][2 * r + e] *= shrink;",
        "known.out[j][2 * r + e] *= 1.f;",
        (
            f"{_ATTENTION}/test_attention_kernels.py::"
            "test_blocks_that_are_seen_are_attended_to_by_one_kernel",
        ),
    ),
    Mutant(
        "gradients of gathered blocks are summed in 16 bits",
        "kernels/ops/general/attention/composed.py",
        "        if layout.inverse is None:",
        "        if True:",
        (
            f"{_ATTENTION}/test_attention.py::"
            "test_gradients_of_a_block_that_all_rows_see_are_not_summed_in_16_bits",
        ),
    ),
    Mutant(
        "of the sums of eight warps those of two count",
        "kernels/ops/general/attention/block_sums.cuh",
        "for (int by = 0; by < kSumWarps; ++by)",
        "for (int by = 0; by < 2; ++by)",
        (
            f"{_ATTENTION}/test_attention_kernels.py::"
            "test_more_places_than_a_block_of_threads_has_under_way_are_all_summed",
        ),
    ),
    Mutant(
        "a block of few places is not summed beside one of many",
        "kernels/ops/general/attention/block_sums.cuh",
        "(of_all >> warp & 1) == 0)",
        "of_all == 0)",
        (
            f"{_ATTENTION}/test_attention_kernels.py::"
            "test_blocks_of_many_places_lie_among_blocks_of_few",
        ),
    ),
    Mutant(
        "of 32 blocks of keys three are attended to with a mask of all",
        "kernels/ops/general/attention/blocks.py",
        "SPARSE = 10",
        "SPARSE = 16",
        (
            f"{_ATTENTION}/test_attention_kernels.py::"
            "test_blocks_are_gathered_where_a_row_sees_one_of_ten",
        ),
    ),
    Mutant(
        "a place has the block of the place before it",
        "kernels/ops/general/attention/block_copies.cuh",
        "[from[i] * width + at + v * 32]",
        "[from[i / 2 * 2] * width + at + v * 32]",
        (f"{_ATTENTION}/test_attention_kernels.py::test_blocks_are_copied_to_their_places_whole",),
    ),
    Mutant(
        "the gradient of a rotary embedding is turned on, not back",
        "kernels/ops/general/attention/rope.py",
        "turn(grad, cos, sin, interleaved, not back)",
        "turn(grad, cos, sin, interleaved, back)",
        (f"{_ATTENTION}/test_attention.py::test_results_and_gradients_are_those_of_pytorch",),
    ),
    Mutant(
        "the mask of blocks is made for each query",
        "kernels/ops/general/attention/composed.py",
        "    by_block = q.reshape(",
        "    mask = mask.expand(-1, -1, queries, -1)\n    by_block = q.reshape(",
        (f"{_ATTENTION}/test_attention.py::test_a_mask_of_blocks_is_not_repeated_for_each_query",),
    ),
    Mutant(
        "a block of queries sees one block of keys",
        "kernels/ops/general/attention/blocks.py",
        "return int(block_mask.sum(-1).max())",
        "return 1",
        (f"{_ATTENTION}/test_attention.py::test_blocks_of_each_sample_and_head_are_their_own",),
    ),
    Mutant(
        "the row of the padding has a gradient",
        "kernels/ops/general/inputs/embedding.py",
        "_of_table(grad, numbers, weight, _ZEROS if padding is None else padding)",
        "_of_table(grad, numbers, weight, _ZEROS)",
        (f"{_INPUTS}/test_inputs.py::test_sequences_are_cut_and_padded_as_by_hand",),
    ),
    Mutant(
        "less contrast makes a picture darker",
        "kernels/ops/general/inputs/images.py",
        "brightness * contrast, (1 - contrast) / 2",
        "brightness * contrast, 0.0",
        (f"{_INPUTS}/test_inputs.py::test_colors_change_as_they_are_named",),
    ),
    Mutant(
        "a second launch has the boxes and colors of the first",
        "kernels/ops/general/inputs/images.py",
        "own = part if given > 1 else slice(1)",
        "own = slice(most) if given > 1 else slice(1)",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_more_pictures_than_a_launch_is_told_of_keep_their_own_numbers",
        ),
    ),
    Mutant(
        "the sum of a frequent token ends with a block",
        "kernels/ops/general/inputs/tables.py",
        'launch("styleforge_table_gradient_joined", grid, _THREADS, order, out, parts, *numbers)',
        "pass",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_the_row_of_a_frequent_token_is_summed_over_many_blocks",
        ),
    ),
    Mutant(
        "a second launch writes over the sequences of the first",
        "kernels/ops/general/inputs/embedding.py",
        "x[part] for x in sequences.results",
        "x for x in sequences.results",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_more_sequences_than_a_launch_is_told_of_are_each_embedded",
        ),
    ),
    Mutant(
        "the gradient of positions is one that something else has",
        "kernels/ops/general/inputs/embedding.py",
        "    grad.of_one_sequence = view",
        "    # grad.of_one_sequence = view",
        (f"{_INPUTS}/test_inputs.py::test_a_gradient_of_positions_is_copied_where_others_have_it",),
    ),
    Mutant(
        "equal tokens of two tiles change places",
        "kernels/ops/general/inputs/sorting.cuh",
        "last[u][i] < key + (begin[u] < own) ? part : 0;",
        "last[u][i] < key ? part : 0;",
        (f"{_INPUTS}/test_inputs_kernels.py::test_tokens_are_in_a_stable_order",),
    ),
    Mutant(
        "rows of the table that no token has keep what lay there",
        "kernels/ops/general/inputs/model_inputs.cu",
        "set_to_zero(out, bytes, blockIdx.x - whole);",
        ";",
        (f"{_INPUTS}/test_inputs_kernels.py::test_rows_that_no_token_has_are_zero",),
    ),
    Mutant(
        "on the CPU a mean is divided by how many groups a window has",
        "kernels/ops/general/inputs/model_inputs.cpp",
        "static_cast<float>(size), made);",
        "static_cast<float>(of_window), made);",
        (f"{_INPUTS}/test_inputs.py::test_windows_and_gradients_are_pytorchs",),
    ),
    Mutant(
        "a mask of blocks that was written to is taken for what it was",
        "kernels/ops/general/attention/blocks.py",
        "found is None or found.version != version",
        "found is None",
        (
            f"{_ATTENTION}/test_attention.py::"
            "test_a_mask_of_blocks_is_looked_through_once_until_it_is_written_to",
        ),
    ),
    Mutant(
        "what is known of a mask of blocks is of no use to gradients",
        "kernels/ops/general/attention/blocks.py",
        "with torch.inference_mode(False):",
        "with torch.inference_mode(torch.is_inference_mode_enabled()):",
        (
            f"{_ATTENTION}/test_attention.py::"
            "test_what_inference_found_out_about_a_mask_serves_gradients",
        ),
    ),
    Mutant(
        "a thread's vectors of an embedding overlap those of the next thread",
        "kernels/ops/general/inputs/embed.cuh",
        "const unsigned at = first + u * lanes;",
        "const unsigned at = first + u;",
        (f"{_INPUTS}/test_inputs_kernels.py::test_a_row_of_any_width_is_shared_out_whole",),
    ),
    Mutant(
        "threads of a narrow row of windows begin behind its end",
        "kernels/ops/general/inputs/windows.cuh",
        "lane = threadIdx.x & (lanes - 1), row",
        "lane = threadIdx.x, row",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_windows_of_many_groups_are_those_of_the_reference",
        ),
    ),
    Mutant(
        "in 16 bits half a vector is loaded by single elements",
        "kernels/ops/general/inputs/windows.py",
        "for count in (most, most // 2):",
        "for count in (most,):",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_windows_of_16_bits_load_as_much_of_a_group_as_lies_together",
        ),
    ),
    Mutant(
        "a thread's rows of the gradient of windows are behind the last row",
        "kernels/ops/general/inputs/model_inputs.cu",
        "if (row + u < count) to[u * of_row] = vectors[u];",
        "to[min(u, 1) * of_row] = vectors[u];",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_windows_of_many_groups_are_those_of_the_reference",
        ),
    ),
    Mutant(
        "windows are one group apart",
        "kernels/ops/general/inputs/windows.py",
        "return group, size // group, step // group",
        "return group, size // group, 1",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_windows_of_many_groups_are_those_of_the_reference",
        ),
    ),
    Mutant(
        "equally large values of a window have the whole gradient each",
        "kernels/ops/general/inputs/windows.py",
        "shares = shares * chosen / chosen.sum(-1, keepdim=True)",
        "shares = shares * chosen",
        (
            f"{_INPUTS}/test_inputs_kernels.py::"
            "test_windows_and_their_gradients_are_those_of_the_reference",
        ),
    ),
)
