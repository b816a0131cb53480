"""Metadata of a saved picture: how it was made."""

from __future__ import annotations

from dataclasses import replace

from app.engine.result import StyledFrame
from app.looks.look import KEY, Look
from app.options import AS_THEY_ARE, DEFAULT_LENGTH
from app.parameters import PARAMETERS
from app.version import styleforge_version
from kernels.frames.combing import Comb


def strokes_of(comb: Comb | None) -> tuple[float | str, float]:
    """Return the direction and the length of a result's strokes, as in app.parameters."""
    return (AS_THEY_ARE, DEFAULT_LENGTH) if comb is None else (comb.direction, comb.length)


def image_metadata(styled: StyledFrame) -> dict[str, str]:
    """Return the text entries for `write_pixels`; the look among them restores everything."""
    direction, length = strokes_of(styled.comb)
    config = replace(
        styled.config,
        texture=styled.texture,
        strokes_direction=direction,
        strokes_length=length,
    )
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
            row.metadata: row.text(getattr(config, name))
            for name, row in PARAMETERS.items()
            if row.metadata
        },
        KEY: Look.of(styled.config).text(),
    }
