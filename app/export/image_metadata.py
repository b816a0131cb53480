"""Metadata of a saved picture: how it was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.engine.matting.files import is_mask
from app.engine.result import StyledFrame
from app.looks.look import KEY, Look
from app.options import AS_THEY_ARE, DEFAULT_LENGTH, painted_options
from app.parameters import PARAMETERS
from app.version import styleforge_version
from kernels.frames.combing import Comb
from utils.stroke_directions import Handles


def strokes_of(comb: Comb | None) -> tuple[float | str, float, Handles]:
    """Return direction, length and handles of a result's strokes, as in app.parameters."""
    if comb is None:
        return AS_THEY_ARE, DEFAULT_LENGTH, ()
    return comb.direction, comb.length, comb.handles


def image_metadata(styled: StyledFrame) -> dict[str, str]:
    """Return the text entries for `write_pixels`; the look among them restores everything."""
    direction, length, handles = strokes_of(styled.comb)
    config = replace(
        styled.config,
        texture=styled.texture,
        strokes_direction=direction,
        strokes_length=length,
        strokes_handles=handles,
    )
    parts = painted_options(masked=is_mask(Path(config.matte)), swapped=config.swap_matte)
    running = styled.running
    return {
        "Software": f"StyleForge {styleforge_version()}",
        "Style": running.style,
        "Network": running.network or ("Lite" if running.lite else "Full"),
        "Kernels": running.kernels,
        "Precision": running.precision.title,
        "Device": running.device,
        "Network size": f"{styled.size[0]}x{styled.size[1]}",
        **{
            row.metadata: text
            for name, row in PARAMETERS.items()
            if row.metadata and (text := row.text(getattr(config, name)))
        },
        PARAMETERS["paint"].metadata: parts[config.paint].title,
        KEY: Look.of(styled.config).text(),
    }
