"""Metadata of a saved picture: how it was made."""

from __future__ import annotations

from dataclasses import replace

from app.engine.result import StyledFrame
from app.looks.look import KEY, Look
from app.parameters import PARAMETERS
from app.version import styleforge_version


def image_metadata(styled: StyledFrame) -> dict[str, str]:
    """Return the text entries for `write_pixels`; the look among them restores everything."""
    config, running = replace(styled.config, texture=styled.texture), styled.running
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
