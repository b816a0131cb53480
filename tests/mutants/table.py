"""The mutants: for each promise that people rely on, a line that breaks it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENGINE = "tests/app/engine/test_engine.py"
_COMPARED = "tests/app/engine/test_comparison.py"
_ADAPTED = "tests/app/engine/test_adaptation.py"
_FINISHED = "tests/app/engine/post/test_post_processing.py"
_SESSION = "tests/app/live/test_session.py"
_CHECKPOINTS = "tests/models/test_checkpoints.py"
_STYLIZE = "tests/app/commands/test_stylize_files.py"
_PIPELINE = "tests/app/commands/test_stylize_pipeline.py"
_BATCHES = "tests/app/commands/test_stylize_batches.py"
_PLATFORMS = "tests/wheels/test_platforms.py"

_COMPARISON = (
    Mutant(
        "two pictures always agree, whatever their largest difference",
        "models/precision.py",
        'return difference <= bound, f"largest',
        'return True, f"largest',
        ("tests/models/test_precision.py::test_pictures_agree_up_to_the_bound_and_not_beyond",),
    ),
    Mutant(
        "two pictures always agree, whatever their PSNR",
        "models/precision.py",
        "return psnr >= self.value.min_psnr, f",
        "return True, f",
        ("tests/models/test_precision.py::test_pictures_agree_up_to_the_bound_and_not_beyond",),
    ),
    Mutant(
        "a comparison always says that its pictures differ by 0",
        "app/engine/comparison.py",
        "difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)",
        "difference, psnr = 0.0, min(p for _, p in apart)",
        (f"{_COMPARED}::test_a_comparison_measures_how_far_the_two_pictures_are_apart",),
    ),
    Mutant(
        "the two networks of a comparison never take turns in going first",
        "app/engine/comparison.py",
        "self._baseline_first = not self._baseline_first",
        "self._baseline_first = True",
        (f"{_COMPARED}::test_the_networks_of_a_comparison_take_turns_in_going_first",),
    ),
    Mutant(
        "the first frame of a comparison, which only warms up, is timed",
        "app/engine/comparison.py",
        "else:\n            for kept",
        "if True:\n            for kept",
        (f"{_COMPARED}::test_comparing_shows_both_pictures_their_paces_and_the_ratio",),
    ),
    Mutant(
        "a ratio is given although the pictures differ",
        "app/engine/result.py",
        "/ self.fused_latency.median if self.agrees else None",
        "/ self.fused_latency.median",
        (f"{_COMPARED}::test_the_ratio_is_withheld_when_the_pictures_differ",),
    ),
    Mutant(
        "figures of pictures that agreed stay on screen once they differ",
        "app/ui/viewport/viewport.py",
        " or kept.agrees != newest.agrees:",
        ":",
        ("tests/app/ui/widgets/test_viewport.py::test_a_ratio_is_withheld_at_once",),
    ),
    Mutant(
        "`bench` reports a difference of 0",
        "app/commands/bench/network.py",
        '"difference": difference,',
        '"difference": 0.0,',
        ("tests/app/commands/bench/test_command.py::test_a_network_that_errs_has_its_error_told",),
    ),
    Mutant(
        "`bench` reports a PSNR of 99 dB",
        "app/commands/bench/network.py",
        '"psnr": psnr if math.isfinite(psnr) else None,',
        '"psnr": 99.0,',
        ("tests/app/commands/bench/test_command.py::test_a_network_that_errs_has_its_error_told",),
    ),
)

_ENGINES = (
    Mutant(
        "the pool builds the baseline whatever was chosen",
        "app/engine/network_pool.py",
        "family.build(network, kernels)",
        'family.build(network, "baseline")',
        (f"{_ENGINE}::test_the_network_that_was_chosen_is_the_one_that_runs",),
    ),
    Mutant(
        "the engine asks the pool for the baseline whatever was chosen",
        "app/engine/engine.py",
        "self._network(inferred, kernels).render_all",
        'self._network(inferred, "baseline").render_all',
        (f"{_ENGINE}::test_the_network_that_was_chosen_is_the_one_that_runs",),
    ),
    Mutant(
        "the layers of a network that is compared are timed, which slows it",
        "app/engine/engine.py",
        "by_layer = self._by_layer and not inferred.config.compare",
        "by_layer = self._by_layer",
        (f"{_ENGINE}::test_layers_are_timed_while_that_is_wanted_and_never_in_a_comparison",),
    ),
    Mutant(
        "a plan tells groups of layers although every layer is to be timed",
        "kernels/network/graph_plan.py",
        "for name in self.layers if self._by_layer else self.groups:",
        "for name in self.groups:",
        ("tests/kernels/network/test_plan.py",),
    ),
    Mutant(
        "a network computes in FP32 whatever precision was chosen",
        "app/engine/network_pool.py",
        "family.build(network, kernels).to(device, precision.value.dtype)",
        "family.build(network, kernels).to(device, torch.float32)",
        (f"{_ENGINE}::test_a_network_computes_in_the_precision_that_was_chosen",),
    ),
    Mutant(
        "a window paints the picture from before a slider was dragged",
        "app/engine/engine.py",
        "if pixels is rendering.pixels:",
        "if True:",
        (
            "tests/app/engine/test_display_path.py::"
            "test_what_a_window_paints_is_of_the_picture_that_is_shown",
        ),
    ),
    Mutant(
        "a network keeps the weights of the first style",
        "app/engine/network_pool.py",
        "if active.key != self._loaded:",
        "if self._loaded is None:",
        (f"{_ENGINE}::test_another_style_is_another_picture",),
    ),
    Mutant(
        "a precision is never remarked upon",
        "models/precision.py",
        "if self is Precision.fp32:",
        "if True:",
        ("tests/models/test_precision.py",),
    ),
    Mutant(
        "FP16 is said to be fast on a CPU without FP16 instructions",
        "models/precision.py",
        "if self is Precision.fp16 and not _cpu_has_fp16():",
        "if False:",
        (
            "tests/models/test_precision.py::test_a_precision_the_cpu_has_no_instructions_for_says_so",
        ),
    ),
    Mutant(
        "the status line leaves out what is to be said of the precision",
        "app/engine/run_info.py",
        "limitations.append(precision.remark(device))",
        'limitations.append("")',
        (f"{_ENGINE}::test_what_runs_is_said_with_the_remark_of_its_precision",),
    ),
    Mutant(
        "a broken picture is shown instead of one in a safer precision",
        "app/engine/engine.py",
        "if not broken or precision.safer is None:",
        "if True:",
        (f"{_ADAPTED}::test_a_broken_half_precision_picture_steps_down_and_says_so_once",),
    ),
    Mutant(
        "strength 0 is not quite the source",
        "app/engine/post/blending.py",
        "cv2.addWeighted(out, strength, source, 1 - strength, 0)",
        "cv2.addWeighted(out, strength + 0.05, source, 0.95 - strength, 0)",
        (
            "tests/app/engine/post/test_blending.py",
            f"{_FINISHED}::test_strength_zero_is_the_source",
        ),
    ),
    Mutant(
        "the colors of the source are not kept",
        "app/engine/post/blending.py",
        "if keep_colors:",
        "if False:",
        ("tests/app/engine/post/test_blending.py",),
    ),
    Mutant(
        "a single picture is smoothed with the one before",
        "app/engine/process_mode.py",
        "return self in (ProcessMode.LIVE, ProcessMode.SEQUENCE)",
        "return True",
        (f"{_FINISHED}::test_a_single_picture_is_never_smoothed",),
    ),
    Mutant(
        "the size and the network change in the middle of a recording",
        "app/engine/engine.py",
        "self._adaptation.held = held",
        "self._adaptation.held = False",
        (f"{_ADAPTED}::test_while_it_is_held_neither_size_nor_network_changes",),
    ),
    Mutant(
        "weights that are not the file their pack describes are used",
        "app/styles/pack.py",
        "hexdigest() != sha256:",
        "hexdigest() != sha256 and False:",
        (f"{_ENGINE}::test_weights_that_were_tampered_with_are_refused",),
    ),
    Mutant(
        "weights that a wheel packed are put together in another order",
        "utils/files/byte_planes.py",
        "data[::2], data[1::2] =",
        "data[1::2], data[::2] =",
        (
            "tests/wheels/test_packing.py"
            "::test_a_packed_style_has_the_same_weights_and_compresses_better",
        ),
    ),
)

_LIVE = (
    Mutant(
        "a grabber keeps the oldest frame instead of the newest",
        "app/sources/grabber.py",
        "self._unread = frame\n",
        "self._unread = self._unread or frame\n",
        ("tests/app/sources/test_camera.py::test_a_slow_reader_sees_the_newest_frame",),
    ),
    Mutant(
        "frames that nobody read are not counted as dropped",
        "app/sources/grabber.py",
        "self._dropped += self._unread is not None",
        "self._dropped += 0",
        ("tests/app/sources/test_camera.py::test_a_slow_reader_sees_the_newest_frame",),
    ),
    Mutant(
        "the window gets the oldest result it has not taken instead of the newest",
        "app/live/latest_value.py",
        "self._value = value\n",
        "self._value = self._value or value\n",
        ("tests/app/live/test_worker.py::test_the_newest_value_wins_and_is_taken_once",),
    ),
    Mutant(
        "a slider moved while a frame is computed waits for the next frame",
        "app/live/worker.py",
        "self._engine.finish(inferred, self.wanted)",
        "self._engine.finish(inferred)",
        ("tests/app/live/test_worker.py::test_a_slider_moved_during_a_frame_is_in_that_frame",),
    ),
    Mutant(
        "the engine takes an older config although a newer one is on its way",
        "app/live/worker.py",
        "return  # a newer one is already on its way",
        "pass",
        ("tests/app/live/test_worker.py::test_only_the_newest_of_several_configs_takes_effect",),
    ),
    Mutant(
        "a picture of a choice given up is shown",
        "app/live/session.py",
        "if result is not None and same_choice(result.config, self._config):",
        "if result is not None:",
        (f"{_SESSION}::test_no_picture_of_a_choice_given_up_is_ever_shown",),
    ),
    Mutant(
        "a source that is replaced stays open",
        "app/live/worker.py",
        "self._source.close()",
        "pass",
        (f"{_SESSION}::test_everything_on_a_source_happens_on_the_engines_thread",),
    ),
    Mutant(
        "a source that failed is still said to be open",
        "app/live/worker.py",
        "self.ended.emit()",
        "pass",
        (
            f"{_SESSION}::"
            "test_a_failing_source_ends_the_stream_with_a_problem_and_another_can_be_opened",
        ),
    ),
    Mutant(
        "the metrics count no dropped frame",
        "app/live/stream_metrics.py",
        "self._dropped += frame.index - self._last_index - 1",
        "self._dropped += 0",
        ("tests/app/live/test_stream_metrics.py",),
    ),
    Mutant(
        "the shortest stretch of a frame is called the bottleneck",
        "app/live/stream_metrics.py",
        "max(parts, key=",
        "min(parts, key=",
        ("tests/app/live/test_stream_metrics.py",),
    ),
)

_FILES = (
    Mutant(
        "keys that the network does not have are ignored",
        "models/checkpoints.py",
        '"unexpected": [key for key in found if key not in expected],',
        '"unexpected": [],',
        (f"{_CHECKPOINTS}::test_every_key_that_does_not_fit_is_named",),
    ),
    Mutant(
        "a key that a checkpoint gives twice is taken",
        "models/checkpoints.py",
        'faults["given twice"] = duplicates',
        'faults["given twice"] = []',
        (f"{_CHECKPOINTS}::test_a_key_given_in_both_layouts_is_refused",),
    ),
    Mutant(
        "weights that are not finite are used",
        "models/checkpoints.py",
        "if broken := _not_finite(state):",
        "if broken := []:",
        (f"{_CHECKPOINTS}::test_weights_that_are_not_finite_are_refused",),
    ),
    Mutant(
        "code in a checkpoint is run",
        "models/safe_load.py",
        "weights_only=True",
        "weights_only=False",
        (f"{_CHECKPOINTS}::test_code_in_a_checkpoint_is_never_run",),
    ),
    Mutant(
        "a write that fails half way destroys the old file",
        "utils/files/atomic.py",
        "temporary = temporary_name(path)",
        "temporary = path",
        ("tests/utils/files/test_atomic.py",),
    ),
    Mutant(
        "one bad picture ends the whole folder",
        "app/commands/stylize/files.py",
        "FAULTS = (StyleForgeError, ImageError, OSError)",
        "FAULTS = (KeyError,)",
        (f"{_STYLIZE}::test_bad_files_are_named_and_the_others_are_done",),
    ),
    Mutant(
        "more pictures are in flight than fit into memory",
        "app/commands/stylize/pipeline.py",
        "fits = sum(self._held) + group.held_bytes <= self._budget_bytes",
        "fits = True",
        (f"{_PIPELINE}::test_no_more_pictures_are_in_flight_than_fit_into_memory",),
    ),
    Mutant(
        "nothing is read while a picture is styled",
        "app/commands/stylize/pipeline.py",
        "while following is not None and self._has_room(following):",
        "while following is not None and not self._held:",
        (
            f"{_PIPELINE}::test_the_next_picture_is_read_and_the_one_before_written_while_one_is_styled",
        ),
    ),
    Mutant(
        "pictures under way on a GPU are completed with the size of the next one",
        "app/commands/stylize/styling.py",
        "yield from self.complete_all()\n            self._engine.configure(config)",
        "self._engine.configure(config)",
        (f"{_BATCHES}::test_what_is_under_way_is_completed_before_the_size_changes",),
    ),
    Mutant(
        "a damaged picture takes its batch with it",
        "app/commands/stylize/styling.py",
        "if len(pictures) == len(group) and len({",
        "if len({",
        (f"{_BATCHES}::test_a_damaged_picture_does_not_take_its_batch_with_it",),
    ),
    Mutant(
        "a broken picture in a batch is shown",
        "app/engine/engine.py",
        "if self._step_down(inferred):\n                break",
        "self._step_down(inferred)",
        (
            "tests/app/engine/test_batches.py::test_from_a_broken_frame_on_a_batch_is_computed_again_in_a_safer_precision",
        ),
    ),
    Mutant(
        "a result that exists is overwritten without being asked",
        "app/commands/stylize/command.py",
        "if existing and not args.skip_existing:",
        "if False:",
        (f"{_STYLIZE}::test_what_exists_is_not_overwritten_unless_asked",),
    ),
    Mutant(
        "a result overwrites its own input",
        "app/commands/stylize/jobs.py",
        "if target in sources:",
        "if False:",
        (f"{_STYLIZE}::test_an_input_is_never_overwritten",),
    ),
    Mutant(
        "a saved picture loses its transparency",
        "app/commands/stylize/files.py",
        "metadata(styled), alpha=frame.alpha)",
        "metadata(styled))",
        ("tests/app/commands/test_stylize.py::test_transparency_is_kept_where_the_format_has_it",),
    ),
    Mutant(
        "a photograph is not turned upright",
        "utils/images/reading.py",
        "orientation = orientation_of(image)\n",
        "orientation = 1\n",
        ("tests/utils/images/test_picture_files.py::test_a_picture_is_turned_upright",),
    ),
    Mutant(
        "a picture too large for memory is read",
        "utils/images/opening.py",
        "if image.width * image.height > MAX_PIXELS:",
        "if False:",
        (
            "tests/utils/images/test_picture_files.py::"
            "test_a_picture_too_large_for_memory_is_refused_by_its_header",
        ),
    ),
    Mutant(
        "a bad picture of a strip is skipped in silence",
        "app/sources/pictures.py",
        'status = f"{fault[0].upper()}{fault[1:]}; skipped." if fault else ""',
        'status = ""',
        ("tests/app/sources/test_pictures.py::test_a_bad_picture_in_a_strip_is_skipped_aloud",),
    ),
    Mutant(
        "one bad value in the settings file costs them all",
        "app/settings.py",
        "value = field.default\n",
        "return cls()\n",
        ("tests/app/test_settings.py::test_a_bad_value_costs_only_itself",),
    ),
    Mutant(
        "everybody may read the settings file, which may hold a password",
        "app/settings.py",
        "temporary.touch(mode=0o600)",
        "temporary.touch(mode=0o644)",
        ("tests/app/test_settings.py::test_only_the_user_may_read_the_settings_file",),
    ),
    Mutant(
        "older settings replace newer ones",
        "app/ui/controllers/settings_saver.py",
        "if number == self._newest:",
        "if True:",
        (
            "tests/app/ui/controllers/test_settings_saver.py::test_a_write_whose_turn_comes_late_is_left_out",
        ),
    ),
    Mutant(
        "a built-in style can be removed",
        "app/styles/library.py",
        "if style.builtin:",
        "if False:",
        ("tests/app/styles/test_library.py::test_only_the_users_own_styles_can_be_removed",),
    ),
    Mutant(
        "a style that could not be installed leaves half a folder",
        "app/styles/library.py",
        "if staging is not None:",
        "if False:",
        ("tests/app/styles/test_library.py::test_a_full_disk_leaves_nothing_behind",),
    ),
    Mutant(
        "a film shows every frame for the same time",
        "app/export/video_recorder.py",
        "while self._last is not None and self._written < due:",
        "if self._last is not None:",
        (
            "tests/app/export/test_video_recorder.py::"
            "test_a_film_shows_every_frame_for_as_long_as_it_was_on_screen",
        ),
    ),
    Mutant(
        "a film whose disk is full is taken for whole",
        "app/export/video_recorder.py",
        "if not whole:",
        "if False:",
        ("tests/app/export/test_video_recorder.py::test_a_full_disk_is_told_and_leaves_nothing",),
    ),
)

_TRAINING = (
    Mutant(
        "the checkpoint before the newest is not kept",
        "models/training/checkpoint.py",
        "if path.is_file():\n            _keep_as_previous(path)",
        "if False:\n            _keep_as_previous(path)",
        (
            "tests/models/training/test_resuming.py::"
            "test_a_damaged_checkpoint_is_replaced_before_the_next_is_written",
        ),
    ),
    Mutant(
        "the checksums of a training checkpoint are not compared",
        "models/training/checkpoint.py",
        "if altered:",
        "if False:",
        (
            "tests/models/training/test_resuming.py::"
            "test_a_damaged_checkpoint_is_replaced_before_the_next_is_written",
        ),
    ),
    Mutant(
        "a run goes on without the moments of its optimizer",
        "models/training/run.py",
        '| {"state": moments})',
        '| {"state": {}})',
        (
            "tests/models/training/test_run.py::"
            "test_a_resumed_run_ends_bit_equal_to_one_never_stopped",
        ),
    ),
    Mutant(
        "a run is resumed with other settings",
        "models/training/run.py",
        "if theirs.get(name) != value",
        "if False",
        ("tests/models/training/test_run.py::test_a_run_is_not_resumed_with_other_settings",),
    ),
)

_KERNELS = (
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
        "kernels/ops/registry.py",
        "if not status.ready:",
        "if False:",
        ("tests/kernels/ops/test_registry.py::test_a_kernel_says_why_it_cannot_run",),
    ),
    Mutant(
        "the window's start loads the library of transformers",
        "kernels/ops/table.py",
        "    ops = _of_family(family)",
        "    ops = _of_family(None)",
        (
            "tests/kernels/ops/test_registry.py::test_a_family_is_asked_for_without_loading_the_other",
        ),
    ),
    Mutant(
        "an own backward is given gradients of what only serves it",
        "kernels/ops/autograd.py",
        "found = backward(kept, *grads[: len(grads) - statistics])",
        "found = backward(kept, *grads)",
        (
            "tests/kernels/ops/test_autograd.py"
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
        "kernels/ops/transformer_reference/attention.py",
        "part.shape[2], keys, dropout, first)",
        "part.shape[2], keys, dropout, 0)",
        (
            "tests/kernels/ops/test_transformer.py"
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
    ),
    Mutant(
        "a bool is passed in the eight bytes of a long long",
        "kernels/ops/launcher.py",
        "if isinstance(value, bool):",
        "if False:",
        ("tests/kernels/ops/test_launcher.py::test_arguments_are_passed_as_c_has_them",),
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
        "kernels/ops/cuda/convolution.py",
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
)

_WINDOW = (
    Mutant(
        "both sides of the split view show the styled picture",
        "app/ui/viewport/viewport.py",
        "self._draw(painter, styled.source, place)",
        "self._draw(painter, styled.frame, place)",
        (
            "tests/app/ui/widgets/test_viewport.py::"
            "test_the_split_has_the_original_left_and_the_styled_right",
        ),
    ),
    Mutant(
        "a drop-down has no name for a screen reader",
        "app/ui/widgets/option_box.py",
        "self.setAccessibleName(name)",
        "pass",
        (
            "tests/app/ui/window/test_keys.py::test_every_control_has_an_accessible_name_and_a_tooltip",
        ),
    ),
    Mutant(
        "a label of the panel does not lead to its control",
        "app/ui/widgets/form_layout.py",
        "label.setBuddy(control)",
        "pass",
        ("tests/app/ui/window/test_keys.py::test_every_label_of_the_panel_leads_to_its_control",),
    ),
    Mutant(
        "text from outside writes over the terminal",
        "utils/text.py",
        'if char.isprintable() or unicodedata.category(char) == "Zs":',
        "if True:",
        ("tests/utils/test_text.py",),
    ),
)

_PACKAGING = (
    Mutant(
        "a wheel holds the CPU images of every platform",
        "wheels/platforms.py",
        'cpu = {name for name in made if f"-{wanted.images}" in name}',
        'cpu = {name for name in made if "-" in name}',
        (f"{_PLATFORMS}::test_a_wheel_holds_its_images_and_lists_no_others",),
    ),
    Mutant(
        "a wheel is made of images of other sources",
        "tools/build_wheels.py",
        "if found.digest != library.digest:",
        "if False:",
        (f"{_PLATFORMS}::test_images_of_other_sources_than_todays_are_refused",),
    ),
    Mutant(
        "`gpu --dry-run` installs",
        "app/commands/gpu.py",
        "if args.dry_run:",
        "if False:",
        ("tests/app/commands/test_gpu.py::test_a_dry_run_prints_the_command_and_runs_nothing",),
    ),
    Mutant(
        "`gpu` is content with a PyTorch that still uses no GPU",
        "app/commands/gpu.py",
        "if not after.gpu:",
        "if False:",
        ("tests/app/commands/test_gpu.py::test_what_went_wrong_is_one_sentence",),
    ),
    Mutant(
        "`doctor` recommends a compiler where images make it needless",
        "app/commands/doctor.py",
        "if lacking:",
        "if True:",
        (
            "tests/app/commands/test_doctor.py::test_a_compiler_is_recommended_only_where_a_library_lacks_one",
        ),
    ),
)

_AROUND_THE_NETWORK = (
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
        "kernels/ops/cuda/convolution.py",
        "options = padding_size, stride_h, stride_w, own_kernel, _tf32_allowed()",
        "options = padding_size, stride_h, stride_w, own_kernel, False",
        ("tests/kernels/ops/cuda/test_calls.py::test_tf32_is_looked_at_by_every_call",),
    ),
    Mutant(
        "a lazily negated tensor is read as it is in memory",
        "kernels/ops/direct.py",
        "if not here or each.is_neg():",
        "if not here:",
        (
            "tests/kernels/ops/test_direct.py::test_arguments_that_the_kernel_cannot_take_as_they_are_go_to_the_dispatcher",
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
        "the range of what layers paint is not that of the picture",
        "models/inference/layerwise_plan.py",
        "return torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)",
        "return bits",
        (
            "tests/models/inference/test_layerwise_plan.py::test_a_frame_becomes_the_networks_picture",
        ),
    ),
    Mutant(
        "a result on the GPU is enlarged without the frame's detail",
        "models/inference/frame_styler.py",
        "if finish.guided and finished.numel() < picture.numel():",
        "if False:",
        (
            "tests/models/inference/test_frame_styler.py::test_a_stream_becomes_what_the_cpu_makes_of_it",
        ),
    ),
    Mutant(
        "a frame is held back although the GPU waits for it",
        "app/live/worker.py",
        "min(computed - lead, spent.queue)",
        "computed - lead",
        (
            "tests/app/live/test_overlap.py::test_the_next_frame_is_due_when_half_of_the_one_under_way_is_computed",
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
    ),
    Mutant(
        "a frame of other strides is read where its copy was freed",
        "models/inference/frame_styler.py",
        "pinned.copy_(_view(dense))",
        "dense = _view(dense); pinned.copy_(dense)",
        (
            "tests/models/inference/test_frame_styler.py::test_a_frame_of_any_strides_is_read_before_its_copy_is_freed",
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

_FRAME_RATES = (
    Mutant(
        "a prediction shares the tiles evenly among the multiprocessors",
        "kernels/time_model/prediction.py",
        "tiles = launch.most_tiles(card.multiprocessors)",
        "tiles = launch.tiles / card.multiprocessors",
        (
            "tests/kernels/time_model/test_prediction.py"
            "::test_the_multiprocessor_with_the_most_tiles_decides",
        ),
    ),
    Mutant(
        "layers for GPUs with less shared memory are launched as if there was more",
        "kernels/network/sm80.py",
        "available = min(available, SMALL_SHARED_BYTES)",
        "available = max(available, SMALL_SHARED_BYTES)",
        (
            "tests/kernels/time_model/test_work.py"
            "::test_layers_for_less_shared_memory_do_with_100_kb_on_every_card",
        ),
    ),
    Mutant(
        "a measured frame rate counts with every driver",
        "app/measured_rates.py",
        "return cls(torch.cuda.get_device_name(device), driver_version(), styleforge_version())",
        'return cls(torch.cuda.get_device_name(device), "", styleforge_version())',
        (
            "tests/app/test_measured_rates.py"
            "::test_a_time_of_another_gpu_driver_or_version_does_not_count",
        ),
    ),
    Mutant(
        "a predicted frame rate is told although another was measured",
        "app/commands/card_rates.py",
        "if rate is not None:",
        "if False:",
        (
            "tests/app/commands/test_card_rates.py"
            "::test_a_measured_rate_takes_the_place_of_the_predicted_one",
        ),
    ),
    Mutant(
        "the model of time is checked against times that it was fitted to",
        "tools/time_model/files.py",
        'fit([one for row, one in rows if row["all"]], told)',
        "fit([one for _, one in rows], told)",
        (
            "tests/tools/time_model/test_fit.py"
            "::test_times_on_fewer_multiprocessors_take_no_part_in_the_fit",
        ),
    ),
)

_TUNED = "tests/kernels/network/test_tuned.py"
_SWEEP = "tests/kernels/tuning/test_sweep.py"

_TUNING = (
    Mutant(
        "layers that were tuned with other sources are used",
        "kernels/network/tuned.py",
        "if self.digest != digest:",
        "if False:",
        (f"{_TUNED}::test_layers_of_other_sources_or_cards_are_not_used_and_the_reason_is_told",),
    ),
    Mutant(
        "tuned layers are used whatever the self-test said",
        "kernels/network/tuned.py",
        "why = found.unfit(card, capability, images.digest) or verdict(card)",
        "why = found.unfit(card, capability, images.digest)",
        (f"{_TUNED}::test_layers_that_failed_the_test_are_not_used_and_the_reason_is_told",),
    ),
    Mutant(
        "a self-test counts for what was stored after it",
        "kernels/network/tuned.py",
        'return str(note["reason"]) if note["key"] == _key(card) else NOT_TESTED',
        'return str(note["reason"])',
        (f"{_TUNED}::test_a_verdict_is_of_the_file_that_was_tested",),
    ),
    Mutant(
        "layers that were tuned for one size run all of them",
        "kernels/network/abi.py",
        "return min(found, key=lambda row: abs(math.log(pixels / row.pixels))).layers",
        "return found[0].layers",
        (f"{_TUNED}::test_pictures_are_styled_by_the_layers_that_were_tuned_for_the_nearest_size",),
    ),
    Mutant(
        "a candidate wins by less than its times scatter",
        "kernels/tuning/sweep.py",
        "if times.ratio < 1 - max(LEAST_GAIN, times.spread):",
        "if times.ratio < 1 - LEAST_GAIN:",
        (f"{_SWEEP}::test_what_is_faster_by_less_than_the_scatter_does_not_win",),
    ),
    Mutant(
        "a candidate that stores other values is timed",
        "kernels/tuning/sweep.py",
        "            if wrong:\n",
        "            if False:\n",
        (f"{_SWEEP}::test_a_candidate_that_stores_other_values_is_skipped",),
    ),
)

_VIT = "tests/models/test_vit_style_transfer.py"
_VIT_RUN = "tests/models/training/vit/test_run.py"

_ANY_STYLE = (
    Mutant(
        "a large picture has a key for every token",
        "models/vit_style_transfer.py",
        "stride = key_stride or self.config.key_stride(*size)\n        for inject",
        "stride = key_stride or 1\n        for inject",
        (f"{_VIT}::test_large_pictures_share_keys_by_themselves",),
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
        'mean.copy_(state["mean"][name])',
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
)

_FAMILIES = "tests/models/families/test_families.py"
_PICTURE_STYLES = "tests/app/styles/test_any_style_styles.py"
_PAINTED = "tests/app/engine/test_any_style.py"
_STYLE_IMAGES = "tests/app/commands/test_style_images.py"

_NETWORK_FAMILIES = (
    Mutant(
        "a code is painted by any network that is there",
        "app/styles/any_style_networks.py",
        "if path is not None and path.is_file() and _digest(path) == digest:",
        "if path is not None and path.is_file():",
        (f"{_PICTURE_STYLES}::test_a_code_finds_its_network_beside_the_one_that_ships",),
    ),
    Mutant(
        "the code of a network that is gone is used with another one",
        "models/families/any_style.py",
        "return LoadedStyle(network, {CODE: again.values}, remark)",
        "return LoadedStyle(network, {CODE: code.values}, remark)",
        (f"{_FAMILIES}::test_a_code_of_another_network_is_made_again_from_the_kept_picture",),
    ),
    Mutant(
        "a code that was made again is not told",
        "app/engine/run_info.py",
        "limitations += active.remarks",
        "pass",
        (f"{_PAINTED}::test_a_style_of_a_network_that_is_gone_is_made_again_and_says_so",),
    ),
    Mutant(
        "a style of a picture is painted by the code of the one before",
        "models/families/any_style.py",
        "        module.code.copy_(state[CODE])",
        "        module.code.add_(0 * state[CODE] if module.code.any() else state[CODE])",
        (f"{_PAINTED}::test_a_style_is_painted_by_its_code",),
    ),
    Mutant(
        "every style of a picture builds a network of its own",
        "app/engine/network_pool.py",
        "network = self._networks.pop(key, None) or Network(",
        "network = Network(",
        (f"{_PAINTED}::test_all_styles_of_a_network_share_one_in_memory",),
    ),
    Mutant(
        "styles of two families are mixed",
        "app/engine/style_weights.py",
        "if first.family != second.family:",
        "if False:",
        (f"{_PAINTED}::test_styles_of_two_families_are_not_mixed",),
    ),
    Mutant(
        "codes of two networks are mixed",
        "models/families/any_style.py",
        'if first == second:\n            return ""',
        'if True:\n            return ""',
        (f"{_FAMILIES}::test_networks_that_differ_have_nothing_in_between",),
    ),
    Mutant(
        "a network is deleted while a style needs it",
        "app/styles/any_style_networks.py",
        "if path.stem not in needed:",
        "if True:",
        (f"{_PICTURE_STYLES}::test_a_network_goes_with_the_last_style_that_needs_it",),
    ),
    Mutant(
        "a style picture is kept in its full size",
        "app/styles/installable.py",
        "_at_most(read_pixels(path), KEPT_SIZE)",
        "read_pixels(path)",
        (f"{_PICTURE_STYLES}::test_a_picture_becomes_a_pack_of_its_own",),
    ),
    Mutant(
        "a pack that is handed on loses its style picture",
        "app/styles/installable.py",
        "read_pixels(spec.picture) if spec.picture else None",
        "None",
        (f"{_PICTURE_STYLES}::test_a_pack_is_handed_on_with_its_picture",),
    ),
    Mutant(
        "the shares of two style pictures are exchanged",
        "app/commands/stylize/style_images.py",
        "return second / total if total",
        "return first / total if total",
        (f"{_STYLE_IMAGES}::test_two_style_pictures_are_mixed_by_their_shares",),
    ),
    Mutant(
        "a saved picture does not name the network that painted it",
        "app/export/image_metadata.py",
        'running.network or NETWORKS["lite"',
        'NETWORKS["lite"',
        (f"{_STYLE_IMAGES}::test_a_picture_is_painted_in_the_style_of_another",),
    ),
    Mutant(
        "the lite network can be chosen where there is none",
        "app/ui/widgets/control_panel.py",
        "control.setEnabled(not reason)",
        "control.setEnabled(True)",
        (
            "tests/app/ui/window/test_panel.py::test_a_style_of_a_picture_has_no_lite_network_and_the_panel_says_so",
        ),
    ),
)

MUTANTS = (
    *_COMPARISON,
    *_ENGINES,
    *_LIVE,
    *_FILES,
    *_TRAINING,
    *_KERNELS,
    *_WINDOW,
    *_PACKAGING,
    *_AROUND_THE_NETWORK,
    *_FRAME_RATES,
    *_TUNING,
    *_ANY_STYLE,
    *_NETWORK_FAMILIES,
)
