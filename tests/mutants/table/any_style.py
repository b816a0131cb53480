"""Mutants of the any-style network."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_VIT = "tests/models/test_vit_style_transfer.py"
_VIT_RUN = "tests/models/training/vit/test_run.py"

_INFERENCE = "tests/models/inference/vit"

MUTANTS = (
    Mutant(
        "the border of an enlarged picture is repeated, not reflected",
        "kernels/ops/transformer/enlarging/reference.py",
        "        write(row, every, phases[:, row, inner, a].flatten(1, 2))\n",
        "",
        (
            "tests/kernels/ops/transformer/test_enlarging.py::"
            "test_it_equals_the_convolution_of_the_enlarged_picture_to_the_last_row",
        ),
    ),
    Mutant(
        "the shift of a layer norm is lost in the layer after it",
        "models/inference/vit/weights.py",
        'exact(f"{name}.{bias}") + matrix @ shift',
        'exact(f"{name}.{bias}")',
        (f"{_INFERENCE}/test_executor.py::test_a_batch_is_painted_as_its_pictures_are",),
    ),
    Mutant(
        "the last layer's norm takes the statistics for those of nothing",
        "kernels/network/ends.py",
        "merged[..., 0] = 1",
        "merged[..., 0] = 0",
        (
            "tests/kernels/network/test_ends.py::"
            "test_measured_statistics_are_those_of_one_value_with_mean_and_variance",
        ),
    ),
    Mutant(
        "tokens too wide for a warp lose their last channels",
        "kernels/ops/transformer/token_norm/api.py",
        " and width <= MOST_WIDTH",
        "",
        (
            "tests/kernels/ops/transformer/test_token_norm.py::test_the_kernel_computes_what_the_reference_does",
        ),
    ),
    Mutant(
        "the margin of a norm on a GPU is always a reflection",
        "kernels/ops/style/normalization/on_cuda.py",
        "p.width, p.pad, p.border = w, pad, BORDERS[pad_mode]",
        "p.width, p.pad, p.border = w, pad, 0",
        (
            "tests/kernels/ops/cuda/test_calls.py::"
            "test_a_margin_of_channels_last_is_written_by_the_norm",
        ),
    ),
    Mutant(
        "a norm by moments takes every group for equally large",
        "kernels/ops/transformer/channel_norm/api.py",
        "mean = (count * means).sum(1) / total",
        "mean = means.mean(1)",
        (
            "tests/kernels/ops/transformer/test_channel_norm.py::"
            "test_its_kernel_computes_what_the_reference_does",
        ),
    ),
    Mutant(
        "moments of channels are written as if they were dense",
        "kernels/ops/transformer/channel_norm/statistics.py",
        "shape = samples, channels, chunks, *mean.stride()",
        "shape = samples, channels, chunks, channels, 1",
        (
            "tests/kernels/ops/transformer/test_channel_statistics.py::"
            "test_moments_are_written_where_they_belong_and_nowhere_else",
        ),
    ),
    Mutant(
        "an any-style network keeps the first code",
        "models/inference/vit/cache.py",
        "return known is None or known[0] is not code or known[1] != code._version",
        "return known is None",
        (f"{_INFERENCE}/test_plan.py::test_a_code_is_set_when_it_has_changed_and_only_then",),
    ),
    Mutant(
        "a large picture has a key for every token",
        "models/vit_style_transfer.py",
        "stride = key_stride or self.config.key_stride(*size)\n        for inject",
        "stride = key_stride or 1\n        for inject",
        (f"{_VIT}::test_large_pictures_share_keys_by_themselves",),
        breaks=("docs/explanation/any-style.md",),
    ),
    Mutant(
        "the first pair of a batch decides the style of all",
        "models/vit_style_transfer.py",
        "block(inject(tokens, code), size, stride)",
        "block(inject(tokens, code[:1]), size, stride)",
        (f"{_VIT}::test_a_picture_is_painted_alike_alone_and_in_a_batch",),
    ),
    Mutant(
        "the digest of an any-style network is not compared",
        "models/vit_checkpoints.py",
        'if weights_digest(stored) != metadata.get("sha256"):',
        "if False:",
        ("tests/models/test_vit_checkpoints.py::test_a_flipped_bit_is_noticed",),
        breaks=("any-style",),
    ),
    Mutant(
        "every process follows its own gradients",
        "models/training/vit/distributed.py",
        "        _sum(flat)\n",
        "",
        (f"{_VIT_RUN}::test_two_processes_hold_the_same_weights",),
    ),
    Mutant(
        "a resumed run begins a new running mean",
        "models/training/vit/run.py",
        "mean.copy_(kept)",
        "pass",
        (f"{_VIT_RUN}::test_a_resumed_run_ends_bit_equal_to_one_never_stopped",),
    ),
    Mutant(
        "a network is trained on the pictures that judge it",
        "app/commands/train_vit/command.py",
        "[name for name in left_out if name in known]",
        "[]",
        ("tests/app/commands/test_train_vit.py::test_held_out_pictures_are_not_trained_on",),
    ),
    Mutant(
        "reading an any-style network loads PyTorch's compiler",
        "models/vit_convolutions.py",
        "    if not layer.weight.is_meta:",
        "    if True:",
        (
            "tests/models/test_vit_checkpoints.py::"
            "test_reading_a_network_does_not_load_pytorchs_compiler",
        ),
    ),
)
