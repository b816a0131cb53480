"""Mutants of the conversion of models, and of operations that are made of others."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = "tests/kernel_fusion/auto_convert/test_conversion.py"
COMPOSED = "tests/kernels/ops/library/test_composed.py"
HERE = "kernel_fusion/auto_convert"

MUTANTS = (
    Mutant(
        "a converted model keeps folded weights when it loads others",
        f"{HERE}/forward.py",
        "                    program.forget()\n            self._weights",
        "                    pass\n            self._weights",
        (f"{TESTS}::test_weights_are_loaded_both_ways",),
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
        f"{HERE}/weights.py",
        "if any(map(_hooks, inside)) or any(map(_pre_hooks, inside)):",
        "if any(map(_pre_hooks, inside)):",
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
        f"{HERE}/weights.py",
        "if here is None or _ids(here.children) != here.ids:",
        "if here is None:",
        (f"{TESTS}::test_a_layer_that_is_exchanged_is_used",),
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
        "kernels/ops/library/split.py",
        "    return torch.cat((low, high, high), dim)",
        "    return torch.cat((high, low, high), dim)",
        (
            "tests/kernels/ops/library/test_split.py"
            "::test_a_product_on_tensor_cores_is_of_fp32_with_small_terms_first",
        ),
    ),
    Mutant(
        "weights of FP16 are rounded with the norm in them",
        "kernels/ops/library/convolved.py",
        "    if training or x.dtype in (torch.float16, torch.bfloat16):",
        "    if training:",
        (f"{COMPOSED}::test_it_computes_what_its_reference_computes",),
    ),
)
