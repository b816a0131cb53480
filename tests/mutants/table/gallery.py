"""Mutants of the gallery of styles."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PAINTER = "tests/app/live/previews/test_painter.py::"
_TRIAL = "tests/app/ui/window/test_style_trial.py::"
_ARRANGING = "tests/app/ui/window/test_arranging.py::"
_ARRANGEMENT = "tests/app/ui/gallery/test_arrangement.py::"
_FILE = "tests/app/styles/test_style_file.py::"
_CARDS = "tests/app/ui/window/test_card_previews.py::"

MUTANTS = (
    Mutant(
        "pictures that open stay behind the styles",
        "app/ui/widgets/strip_tabs.py",
        "if wanted and self.isVisible():",
        "if False:",
        ("tests/app/ui/window/test_strip_tabs.py::test_opened_pictures_come_before_the_styles",),
    ),
    Mutant(
        "previews take as much time as the stream",
        "app/live/previews/budget.py",
        "self._due = ended + seconds * (1 / SHARE - 1)",
        "self._due = ended + seconds",
        (f"{_PAINTER}test_a_stream_loses_at_most_two_percent_of_its_frames",),
    ),
    Mutant(
        "a stream begins with a preview in place of a frame",
        "app/live/previews/budget.py",
        "self._due = now + FIRST_REST_S",
        "self._due = now",
        (f"{_PAINTER}test_a_stream_has_its_first_seconds_for_itself",),
    ),
    Mutant(
        "previews of the picture before stay on the cards",
        "app/live/previews/painter.py",
        "made[s].picture != self._number",
        "False",
        (f"{_PAINTER}test_another_picture_and_another_look_are_painted_anew",),
    ),
    Mutant(
        "networks of previews stay in memory",
        "app/live/previews/painter.py",
        "            if not between.moving:\n                self._engine = None",
        "            pass",
        (f"{_PAINTER}test_networks_are_let_go_when_every_preview_is_painted",),
    ),
    Mutant(
        "previews interrupt a picture that is being computed",
        "app/live/previews/painter.py",
        "elif not between.idle:",
        "elif False:",
        (f"{_PAINTER}test_nothing_is_painted_while_the_picture_is_computed",),
    ),
    Mutant(
        "a comparison is measured while previews are painted",
        "app/live/frame_loop.py",
        "self._held or config.compare\n",
        "self._held\n",
        (
            "tests/app/live/test_frame_loop.py::"
            "test_the_thread_is_free_between_frames_but_not_in_comparisons_and_recordings",
        ),
    ),
    Mutant(
        "cards of a hidden gallery are painted",
        "app/ui/gallery/card_previews.py",
        "self._gallery.keys_in_view() if self._gallery.isVisible() else []",
        "self._gallery.keys_in_view()",
        (f"{_CARDS}test_a_hidden_gallery_asks_for_nothing",),
    ),
    Mutant(
        "a trial changes the choice",
        "app/live/session/choice.py",
        "self._sent = self._config",
        "self._config = self._sent = config",
        (f"{_TRIAL}test_a_trial_touches_neither_the_choice_nor_the_settings",),
    ),
    Mutant(
        "results of a trial are not shown",
        "app/live/session/delivery.py",
        "same_choice(result.config, self._choice.shown)",
        "same_choice(result.config, self._choice.config)",
        (f"{_TRIAL}test_pointing_at_a_card_shows_its_style_after_a_moment",),
    ),
    Mutant(
        "a trial is recorded",
        "app/live/session/session.py",
        'if held:\n            self.choice.try_style("")',
        "if held:\n            pass",
        (f"{_TRIAL}test_nothing_is_tried_on_a_recording",),
    ),
    Mutant(
        "a trial by the pointer cannot be turned off",
        "app/ui/gallery/style_trial.py",
        "if self._on_hover() and not pressed:",
        "if not pressed:",
        (f"{_TRIAL}test_pointing_tries_nothing_when_that_is_turned_off",),
    ),
    Mutant(
        "a style stays on the picture after the pointer has left its card",
        "app/ui/gallery/style_trial.py",
        "(QEvent.Type.Leave, QEvent.Type.FocusOut, QEvent.Type.Hide)",
        "(QEvent.Type.FocusOut, QEvent.Type.Hide)",
        (f"{_TRIAL}test_leaving_the_card_brings_the_own_style_back",),
    ),
    Mutant(
        "a card that appears under a resting pointer is tried",
        "app/ui/gallery/style_trial.py",
        "if pointer == self._pointer:",
        "if not pointer:",
        (f"{_TRIAL}test_a_card_that_appears_under_a_resting_pointer_is_not_tried",),
    ),
    Mutant(
        "a trial goes on while another card scrolls under the pointer",
        "app/ui/gallery/style_trial.py",
        "gallery.view.entered.connect(self._stop_other)",
        "pass",
        (f"{_TRIAL}test_a_card_that_scrolls_under_the_pointer_ends_the_trial_of_another",),
    ),
    Mutant(
        "favorites stand among the other styles",
        "app/ui/gallery/arranging.py",
        "return not favorite, 0",
        "return False, 0",
        (f"{_ARRANGEMENT}test_favorites_come_first_in_the_order_by_hand",),
    ),
    Mutant(
        "a search finds styles by one of its words",
        "app/ui/gallery/arranging.py",
        "if all(word in",
        "if any(word in",
        (f"{_ARRANGEMENT}test_every_word_of_a_search_has_to_be_found_in_whatever_case",),
    ),
    Mutant(
        "an order by hand is forgotten",
        "app/ui/gallery/arranging.py",
        "self._keep(style_order=text_of(moved(keys, key, before)), style_groups=groups)",
        "self._keep(style_groups=groups)",
        (f"{_ARRANGING}test_keys_move_the_chosen_style",),
    ),
    Mutant(
        "a card that is to be dragged is chosen",
        "app/ui/gallery/cards_view.py",
        "self._pressed, self._pressed_at = index, place",
        "self.setCurrentIndex(index)",
        (f"{_ARRANGING}test_a_press_alone_chooses_nothing_since_a_drag_may_follow",),
    ),
    Mutant(
        "the last run of a training counts for all of it",
        "app/styles/facts.py",
        'sum(_numbers(runs, "iterations"))',
        '_numbers(runs, "iterations")[-1]',
        (f"{_ARRANGING}test_about_tells_painting_license_and_training",),
    ),
    Mutant(
        "a file of a style may hold any other file",
        "app/styles/style_file.py",
        "if each not in names:",
        "if False:",
        (f"{_FILE}test_what_is_no_file_of_a_style_is_refused_in_one_sentence",),
        breaks=("styles",),
    ),
    Mutant(
        "a file of a style may unpack to any size",
        "app/styles/style_file.py",
        "if info.file_size > most:",
        "if False:",
        (f"{_FILE}test_what_is_no_file_of_a_style_is_refused_in_one_sentence",),
    ),
    Mutant(
        "a file of a style may hold a pickle",
        "app/styles/style_file.py",
        "not str(value).lower().endswith(endings)",
        "False",
        (f"{_FILE}test_what_is_no_file_of_a_style_is_refused_in_one_sentence",),
    ),
    Mutant(
        "an imported style loses its training facts",
        "app/styles/catalog.py",
        "                return self.move_in(folder)",
        "                return self.install(folder)",
        (f"{_FILE}test_a_style_goes_through_one_file_whole",),
    ),
    Mutant(
        "one style that cannot be installed keeps the others from it",
        "app/live/session/user_styles.py",
        "refused.append(exc)",
        "raise",
        (
            "tests/app/ui/window/test_drop.py::"
            "test_several_styles_are_dropped_at_once_and_a_damaged_one_stops_none",
        ),
    ),
    Mutant(
        "a card that is dropped on another starts a mix of the two alone",
        "app/ui/controllers/style_mixer.py",
        "if onto not in self._session.config.styles:",
        "if True:",
        ("tests/app/ui/window/test_mix.py::test_a_third_card_makes_a_triangle_of_a_mix",),
    ),
)
