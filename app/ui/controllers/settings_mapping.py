"""Turns what is kept between runs into an engine's config, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.engine.config import EngineConfig
from app.parameters import PARAMETERS, values
from app.settings import Settings
from app.sources import SCENE
from app.styles.library import Library
from models.precision import Precision
from models.transformer_net import VARIANTS


def config_of(settings: Settings, library: Library) -> EngineConfig:
    """The config `settings` ask for; what no longer exists (a removed style) becomes the
    default."""
    known = {style.key for style in library.styles}
    default = EngineConfig()
    style = settings.style if settings.style in known else default.style
    if known and style not in known:
        style = library.styles[0].key
    rows = {
        name: value if row.valid(value := getattr(settings, name)) else getattr(default, name)
        for name, row in PARAMETERS.items()
    }
    return EngineConfig(
        **rows,
        style=style,
        kernels=settings.kernels if settings.kernels in VARIANTS else default.kernels,
        device=settings.device,
        precision=Precision.__members__.get(settings.precision, default.precision),
        size=settings.size or None,
        compare=settings.view == "compare",
        mix=settings.mix if settings.mix in known and settings.mix != style else None,
    )


def source_kept(spec: str | Sequence[str]) -> str:
    """What `Settings.source` holds for `spec`: a strip's pictures stand on lines of their own,
    a path is one from wherever the program is started next."""
    return "\n".join(_lasting(part) for part in ([spec] if isinstance(spec, str) else spec))


def _lasting(spec: str) -> str:
    named = spec in ("", SCENE) or spec.startswith("camera:") or "://" in spec
    return spec if named else str(Path(spec).absolute())


def source_of(settings: Settings) -> str | list[str]:
    """The spec that `settings` keep."""
    lines = settings.source.split("\n")
    return lines if len(lines) > 1 else lines[0]


def settings_of(settings: Settings, config: EngineConfig) -> Settings:
    """`settings` with what `config` says."""
    return replace(
        settings,
        **values(config),
        precision=config.precision.name,
        size=config.size or 0,
        mix=config.mix or "",
    )
