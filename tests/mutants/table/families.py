"""Mutants of network families and picture styles."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FAMILIES = "tests/models/families/test_families.py"
_PICTURE_STYLES = "tests/app/styles/test_any_style_styles.py"
_PAINTED = "tests/app/engine/test_any_style.py"
_STYLE_IMAGES = "tests/app/commands/test_style_images.py"

MUTANTS = (
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
        "if first.family != style.family:",
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
        "app/batch/style_choice.py",
        "shares = [share or 0.0 for share in given]",
        "shares = [share or 0.0 for share in reversed(given)]",
        (f"{_STYLE_IMAGES}::test_two_style_pictures_are_mixed_by_their_shares",),
    ),
    Mutant(
        "a saved picture does not name the network that painted it",
        "app/export/image_metadata.py",
        'running.network or ("Lite"',
        '("Lite"',
        ("tests/app/export/test_image_metadata.py::test_they_name_the_network_that_painted",),
    ),
    Mutant(
        "a control can be used that has no meaning for the family",
        "app/ui/widgets/parameter_controls.py",
        "part.setEnabled(not reason)",
        "part.setEnabled(True)",
        (
            "tests/app/ui/window/test_panel.py::test_a_control_without_a_meaning_for_the_family_is_disabled_with_the_reason",
        ),
    ),
)
