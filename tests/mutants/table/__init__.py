"""The mutants: for each promise that people rely on, a line that breaks it, by room."""

from __future__ import annotations

from tests.mutants.table import (
    any_style,
    around_the_network,
    batch,
    comparison,
    conversion,
    engine,
    families,
    files,
    films,
    frame_rates,
    kernels,
    library,
    live,
    losses_and_optimizers,
    model_parts,
    packaging,
    picture_styles,
    training,
    tuning,
    window,
)

MUTANTS = (
    *comparison.MUTANTS,
    *conversion.MUTANTS,
    *engine.MUTANTS,
    *live.MUTANTS,
    *files.MUTANTS,
    *batch.MUTANTS,
    *films.MUTANTS,
    *training.MUTANTS,
    *kernels.MUTANTS,
    *model_parts.MUTANTS,
    *window.MUTANTS,
    *packaging.MUTANTS,
    *around_the_network.MUTANTS,
    *frame_rates.MUTANTS,
    *tuning.MUTANTS,
    *any_style.MUTANTS,
    *families.MUTANTS,
    *picture_styles.MUTANTS,
    *library.MUTANTS,
    *losses_and_optimizers.MUTANTS,
)
