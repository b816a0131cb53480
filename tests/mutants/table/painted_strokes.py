"""Mutants of the strokes that a painting gives to its style, and of their measurement."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PAINTED = "tests/app/styles/test_painted_strokes.py"
_PACKS = "tests/app/styles/test_any_style_styles.py"
_QUALITY = "tests/benchmarks/quality/test_strokes.py"
_GALLERY = "tests/app/ui/gallery/test_style_gallery.py"

MUTANTS = (
    Mutant(
        "strokes lie across the strokes of the painting",
        "app/styles/painted_strokes.py",
        "np.stack((down * down - right * right, -2 * right * down), -1) * even",
        "np.stack((right * right - down * down, 2 * right * down), -1) * even",
        (f"{_PAINTED}::test_parallel_strokes_give_their_angle[30.0]",),
    ),
    Mutant(
        "the contours of flat areas count as strokes",
        "app/styles/painted_strokes.py",
        "(fill >= FILLED * full)",
        "(fill >= 0)",
        (f"{_PAINTED}::test_contours_are_no_strokes",),
    ),
    Mutant(
        "dabs without a direction give strokes one",
        "app/styles/painted_strokes.py",
        "coherence < DIRECTED",
        "coherence < 0",
        (f"{_PAINTED}::test_strokes_without_a_direction_stay_as_they_are",),
    ),
    Mutant(
        "long strokes are measured in one small window",
        "app/styles/painted_strokes.py",
        "WINDOWS = (4.0, 8.0, 16.0)",
        "WINDOWS = (1.0,)",
        (f"{_PAINTED}::test_longer_strokes_are_longer",),
    ),
    Mutant(
        "a painting's strokes are measured and forgotten",
        "app/styles/installable.py",
        "        lines |= self._amounts()\n",
        "",
        (
            f"{_PACKS}::test_the_painting_decides_how_strokes_lie",
            f"{_PACKS}::test_an_installed_copy_keeps_texture_and_strokes",
        ),
    ),
    Mutant(
        "a painting with directed strokes has the faint texture of flat ones",
        "app/styles/installable.py",
        '**({"texture": DIRECTED_TEXTURE} if directed else {}),',
        "**{},",
        (f"{_PACKS}::test_the_painting_decides_how_strokes_lie",),
    ),
    Mutant(
        "every column of a sheet of strokes has the same direction",
        "benchmarks/quality/strokes.py",
        "strokes_direction=AUTO if direction == OWN else direction,",
        "strokes_direction=AUTO,",
        (f"{_QUALITY}::test_each_column_shows_another_direction",),
    ),
    Mutant(
        "the preview of a style hides the painting it was made from",
        "app/ui/widgets/style_list.py",
        "style.picture is not None and style.key in self._previews",
        "False",
        (f"{_GALLERY}::test_a_preview_leaves_the_painting_of_its_style_in_a_corner[painting]",),
    ),
)
