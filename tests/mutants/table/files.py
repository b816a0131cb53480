"""Mutants of readers and writers of files."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHECKPOINTS = "tests/models/test_checkpoints.py"
_STYLIZE = "tests/app/commands/test_stylize_files.py"
_PIPELINE = "tests/app/batch/pictures/test_pipeline.py"
_BATCHES = "tests/app/batch/pictures/test_styling.py"
_ORIGIN = "tests/utils/images/test_origin.py"
_MEANING = "tests/utils/images/test_meaning.py"


MUTANTS = (
    Mutant(
        "a fourth channel of 16 bits is alpha whatever the file says",
        "utils/images/deep_files.py",
        '    if image.mode != "RGBA" or channels.shape[2] != 4:\n',
        "    if channels.shape[2] != 4:\n",
        (f"{_MEANING}::test_a_fourth_channel_of_a_tiff_is_alpha_only_where_the_file_says_so",),
    ),
    Mutant(
        "a transparent color of 16 bits is not looked for",
        "utils/images/deep_files.py",
        "    if meaning.key is not None and len(meaning.key) == 3:\n",
        "    if False:\n",
        (f"{_MEANING}::test_a_transparent_color_is_transparent_in_eight_and_in_sixteen_bits",),
    ),
    Mutant(
        "white is zero in 8 bits alone",
        "utils/images/conversion.py",
        "(65535 - gray if meaning.inverted else gray)",
        "(gray)",
        (f"{_MEANING}::test_zero_is_white_where_a_tiff_says_so",),
    ),
    Mutant(
        "an embedded profile goes before the code points of a PNG",
        "utils/images/meaning.py",
        'not (named is not None and image.format == "PNG")',
        "True",
        (
            f"{_MEANING}::test_statements_of_colors_in_a_png_go_before_each_other_as_its_"
            "specification_says",
        ),
    ),
    Mutant(
        "results of a picture with a profile stay in sRGB",
        "utils/images/origin.py",
        "        out = self.profile.from_srgb(pixels)\n",
        "        out = pixels.copy()\n",
        (f"{_ORIGIN}::test_colors_beyond_srgb_come_back_where_the_picture_is_kept",),
    ),
    Mutant(
        "what sRGB cannot show is lost where the picture is kept",
        "utils/images/origin.py",
        "if share <= 0 or native is None",
        "if True or native is None",
        (f"{_ORIGIN}::test_colors_beyond_srgb_come_back_where_the_picture_is_kept",),
    ),
    Mutant(
        "results are turned by the orientation of their picture once more",
        "utils/images/metadata.py",
        "            kept[_ORIENTATION] = 1\n",
        "            kept[_ORIENTATION] = found[_ORIENTATION]\n",
        (f"{_ORIGIN}::test_exif_data_are_kept_upright",),
        breaks=("metadata",),
    ),
    Mutant(
        "a gain map that only the second picture names is not noticed",
        "utils/images/gain_maps.py",
        "for number in range(1, min(count, _MOST_FRAMES)):",
        "for number in range(0):",
        (f"{_ORIGIN}::test_an_hdr_gain_map_is_dropped_with_a_remark",),
    ),
    Mutant(
        "a PNG of 16 bits has no profile",
        "utils/images/writing.py",
        "    if profile:\n        chunks.insert",
        "    if False and profile:\n        chunks.insert",
        (f"{_ORIGIN}::test_sixteen_bits_are_saved_with_everything_around_them",),
    ),
    Mutant(
        "keys that the network does not have are ignored",
        "models/checkpoints.py",
        'mark("unexpected", "weights"): [key for key in found if key not in expected],',
        'mark("unexpected", "weights"): [],',
        (f"{_CHECKPOINTS}::test_every_key_that_does_not_fit_is_named",),
    ),
    Mutant(
        "a key that a checkpoint gives twice is taken",
        "models/checkpoints.py",
        'faults[mark("given twice", "weights")] = duplicates',
        'faults[mark("given twice", "weights")] = []',
        (f"{_CHECKPOINTS}::test_a_key_given_in_both_layouts_is_refused",),
    ),
    Mutant(
        "weights that are not finite are used",
        "models/checkpoints.py",
        "if broken := _not_finite(state):",
        "if broken := []:",
        (f"{_CHECKPOINTS}::test_weights_that_are_not_finite_are_refused",),
        breaks=("CheckpointError", "checkpoints"),
    ),
    Mutant(
        "code in a checkpoint is run",
        "models/safe_load.py",
        "weights_only=True",
        "weights_only=False",
        (f"{_CHECKPOINTS}::test_code_in_a_checkpoint_is_never_run",),
        breaks=("UnsafeFileError",),
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
        "app/batch/pictures/files.py",
        "FAULTS = (StyleForgeError, ImageError, OSError)",
        "FAULTS = (KeyError,)",
        (f"{_STYLIZE}::test_bad_files_are_named_and_the_others_are_done",),
    ),
    Mutant(
        "more pictures are in flight than fit into memory",
        "app/batch/pictures/pipeline.py",
        "fits = sum(self._held) + group.held_bytes <= self._budget_bytes",
        "fits = True",
        (f"{_PIPELINE}::test_no_more_pictures_are_in_flight_than_fit_into_memory",),
    ),
    Mutant(
        "nothing is read while a picture is styled",
        "app/batch/pictures/pipeline.py",
        "while following is not None and self._has_room(following):",
        "while following is not None and not self._held:",
        (
            f"{_PIPELINE}::test_the_next_picture_is_read_and_the_one_before_written_while_one_is_styled",
        ),
    ),
    Mutant(
        "pictures under way on a GPU are completed with the size of the next one",
        "app/batch/pictures/styling.py",
        "yield from self.complete_all()\n            self._engine.configure(config)",
        "self._engine.configure(config)",
        (f"{_BATCHES}::test_what_is_under_way_is_completed_before_the_size_changes",),
    ),
    Mutant(
        "a damaged picture takes its batch with it",
        "app/batch/pictures/styling.py",
        "if len(pictures) == len(group) and len({",
        "if len({",
        (f"{_BATCHES}::test_a_damaged_picture_does_not_take_its_batch_with_it",),
    ),
    Mutant(
        "a broken picture in a batch is shown",
        "app/engine/engine/engine.py",
        "if self._preparation.step_down(inferred):\n                break",
        "self._preparation.step_down(inferred)",
        (
            "tests/app/engine/test_batches.py::test_from_a_broken_frame_on_a_batch_is_computed_again_in_a_safer_precision",
        ),
    ),
    Mutant(
        "a result that exists is overwritten without being asked",
        "app/batch/plan.py",
        "if existing and not (request.overwrite or request.skip_existing or request.resume):",
        "if False:",
        (f"{_STYLIZE}::test_what_exists_is_not_overwritten_unless_asked",),
    ),
    Mutant(
        "a result overwrites its own input",
        "app/batch/jobs/planning.py",
        "if target in sources:",
        "if False:",
        (f"{_STYLIZE}::test_an_input_is_never_overwritten",),
        breaks=("StylizeError",),
    ),
    Mutant(
        "a saved picture loses its transparency",
        "app/export/picture_file.py",
        "about, alpha=alpha, exif",
        "about, exif",
        ("tests/app/commands/test_stylize.py::test_transparency_is_kept_where_the_format_has_it",),
    ),
    Mutant(
        "a photograph is not turned upright",
        "utils/images/reading.py",
        "meaning, orientation, profile = meaning_of(image), orientation_of(image), ",
        "meaning, orientation, profile = meaning_of(image), 1, ",
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
        breaks=("ImageError", "pictures"),
    ),
    Mutant(
        "a bad picture of a strip is skipped in silence",
        "app/sources/pictures.py",
        'tr("{fault}; skipped.", fault=capitalized(fault)) if fault else ""',
        '""',
        ("tests/app/sources/test_pictures.py::test_a_bad_picture_in_a_strip_is_skipped_aloud",),
        breaks=("folders",),
    ),
    Mutant(
        "one bad value in the settings file costs them all",
        "app/settings.py",
        "value = field.default\n",
        "return cls()\n",
        ("tests/app/test_settings.py::test_a_bad_value_costs_only_itself",),
        breaks=("settings",),
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
        "app/ui/main_window/window_settings.py",
        "if number == self._newest:",
        "if True:",
        (
            "tests/app/ui/controllers/test_settings_saver.py::test_a_write_whose_turn_comes_late_is_left_out",
        ),
    ),
    Mutant(
        "a built-in style can be removed",
        "app/styles/catalog.py",
        "if style.builtin:",
        "if False:",
        ("tests/app/styles/test_catalog.py::test_only_the_users_own_styles_can_be_removed",),
        breaks=("StyleError",),
    ),
    Mutant(
        "a style that could not be installed leaves half a folder",
        "app/styles/catalog.py",
        "if staging is not None:",
        "if False:",
        ("tests/app/styles/test_catalog.py::test_a_full_disk_leaves_nothing_behind",),
    ),
    Mutant(
        "`atomic_write` writes to the file itself",
        "utils/files/atomic.py",
        "    with replacing(path) as temporary, temporary.open",
        "    with replacing(path) as _, (temporary := path).open",
        (
            "tests/utils/files/test_atomic_order.py::test_a_write_that_fails_leaves_the_old_file_alone",
        ),
    ),
    Mutant(
        "`atomic_write` does not flush",
        "utils/files/atomic.py",
        "        os.fsync(file.fileno())",
        "        pass",
        (
            "tests/utils/files/test_atomic_order.py::test_the_old_file_stays_whole_until_the_new_one_is_flushed",
        ),
    ),
    Mutant(
        "a device of Windows has no ending",
        "utils/files/names.py",
        'name.partition(".")[0].rstrip(" ")',
        "name",
        (
            "tests/utils/files/test_names.py::"
            "test_a_portable_name_is_no_device_and_keeps_what_it_can",
        ),
    ),
)
