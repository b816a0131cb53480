"""Mutants of picture styles in the window, of their networks and of mixes of several."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PACKS = "tests/app/styles/test_any_style_styles.py"
_FAMILIES = "tests/models/families/test_families.py"
_LIBRARY = "tests/app/styles/test_catalog.py"
_WINDOW = "tests/app/ui/window/test_picture_styles.py"
_MIX = "tests/app/ui/window/test_mix.py"
_WHEEL = "tests/app/ui/widgets/test_mix_wheel.py"
_WEIGHTS = "tests/app/engine/test_style_weights.py"

MUTANTS = (
    Mutant(
        "the lite network that ships paints as the full one",
        "app/styles/any_style_networks.py",
        "return self._read(pair[-1 if lite else 0])",
        "return self._read(pair[-1])",
        (f"{_PACKS}::test_of_the_networks_that_ship_one_is_full_and_one_is_lite",),
    ),
    Mutant(
        "a style whose picture was not kept is said to have a lite network",
        "models/families/any_style.py",
        "        return files.picture is not None",
        "        return True",
        (f"{_FAMILIES}::test_a_style_has_a_lite_network_where_there_is_one_and_its_picture",),
    ),
    Mutant(
        "a network that was given gives way to one that ships",
        "app/styles/any_style_networks.py",
        "return self.find(digest) or self.default()",
        "return self.default()",
        (f"{_PACKS}::test_a_network_that_was_given_has_no_lite_one",),
    ),
    Mutant(
        "the lite network of style pictures gives up its size for 15 frames a second",
        "models/families/any_style.py",
        "    lite_fps = 8.0",
        "    lite_fps = 15.0",
        (
            "tests/app/engine/test_adaptation.py::"
            "test_the_lite_network_of_style_pictures_keeps_a_size_rather_than_15_frames",
        ),
    ),
    Mutant(
        "a second code is made anew each time",
        "models/families/any_style.py",
        "            save_code(second, again)",
        "            pass",
        (f"{_FAMILIES}::test_a_second_code_is_kept_beside_the_first_and_read_again",),
    ),
    Mutant(
        "a second code is used without a word",
        "models/families/any_style.py",
        "return LoadedStyle(network, {CODE: values}, remark)",
        "return LoadedStyle(network, {CODE: values})",
        (f"{_FAMILIES}::test_a_second_code_is_kept_beside_the_first_and_read_again",),
    ),
    Mutant(
        "a picture dropped on the styles is opened",
        "app/ui/gallery/style_gallery.py",
        "self.setAcceptDrops(True)",
        "pass",
        (f"{_WINDOW}::test_a_picture_dropped_on_the_styles_becomes_the_style",),
    ),
    Mutant(
        "Ctrl+V opens the picture while the styles have the focus",
        "app/ui/main_window/commands.py",
        "(window.styles.pictures if window.gallery.has_focus else window.drop_handler).paste()",
        "window.drop_handler.paste()",
        (f"{_WINDOW}::test_ctrl_v_makes_a_style_only_while_the_styles_have_the_focus",),
    ),
    Mutant(
        "making a style cannot be canceled",
        "app/live/style_jobs.py",
        "            if task.canceled.is_set():\n                raise JobCanceled",
        "            pass",
        (f"{_WINDOW}::test_a_long_job_is_told_and_can_be_canceled",),
    ),
    Mutant(
        "the engine encodes a style picture while the stream waits",
        "app/live/session/choice.py",
        "if keys := self._style_jobs.unprepared(config.styles):",
        "if keys := ():",
        (f"{_WINDOW}::test_a_style_is_prepared_for_the_lite_network_in_the_background",),
    ),
    Mutant(
        "a style can be made of a picture where no network is installed",
        "app/ui/actions/qactions.py",
        "    action.setEnabled(not reason)\n",
        "    action.setEnabled(True)\n",
        (
            f"{_WINDOW}::"
            "test_without_a_network_the_actions_are_disabled_and_a_drop_opens_the_studio",
        ),
    ),
    Mutant(
        "proper training begins with an empty form",
        "app/ui/training/launcher.py",
        "            self.window.use_picture(picture, title)",
        "            pass",
        (f"{_WINDOW}::test_proper_training_opens_the_studio_with_the_kept_picture",),
    ),
    Mutant(
        "two styles get one title",
        "app/styles/catalog.py",
        "if any(s.title.casefold() == wanted.casefold() for s in self.styles if s.key != key):",
        "if False:",
        (f"{_LIBRARY}::test_a_title_that_cannot_be_is_refused",),
    ),
    Mutant(
        "an export replaces what is there",
        "app/styles/pack_files.py",
        "    if target.exists():\n",
        "    shutil.rmtree(target, ignore_errors=True)\n    if False:\n",
        (f"{_LIBRARY}::test_an_exported_pack_is_whole_and_replaces_nothing",),
    ),
    Mutant(
        "a third style is painted as if it were the second",
        "models/inference/style_state.py",
        "        mixed = out\n",
        "        mixed = states[0]\n",
        (f"{_FAMILIES}::test_up_to_four_codes_are_mixed_by_their_shares",),
    ),
    Mutant(
        "three networks of their own are mixed",
        "app/engine/style_weights.py",
        "if len(styles) > family.most_mixed:",
        "if False:",
        (f"{_WEIGHTS}::test_three_networks_of_their_own_are_mixed_and_a_fourth_is_refused",),
    ),
    Mutant(
        "the percents of a mix add up to 99",
        "app/options.py",
        "for n in by_loss[: 100 - sum(whole)]:",
        "for n in by_loss[:0]:",
        (f"{_WEIGHTS}::test_the_percents_of_a_mix_add_up_to_100",),
    ),
    Mutant(
        "left and right of the wheel are exchanged",
        "app/ui/widgets/mix_wheel.py",
        "shares = (first, (1 - first) / 2 + turned, (1 - first) / 2 - turned)",
        "shares = (first, (1 - first) / 2 - turned, (1 - first) / 2 + turned)",
        (f"{_WHEEL}::test_at_a_style_it_is_alone_and_in_the_middle_all_are_equal",),
    ),
    Mutant(
        "the wheel has no value for a screen reader",
        "app/ui/widgets/mix_wheel.py",
        "        self.setAccessibleDescription(label)\n",
        "",
        (f"{_WHEEL}::test_it_tells_a_screen_reader_what_is_mixed",),
    ),
    Mutant(
        "a fifth style enters a mix",
        "app/ui/controllers/style_mixer.py",
        "if len(parts) < most:",
        "if True:",
        (f"{_MIX}::test_up_to_four_styles_are_mixed_and_a_fifth_is_refused",),
    ),
    Mutant(
        "a mix of three is stored as one of two",
        "app/ui/controllers/settings_mapping.py",
        'mix_more=format_parts(config.mix_more) if config.mix else "",',
        'mix_more="",',
        (f"{_MIX}::test_a_mix_of_several_is_saved_and_restored",),
    ),
    Mutant(
        "INT8 can be chosen for a style of a picture",
        "app/ui/widgets/option_box.py",
        "model.item(row).setEnabled(False)",
        "pass",
        (f"{_MIX}::test_what_a_style_of_a_picture_cannot_do_is_disabled_with_the_reason",),
    ),
)
