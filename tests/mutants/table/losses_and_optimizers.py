"""Mutants of losses and optimizers for any model."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LOSS = "tests/kernels/ops/general/loss/test_loss.py"
EMULATED = "tests/kernels/ops/general/loss/test_emulated_loss.py"
OPTIM = "tests/kernels/ops/general/optim/test_optim.py"
SHARDED = "tests/kernel_fusion/test_sharded.py"

MUTANTS = (
    Mutant(
        "all logits of a linear layer are in memory at once",
        "kernels/ops/general/loss/linear.py",
        "return chunk_size or rows_at_a_time(rows, weight.shape[0], features, weight.is_cpu)",
        "return max(rows, 1)",
        (f"{LOSS}::test_all_logits_are_never_in_memory",),
    ),
    Mutant(
        "a call that fails names the dispatcher",
        "kernels/table/signature.py",
        "            if found:",
        "            if not found:",
        (
            "tests/kernels/table/test_library_registry.py"
            "::test_an_argument_of_another_type_is_named_with_the_operation",
        ),
    ),
    Mutant(
        "under autocast a squared error is in 16 bits",
        "kernels/ops/general/loss/api.py",
        "is not None and dtype.is_floating_point:",
        "is not None and False:",
        (f"{LOSS}::test_the_squared_error_of_mixed_dtypes_and_under_autocast_is_pytorchs",),
    ),
    Mutant(
        "a decay of 0 makes an infinite parameter NaN",
        "kernels/ops/general/optim/tensors.h",
        "        decays = p.weight_decay != 0;",
        "        decays = true;",
        (f"{OPTIM}::test_infinities_and_nan_become_what_the_loop_of_pytorch_makes_of_them",),
    ),
    Mutant(
        "a state that is refused is kept all the same",
        "kernel_fusion/optim.py",
        '        for group in state["param_groups"]:  # of',
        '        super().__setstate__(state)\n        for group in state["param_groups"]:  # of',
        (f"{OPTIM}::test_a_state_that_is_refused_changes_nothing",),
    ),
    Mutant(
        "each process has the norm of its own part",
        "kernel_fusion/sharded.py",
        "over if p.is_shard() else",
        "over if p.is_partial() else",
        (f"{SHARDED}::test_steps_and_norms_of_sharded_parameters_are_pytorchs",),
    ),
    Mutant(
        "the gradient of a weight is read and written for each of many small chunks",
        "kernels/ops/general/loss/linear.py",
        "    features = weight.shape[1] if wanted & WEIGHT else 0",
        "    features = 0",
        (f"{LOSS}::test_the_gradient_of_a_wide_weight_is_written_for_few_chunks",),
    ),
    Mutant(
        "a backward that is not the last scales what the next one reads",
        "kernels/ops/general/loss/api.py",
        "for x in needed] if _graph_is_kept() else needed",
        "for x in needed] if False else needed",
        (f"{LOSS}::test_a_gradient_is_scaled_where_it_lies_unless_the_graph_is_kept",),
    ),
    Mutant(
        "backward scales the gradient of a weight of any size",
        "kernels/ops/general/loss/linear.py",
        "    return few and bool(wanted & WEIGHT)",
        "    return False",
        (f"{LOSS}::test_of_few_rows_backward_scales_no_gradient_of_the_weight",),
    ),
    Mutant(
        "a thread takes the vectors of a long row twice",
        "kernels/ops/general/loss/loss.cu",
        "loaded[k] = from[min(own + kLoads * step, last)];",
        "loaded[k] = from[own];",
        (f"{EMULATED}::test_a_thread_takes_all_vectors_of_a_long_row",),
    ),
    Mutant(
        "on a GPU a mean of losses counts the rows that are ignored",
        "kernels/ops/general/loss/loss.cu",
        "    if (label == p.ignore_index) return A(0);",
        "    if (false) return A(0);",
        (f"{EMULATED}::test_a_total_has_all_rows_in_any_dtype",),
    ),
    Mutant(
        "a second derivative of a linear cross-entropy takes its gradient for a constant",
        "kernels/ops/general/loss/api.py",
        ' or reduction == "none" or torch.is_grad_enabled():',
        ' or reduction == "none":',
        (f"{LOSS}::test_second_derivatives_are_right",),
    ),
    Mutant(
        "a second derivative of a squared error is none",
        "kernels/ops/general/loss/squares.py",
        "    factor = grad.to(dtype) * _scale(x, reduction)",
        "    factor = grad.detach().to(dtype) * _scale(x, reduction)",
        (f"{LOSS}::test_second_derivatives_are_right",),
    ),
    Mutant(
        "the norm of many chunks is that of the first 64",
        "kernels/ops/general/optim/norms.py",
        "next(launches([[parts]]))",
        "next(launches([[parts[:64]]]))",
        ("tests/kernels/ops/general/optim/test_emulated_optim.py::test_a_norm_has_all_chunks",),
    ),
    Mutant(
        "a mean of losses counts the rows that are ignored",
        "kernels/ops/general/loss/rows.py",
        "        return valid.sum(dtype=dtype)",
        "        return torch.ones_like(valid).sum(dtype=dtype)",
        (f"{LOSS}::test_cross_entropy_and_its_gradient_are_pytorchs",),
    ),
    Mutant(
        "a step that overflows is counted",
        "kernel_fusion/optim.py",
        "            _torch._foreach_sub_(steps, [found_inf] * len(steps))",
        "            pass",
        (f"{OPTIM}::test_a_scaler_skips_the_step_that_overflows",),
    ),
    Mutant(
        "the first gradient of a momentum is dampened",
        "kernel_fusion/optim.py",
        'if momentum and group["dampening"]:',
        "if False:",
        (f"{OPTIM}::test_steps_are_pytorchs",),
    ),
    Mutant(
        "tensors of another layout are updated as if they lay alike",
        "kernels/ops/general/optim/tensors.py",
        "    if any(x.stride() != first.stride() for x in tensors):",
        "    if False:",
        (f"{OPTIM}::test_what_has_no_kernel_is_refused_or_computed_by_pytorch",),
    ),
)
