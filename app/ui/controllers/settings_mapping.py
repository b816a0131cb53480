"""Converts stored settings into an engine config and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.engine.config import EngineConfig
from app.engine.matting.files import is_of_source
from app.options import MOST_MIXED, format_parts, parse_parts
from app.parameters import PARAMETERS, parameter_values
from app.settings import Settings
from app.sources import SCENE
from app.styles.catalog import Catalog
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from models.transformer_net import ALL_VARIANTS


def config_from_settings(settings: Settings, catalog: Catalog) -> EngineConfig:
    """Return the config for `settings`; missing items, such as a removed style, get defaults."""
    known = {style.key for style in catalog.styles}
    default = EngineConfig()
    style = settings.style if settings.style in known else default.style
    if known and style not in known:
        style = catalog.styles[0].key
    mixed: dict[str, float] = {}
    for key, share in ((settings.mix, settings.mix_amount), *parse_parts(settings.mix_more)):
        if key in known and key != style and len(mixed) < MOST_MIXED - 1:
            mixed.setdefault(key, share)
    rows = {
        name: value if row.valid(value := getattr(settings, name)) else getattr(default, name)
        for name, row in PARAMETERS.items()
    }
    config = EngineConfig(
        **rows,
        style=style,
        kernels=settings.kernels if _is_there(settings.kernels) else default.kernels,
        device=settings.device,
        precision=Precision.__members__.get(settings.precision, default.precision),
        size=settings.size or None,
        compare=settings.view == "compare",
        matte=settings.matte,
    )
    if not mixed:
        return config
    (mix, amount), *more = mixed.items()
    return replace(config, mix=mix, mix_amount=amount, mix_more=tuple(more))


def _is_there(kernels: str) -> bool:
    """Return whether these kernels exist here; their runtime may have been removed since."""
    return kernels in ALL_VARIANTS and not (kernels in RUNTIMES and RUNTIMES[kernels].refusal())


def stored_source(spec: str | Sequence[str]) -> str:
    """Return `Settings.source` for `spec`: one picture of a strip per line, with absolute paths."""
    return "\n".join(_absolute_spec(part) for part in ([spec] if isinstance(spec, str) else spec))


def _absolute_spec(spec: str) -> str:
    named = spec in ("", SCENE) or spec.startswith("camera:") or "://" in spec
    return spec if named else str(Path(spec).absolute())


def source_from_settings(settings: Settings) -> str | list[str]:
    lines = settings.source.split("\n")
    return lines if len(lines) > 1 else lines[0]


def settings_with_config(settings: Settings, config: EngineConfig) -> Settings:
    return replace(
        settings,
        **parameter_values(config),
        precision=config.precision.name,
        size=config.size or 0,
        mix=config.mix or "",
        mix_more=format_parts(config.mix_more) if config.mix else "",
        matte="" if is_of_source(Path(config.matte)) else config.matte,
    )
