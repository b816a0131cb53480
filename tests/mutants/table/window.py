"""Mutants of the window."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
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
