"""Mutants of the conversion of models, and of composed operations."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = "tests/kernel_fusion/auto_convert/test_conversion.py"
CHANGING = "tests/kernel_fusion/auto_convert/test_changing.py"
COMPOSED = "tests/kernels/ops/general/test_composed.py"
HERE = "kernel_fusion/auto_convert"

MUTANTS = (
    Mutant(
        "a converted model keeps folded weights when others are written",
        f"{HERE}/graphs.py",
        'if node.op == "call_function" and is_of_constants',
        'if node.op != "placeholder" and is_of_constants',
        (f"{CHANGING}::test_merged_layers_read_weights_that_no_version_counts",),
    ),
    Mutant(
        "a converted model runs its program where a gradient is wanted",
        f"{HERE}/forward.py",
        "        torch.is_grad_enabled()\n        or torch.is_autocast",
        "        False\n        or torch.is_autocast",
        (f"{TESTS}::test_gradients_and_hooks_are_those_of_the_original",),
    ),
    Mutant(
        "a converted model is slow where its arguments are given by name",
        f"{HERE}/forward.py",
        "            inputs = inputs.as_declared(own)\n",
        "",
        (f"{TESTS}::test_arguments_by_name_and_by_position_are_the_same_call",),
    ),
    Mutant(
        "a call that runs the original's layers is not told",
        f"{HERE}/forward.py",
        "            self._stats.skip(what, reason)",
        "            pass",
        (f"{TESTS}::test_calls_without_a_program_are_told_once_and_are_right",),
    ),
    Mutant(
        "a converted model runs past the hooks of its layers",
        f"{HERE}/watched.py",
        "unread = UNREAD | OURS | HOOKS if value is model else UNREAD",
        "unread = UNREAD | OURS | HOOKS",
        (f"{TESTS}::test_gradients_and_hooks_are_those_of_the_original",),
    ),
    Mutant(
        "a replacement that changes results is kept",
        f"{HERE}/converter.py",
        'apart:.1e} of the largest value"\n        return ""',
        'apart:.1e} of the largest value"[:0]\n        return ""',
        (f"{TESTS}::test_what_is_wrong_is_skipped_with_a_reason",),
    ),
    Mutant(
        "a conversion that is slower is kept",
        f"{HERE}/converter.py",
        'if speedup < 1 and not self.keep_slower:\n            stats.skip("the whole',
        'if False:\n            stats.skip("the whole',
        (f"{TESTS}::test_what_is_slower_is_undone_unless_told_otherwise",),
    ),
    Mutant(
        "a converted model runs the program of a layer that was exchanged",
        f"{HERE}/watched.py",
        "            and self._identities() == self._kept\n",
        "",
        (f"{TESTS}::test_a_layer_that_is_exchanged_is_used",),
    ),
    Mutant(
        "a model with lists and dictionaries never runs its program",
        f"{HERE}/graphs.py",
        "            _same_attributes(model),\n",
        "",
        (f"{CHANGING}::test_a_renamed_key_and_an_equal_value_of_another_type_are_seen",),
    ),
    Mutant(
        "a converted model reads a dictionary whose key was renamed by its old name",
        f"{HERE}/watched.py",
        "            and [*chain.from_iterable(self._keyed)] == self._names\n",
        "",
        (f"{CHANGING}::test_a_renamed_key_and_an_equal_value_of_another_type_are_seen",),
    ),
    Mutant(
        "a result is memory that the next call reads",
        f"{HERE}/program.py",
        "if right is None and (now[n] is not None or",
        "if right is None and (False or",
        (f"{CHANGING}::test_an_output_has_memory_of_its_own_where_the_original_s_has",),
    ),
    Mutant(
        "a forward that changes the model is converted",
        f"{HERE}/watched.py",
        "        if changed is not None:\n            raise NotExported(",
        "        if False:\n            raise NotExported(",
        (
            f"{CHANGING}::test_a_forward_that_does_more_than_compute_is_not_exported_nor_called_on_the_copy",
        ),
    ),
    Mutant(
        "neighbors that compute another result together are kept",
        f"{HERE}/converter.py",
        "        if self.validate_accuracy and apart > self.accuracy_threshold:\n"
        '            stats.skip("modules"',
        '        if False:\n            stats.skip("modules"',
        (f"{CHANGING}::test_layers_that_compute_another_result_together_are_left_alone",),
    ),
    Mutant(
        "a model is not exported where flags of TF32 are mixed",
        f"{HERE}/graphs.py",
        "tf32_allowed(False),",
        "warnings.catch_warnings(),",
        (f"{TESTS}::test_a_model_is_exported_whatever_flags_of_tf32_the_caller_mixed",),
    ),
    Mutant(
        "tensor cores add large terms first",
        "kernels/ops/general/linear/split.py",
        "    return torch.cat((low, high, high), dim)",
        "    return torch.cat((high, low, high), dim)",
        (
            "tests/kernels/ops/general/linear/test_split.py"
            "::test_a_product_on_tensor_cores_is_of_fp32_with_small_terms_first",
        ),
    ),
    Mutant(
        "weights of FP16 are rounded with the norm in them",
        "kernels/ops/general/conv/composed.py",
        "    if training or x.dtype in (torch.float16, torch.bfloat16):",
        "    if training:",
        (f"{COMPOSED}::test_it_computes_what_its_reference_computes",),
    ),
)
