"""What a saved picture says about how it was made."""

from __future__ import annotations

from app.styled import Styled
from app.version import styleforge_version


def metadata(styled: Styled, title: str) -> dict[str, str]:
    """For `save_image`; `title` is the style's."""
    config = styled.config
    return {
        "Software": f"StyleForge {styleforge_version()}",
        "Style": title,
        "Kernels": styled.running.kernels,
        "Precision": styled.running.precision.title,
        "Device": styled.running.device,
        "Network size": f"{styled.size[0]}x{styled.size[1]}",
        "Strength": f"{config.strength:.2f}",
        "Keep colors": "yes" if config.keep_colors else "no",
    }
