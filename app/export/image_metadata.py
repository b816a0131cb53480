"""What a saved picture says about how it was made."""

from __future__ import annotations

from app.engine.result import StyledFrame
from app.options import NETWORKS, STROKES, UPSAMPLING
from app.version import styleforge_version


def metadata(styled: StyledFrame) -> dict[str, str]:
    """For `save_image`. A mix is named with the shares of both styles."""
    config, running = styled.config, styled.running
    return {
        "Software": f"StyleForge {styleforge_version()}",
        "Style": running.style,
        "Network": NETWORKS["lite" if running.lite else "full"].title,
        "Kernels": running.kernels,
        "Precision": running.precision.title,
        "Device": running.device,
        "Network size": f"{styled.size[0]}x{styled.size[1]}",
        "Strokes": STROKES[config.strokes].title,
        "Upsampling": UPSAMPLING[config.upsampling].title,
        "Strength": f"{config.strength:.2f}",
        "Keep colors": "yes" if config.keep_colors else "no",
    }
