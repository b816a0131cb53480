"""Mutants of the kernels."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "an operation drops the tangents of forward mode",
        "kernels/table/autograd.py",
        "        if has_tangents(args):\n            return transformed",
        "        if False:\n            return transformed",
        (
            "tests/kernels/ops/test_derivatives.py::test_every_transform_has_the_derivatives_of_the_reference",
        ),
    ),
    Mutant(
        "an operation that skips the dispatcher drops the tangents of forward mode",
        "kernels/table/direct.py",
        "        or _forward_mode._current_level >= 0\n",
        "",
        ("tests/kernels/table/test_direct.py::test_forward_mode_sees_the_call",),
    ),
    Mutant(
        "an operation that skips the dispatcher has no gradient",
        "kernels/table/operation.py",
        "                    if kernel is not None and not autograd.is_recorded(args):\n",
        "                    if kernel is not None:\n",
        (
            "tests/kernels/table/test_direct.py"
            "::test_the_gradient_is_the_same_with_and_without_the_dispatcher",
        ),
    ),
    Mutant(
        "attention loses its second derivative",
        "kernels/ops/general/attention/attend.py",
        "        if torch.is_grad_enabled():\n            # Aliases",
        "        if False:\n            # Aliases",
        (
            "tests/kernels/ops/test_derivatives.py::test_every_transform_has_the_derivatives_of_the_reference",
        ),
    ),
    Mutant(
        "an operation of lists has no vmap",
        "kernels/table/autograd.py",
        "    return reference if has_lists else None",
        "    return None",
        ("tests/kernels/ops/test_derivatives.py::test_vmap_has_the_results_of_each_item",),
    ),
    Mutant(
        "a gradient penalty through an instance norm has no graph",
        "kernels/table/autograd.py",
        "is_recorded = torch.is_grad_enabled()",
        "is_recorded = False",
        (
            "tests/kernels/ops/test_derivatives.py::test_a_wgan_gp_step_through_an_instance_norm_has_pytorchs_gradient",
        ),
    ),
    Mutant(
        "a test may leave a daemon behind",
        "tests/helpers/threads.py",
        "if not isinstance(t, threading._DummyThread)}",
        "if not t.daemon}",
        ("tests/helpers/test_threads.py::test_daemons_and_qthreads_are_seen_until_they_end",),
    ),
    Mutant(
        "a test may leave a QThread behind",
        "tests/helpers/threads.py",
        "thread is not main and thread.isRunning()",
        "False",
        ("tests/helpers/test_threads.py::test_daemons_and_qthreads_are_seen_until_they_end",),
    ),
    Mutant(
        "`doctor` hides why a kernel is not in use",
        "app/commands/doctor.py",
        'why = f" ({status.reason})" if status.reason else ""',
        'why = ""',
        (
            "tests/app/commands/test_doctor.py::test_a_kernel_that_cannot_run_is_a_note_with_its_reason",
        ),
    ),
    Mutant(
        "`doctor` marks every kernel as well",
        "app/commands/doctor.py",
        "yield Finding(OK if status.ready or status.by_choice else NOTE, says)",
        "yield Finding(OK, says)",
        (
            "tests/app/commands/test_doctor.py::test_a_kernel_that_cannot_run_is_a_note_with_its_reason",
        ),
    ),
    Mutant(
        "a kernel asked for by name runs its reference in silence",
        "kernels/table/operation.py",
        "if not status.ready:",
        "if False:",
        ("tests/kernels/table/test_registry.py::test_a_kernel_says_why_it_cannot_run",),
        breaks=("KernelUnavailable",),
    ),
    Mutant(
        "the window's start loads the library of transformers",
        "kernels/table/registry.py",
        "    ops = _of_family(family)",
        "    ops = _of_family(None)",
        (
            "tests/kernels/table/test_registry.py::test_a_family_is_asked_for_without_loading_the_other",
        ),
    ),
    Mutant(
        "an own backward is given gradients of what only serves it",
        "kernels/table/autograd.py",
        "found = backward(kept, *given)",
        "found = backward(kept, *given, *grads[len(given) :])",
        (
            "tests/kernels/table/test_autograd.py"
            "::test_an_own_backward_is_given_what_was_saved_and_runs_no_reference",
        ),
    ),
    Mutant(
        "a mask of attention hides the keys that it shows",
        "kernels/attention_wrapper.py",
        ".masked_fill(mask, -torch.inf)",
        ".masked_fill(~mask, -torch.inf)",
        ("tests/kernels/test_attention_wrapper.py::test_masks_mean_what_they_mean_there",),
    ),
    Mutant(
        "dropout drops other weights backward than forward",
        "kernels/ops/transformer/attention/reference.py",
        "part.shape[2], keys, dropout, first)",
        "part.shape[2], keys, dropout, 0)",
        (
            "tests/kernels/ops/transformer/test_transformer.py"
            "::test_the_backward_by_rows_keeps_little_and_is_the_same",
        ),
    ),
    Mutant(
        "a library is not compiled again when its source has changed",
        "kernels/jit/build.py",
        "digest.update(source.read_bytes())",
        "digest.update(source.name.encode())",
        (
            "tests/kernels/jit/test_build.py::test_a_failed_build_is_remembered_until_something_changes",
        ),
    ),
    Mutant(
        "CUDA sources are compiled with an NVRTC that the driver is too old for",
        "kernels/jit/cuda_tools.py",
        'if driver is not None and int(release.partition(".")[0]) > driver.cuda[0]:',
        "if False:",
        (
            "tests/kernels/jit/test_cuda_tools.py::"
            "test_an_nvrtc_newer_than_the_driver_is_one_sentence",
        ),
        breaks=("BuildError",),
    ),
    Mutant(
        "a bool is passed in the eight bytes of a long long",
        "kernels/table/launcher.py",
        "if isinstance(value, bool):",
        "if False:",
        ("tests/kernels/table/test_launcher.py::test_arguments_are_passed_as_c_has_them",),
    ),
    Mutant(
        "layers for older GPUs are compiled for newer ones as well",
        "kernels/driver/compiling.py",
        "int(number) < int(until)",
        "int(number) <= int(until)",
        ("tests/kernels/driver/test_images.py::test_a_source_is_compiled_for_what_it_runs_on",),
    ),
    Mutant(
        "a backend is chosen although no image of it was made for the GPU",
        "kernels/network/dispatch.py",
        "if source not in library.sources]",
        "if False]",
        ("tests/kernels/network/test_dispatch.py::test_a_gpu_gets_the_backends_it_can_run",),
    ),
    Mutant(
        "FP16 is multiplied without tensor cores on Turing",
        "kernels/ops/style/convolution/on_cuda.py",
        "return launch.gpu.major >= 8 or dtype is torch.float16",
        "return launch.gpu.major >= 8",
        (
            "tests/kernels/ops/cuda/test_calls.py"
            "::test_tensor_cores_multiply_what_those_of_the_gpu_can",
        ),
    ),
    Mutant(
        "in FP32 a weight is multiplied as TF32 alone",
        "kernels/network/sm80.py",
        "torch.stack([high, (weight.float() - high.float()).to(operand)])",
        "torch.stack([high, torch.zeros_like(high)])",
        (
            "tests/kernels/network/test_sm80_layout.py"
            "::test_in_fp32_the_copies_of_a_weight_add_up_to_it",
        ),
    ),
    Mutant(
        "AMP runs layer by layer",
        "models/inference/cuda.py",
        "half in (None, torch.float16)",
        "half is None",
        ("tests/models/inference/test_plan_cache.py::test_amp_is_native_with_the_bits_of_tf32",),
    ),
    Mutant(
        "a process loads the images of all precisions",
        "kernels/driver/library.py",
        "        self._finding = threading.Lock()\n",
        "        self._finding = threading.Lock()\n"
        "        for source in self._images:\n"
        "            self._module(source)\n",
        ("tests/kernels/network/test_launchers.py::test_a_precision_loads_its_own_image_alone",),
    ),
    Mutant(
        "a compiled library is loaded whatever its digest",
        "kernels/jit/build.py",
        "    if not same:",
        "    if False:",
        ("tests/kernels/jit/test_kept_builds.py::test_another_content_is_damaged",),
    ),
    Mutant(
        "where a link leads is not checked before a library is loaded",
        "kernels/jit/permissions.py",
        "        if part.is_symlink():",
        "        if False:",
        ("tests/kernels/jit/test_kept_builds.py::test_a_link_in_an_open_folder_is_refused",),
    ),
    Mutant(
        "a library that every user can change is loaded",
        "kernels/jit/permissions.py",
        "if found.st_mode & stat.S_IWOTH:",
        "if False:",
        (
            "tests/kernels/jit/test_kept_builds.py::"
            "test_a_file_or_a_folder_that_others_can_write_is_refused",
        ),
    ),
)
