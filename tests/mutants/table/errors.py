"""Mutants of the errors that users can meet: each class of `ADVICE` that no other table names."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ERRORS = "tests/app/test_errors.py"
_SWEEP = "tests/kernels/tuning/test_sweep.py"

# Classes of Python, PyTorch and the system, whose advice another row would replace by a wrong one.
_SYSTEM = (
    *("FileNotFoundError", "FileExistsError", "PermissionError", "ConnectionError", "TimeoutError"),
    *("ImportError", "MemoryError", "OutOfMemoryError", "OSError"),
)

MUTANTS = (
    *(
        Mutant(
            f"a {name} has no advice of its own",
            "app/errors.py",
            f'    "{name}": ',
            f'    "{name} of nobody": ',
            (f"{_ERRORS}::test_an_error_of_the_system_has_the_advice_for_its_kind",),
            breaks=(name,),
        )
        for name in _SYSTEM
    ),
    Mutant(
        "the window tells to run a command",
        "app/errors.py",
        "shown = tr(IN_WINDOW.get(advice, advice))",
        "shown = tr(advice)",
        (f"{_ERRORS}::test_the_window_names_no_command_in_its_advice",),
    ),
    Mutant(
        "a web page is decoded as a stream",
        "app/sources/address.py",
        '    if kind == "text/html":',
        '    if kind == "text/none":',
        ("tests/app/sources/test_address.py::test_an_address_without_a_stream_says_what_is_there",),
        breaks=("FeedLost", "streams"),
    ),
    Mutant(
        "a film without sound ends in Python's words",
        "app/sound/film_sound.py",
        "        if stream is None:\n",
        "        if False:\n",
        ("tests/app/sound/test_film_sound.py::test_a_film_without_sound_is_told",),
        breaks=("SoundError",),
    ),
    Mutant(
        "a film of unknown colors is converted by a matrix that does not exist",
        "app/film_frames/color.py",
        "    if matrix not in MATRICES:\n",
        "    if False:\n",
        ("tests/app/film_frames/test_color.py::test_a_matrix_that_is_not_supported_is_named",),
        breaks=("ColorError",),
    ),
    Mutant(
        "a recording without a picture counts as complete",
        "app/export/video_recorder.py",
        "            raise RecordingError(self._fault)\n        return self.path\n",
        "            pass\n        return self.path\n",
        ("tests/app/export/test_video_recorder.py::test_without_a_picture_there_is_no_film",),
        breaks=("RecordingError",),
    ),
    Mutant(
        "a virtual camera without its package asks for another remedy",
        "app/virtual_camera/device.py",
        '        if exc.name != "pyvirtualcam":\n',
        '        if exc.name == "pyvirtualcam":\n',
        (
            "tests/app/virtual_camera/test_device.py::"
            "test_without_the_extra_it_is_said_how_to_install_it",
        ),
        breaks=("VirtualCameraError",),
    ),
    Mutant(
        "a wipe with a wrong ending fails in Python's words",
        "app/export/before_after/wipe.py",
        "    if write is None:\n",
        "    if False:\n",
        ("tests/app/export/test_before_after.py::test_another_ending_is_refused",),
        breaks=("WipeError",),
    ),
    Mutant(
        "a folder that is no run of the library is deleted",
        "app/training/run_store.py",
        "        if run.path.parent != self._root:\n",
        "        if False:\n",
        ("tests/app/training/test_run_store.py::test_a_run_that_is_no_run_is_left_alone",),
        breaks=("RunError",),
    ),
    Mutant(
        "the checkpoint of a damaged run is forgotten",
        "app/training/run_store.py",
        "        if not remains.worth_keeping:\n",
        "        if True:\n",
        (
            "tests/app/training/test_run_store.py::"
            "test_a_damaged_description_is_told_with_what_can_be_used",
        ),
        breaks=("DamagedRunError", "runs"),
    ),
    Mutant(
        "a manifest of another version is read",
        "app/batch/manifest.py",
        '        if values["format"] != FORMAT:\n',
        "        if False:\n",
        ("tests/app/batch/test_manifest.py::test_a_damaged_entry_is_told",),
        breaks=("ManifestError", "queues"),
    ),
    Mutant(
        "a shard beyond the last one is run",
        "app/batch/shard.py",
        "    if not 1 <= index <= count <= MOST:\n",
        "    if False:\n",
        ("tests/app/batch/test_shard.py::test_what_is_no_shard_is_told_in_a_sentence",),
        breaks=("ShardError",),
    ),
    Mutant(
        "a Stylist takes a value that its parameter does not have",
        "app/stylist.py",
        "        if not row.valid(value):\n",
        "        if False:\n",
        ("tests/app/test_stylist.py::test_what_is_not_possible_is_told_by_the_constructor",),
        breaks=("StylistError",),
    ),
    Mutant(
        "a canceled picture is painted",
        "app/commands/serve/painter.py",
        "    if stop():\n",
        "    if False:\n",
        ("tests/app/server/test_jobs.py::test_the_engine_gives_up_a_canceled_picture",),
        breaks=("Stopped",),
    ),
    Mutant(
        "a run waits forever after all of its processes died",
        "app/batch/devices/crew.py",
        "            if not self._members:\n                raise CrewError(",
        "            if not self._members:\n                raise StopAsyncIteration(",
        (
            "tests/app/batch/devices/test_devices.py::"
            "test_a_run_whose_processes_all_die_ends_with_a_sentence",
        ),
        breaks=("CrewError",),
    ),
    Mutant(
        "a run on a cluster without Ray ends in a traceback",
        "app/batch/cluster/pool.py",
        "        except ImportError as exc:\n",
        "        except KeyError as exc:\n",
        ("tests/app/batch/cluster/test_cluster.py::test_without_ray_it_is_said_what_to_install",),
        breaks=("ClusterError",),
    ),
    Mutant(
        "a stream whose camera failed has no name",
        "app/commands/camera/stream.py",
        'raise StreamError(f"the virtual camera {status}")',
        'raise StreamError("the virtual camera failed")',
        (
            "tests/app/commands/test_camera.py::"
            "test_a_camera_that_fails_ends_the_command_with_its_reason",
        ),
        breaks=("StreamError",),
    ),
    Mutant(
        "a server without its packages ends in a traceback",
        "app/commands/serve/command.py",
        "    except ImportError as exc:\n        raise ServeError(\n",
        "    except KeyError as exc:\n        raise ServeError(\n",
        ("tests/app/commands/test_serve.py::test_without_the_extra_it_says_what_to_install",),
        breaks=("ServeError",),
    ),
    Mutant(
        "the second of two values of an option counts",
        "app/server/look.py",
        "        if name in found:\n",
        "        if False:\n",
        ("tests/app/server/test_pictures.py::test_an_option_is_given_once",),
        breaks=("OptionError",),
    ),
    Mutant(
        "the quality of a photograph without texture is measured",
        "benchmarks/quality/inputs.py",
        "        if min(fitted.shape[:2]) < SMALLEST:\n",
        "        if False:\n",
        (
            "tests/app/commands/quality/test_command.py::"
            "test_a_photograph_too_narrow_for_its_size_is_refused",
        ),
        breaks=("QualityError",),
    ),
    Mutant(
        "a precision that the device lacks ends a measurement in Python's words",
        "app/commands/bench.py",
        "        if unknown := [name for name in names if name not in known]:\n",
        "        if unknown := ():\n",
        ("tests/app/commands/test_bench.py::test_what_does_not_go_together_is_refused",),
        breaks=("BenchError",),
    ),
    Mutant(
        "tuning starts without a GPU",
        "app/commands/tune.py",
        '    if device.type != "cuda":\n',
        "    if False:\n",
        ("tests/app/commands/test_tune.py::test_without_a_gpu_one_sentence_says_so",),
        breaks=("TuneError",),
    ),
    Mutant(
        "measuring frame rates without a GPU ends in Python's words",
        "app/commands/card_rates.py",
        '        raise CardRatesError(\n            "measuring',
        '        raise ValueError(\n            "measuring',
        ("tests/app/commands/test_card_rates.py::test_measuring_without_a_gpu_is_one_sentence",),
        breaks=("CardRatesError",),
    ),
    Mutant(
        "an unknown card ends the doctor in a traceback",
        "app/commands/doctor.py",
        "        raise DoctorError(str(exc)) from exc\n",
        "        raise\n",
        (f"{_ERRORS}::test_the_command_line_says_what_to_do_on_a_line_of_its_own",),
        breaks=("DoctorError",),
    ),
    Mutant(
        "the report of a doctor that crashed is shown as one",
        "app/diagnostics/report_process.py",
        '    if not done.stdout.startswith("StyleForge"):\n',
        "    if False:\n",
        (
            "tests/app/diagnostics/test_report.py::"
            "test_a_doctor_that_crashes_or_hangs_is_said_with_its_last_line",
        ),
        breaks=("ReportError",),
    ),
    Mutant(
        "a damaged archive on the server ends in Python's words",
        "models/training/download/saved_tensors.py",
        "except (zipfile.BadZipFile, NotImplementedError) as exc:",
        "except NotImplementedError as exc:",
        (
            "tests/models/training/test_vgg_part.py::"
            "test_what_is_no_file_of_weights_is_told_as_that",
        ),
        breaks=("LayoutError",),
    ),
    Mutant(
        "parts of a file without a version are joined",
        "models/training/download/remote_file.py",
        "        if not version:\n",
        "        if False:\n",
        (
            "tests/models/training/test_vgg_part.py::"
            "test_a_server_without_ranges_leads_to_the_whole_file_which_is_asked_for",
        ),
        breaks=("NoRangesError",),
    ),
    Mutant(
        "the name of a locked file is not in the error",
        "utils/files/locks.py",
        "tr(\"another process is working on '{file}'\", file=path)",
        'tr("another process is working on \'{file}\'", file="a file")',
        ("tests/utils/files/test_locks.py::test_a_file_in_use_is_named",),
        breaks=("LockedError",),
    ),
    Mutant(
        "a candidate that does not compile ends the tuning",
        "kernels/tuning/sweep.py",
        "except (CompilationError, DoesNotFit, BuildError) as error:",
        "except (DoesNotFit, BuildError) as error:",
        (f"{_SWEEP}::test_every_candidate_is_measured_or_skipped_for_a_reason",),
        breaks=("CompilationError",),
    ),
    Mutant(
        "a candidate that does not fit ends the tuning",
        "kernels/tuning/sweep.py",
        "except (CompilationError, DoesNotFit, BuildError) as error:",
        "except (CompilationError, BuildError) as error:",
        (f"{_SWEEP}::test_every_candidate_is_measured_or_skipped_for_a_reason",),
        breaks=("DoesNotFit",),
    ),
    Mutant(
        "tuning does not say why the network's library is not in use",
        "kernels/tuning/tuner.py",
        "does not run here: {build.reason(NETWORK)}",
        "does not run here",
        ("tests/kernels/tuning/test_tuner.py::test_a_library_that_is_not_in_use_is_told",),
        breaks=("TuningError",),
    ),
    Mutant(
        "a stream goes on with the state of other kernels",
        "kernels/frames/stream_state.py",
        "    if name not in state:\n        raise StateError(",
        "    if name not in state:\n        raise RuntimeError(",
        (
            "tests/app/engine/post/test_temporal_smoothing.py::"
            "test_a_stream_goes_on_in_another_smoother_and_not_by_other_kernels",
        ),
        breaks=("StateError",),
    ),
    Mutant(
        "a model that nobody knows is looked for in a library",
        "kernel_fusion/auto_convert/hub.py",
        "    if name not in MODELS:\n",
        "    if False:\n",
        ("tests/kernel_fusion/auto_convert/test_command.py::test_what_cannot_be_had_is_said",),
        breaks=("HubError",),
    ),
)
