"""Turns what is kept between runs into an engine's config, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.engine.result import EngineConfig
from app.options import NETWORKS, STROKES, UPSAMPLING
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
    return EngineConfig(
        style=style,
        kernels=settings.kernels if settings.kernels in VARIANTS else default.kernels,
        precision=Precision.__members__.get(settings.precision, default.precision),
        device=settings.device,
        size=settings.size or None,
        strength=settings.strength,
        keep_colors=settings.keep_colors,
        compare=settings.view == "compare",
        network=settings.network if settings.network in NETWORKS else default.network,
        mix=settings.mix if settings.mix in known and settings.mix != style else None,
        mix_amount=settings.mix_amount,
        strokes=settings.strokes if settings.strokes in STROKES else default.strokes,
        upsampling=settings.upsampling if settings.upsampling in UPSAMPLING else default.upsampling,
        smoothing=settings.smoothing,
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
        style=config.style,
        kernels=config.kernels,
        precision=config.precision.name,
        device=config.device,
        size=config.size or 0,
        strength=config.strength,
        keep_colors=config.keep_colors,
        network=config.network,
        mix=config.mix or "",
        mix_amount=config.mix_amount,
        strokes=config.strokes,
        upsampling=config.upsampling,
        smoothing=config.smoothing,
    )
