"""Export of a style's network, with a check in the format's own runtime before it is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from app.errors import StyleForgeError
from app.export.network.file_format import FileFormat, Source
from app.export.network.formats import FORMATS
from app.export.network.verification import SIZES, Verified, verify
from app.provenance import digest_of
from app.styles.catalog import Catalog
from app.styles.pack import Style, check_weights
from app.version import styleforge_version
from models.checkpoints import CheckpointError
from models.families.family import LoadedStyle, NetworkFamily, StyleFiles
from models.families.table import FAMILIES
from models.pictures import MIN_SIDE
from models.precision import Precision
from models.runtimes.program import Pictures
from models.runtimes.runtime import RuntimeFault
from utils.files.atomic import sync
from utils.text import printable
from utils.translation.joints import enumerated
from utils.translation.texts import tr

PRECISIONS = (Precision.fp32, Precision.fp16)


class ExportError(StyleForgeError):
    """Raised if a network cannot be exported."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of an export; `size` is the only accepted (width, height), None for any."""

    lite: bool = False
    precision: Precision = Precision.fp32
    pictures: Pictures = Pictures.float
    size: tuple[int, int] | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export: its files with the script, and the runtime that ran them."""

    files: tuple[Path, ...]
    verified: Verified
    runtime: str

    @property
    def script(self) -> Path:
        return self.files[-1]


def export_network(
    catalog: Catalog,
    key: str,
    path: Path,
    wanted: Wanted,
    progress: Callable[[str], object] = lambda step: None,
) -> Exported:
    """Write the network of a style and a script next to it; call `progress` before each step.

    Raises:
        StyleForgeError: If the style or format is unknown, a package is missing, a file exists
            already, or the file's results differ from ours. Nothing is written then.
        OSError: If a file cannot be written.
    """
    kind = _format(path)
    style = catalog.get(key)
    family = FAMILIES[style.family]
    _check(family, style, wanted)
    files = (path, *(path.with_suffix(e) for e in kind.companions), path.with_suffix(".py"))
    if not wanted.overwrite:
        for file in files:
            if file.exists():
                raise ExportError(
                    tr(
                        "'{file}' exists already; --overwrite replaces it",
                        file=printable(str(file)),
                    )
                )
    progress("Reading the style")
    loaded = _load(catalog, style, family, lite=wanted.lite)
    source = Source(
        _built(family, loaded, "baseline"),
        wanted.pictures,
        wanted.precision is Precision.fp16,
        family.multiple,
        wanted.size,
        _texts(style, family, wanted),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=path.parent) as folder:
        made = tuple(Path(folder) / file.name for file in files)
        progress(f"Writing {kind.title}")
        kind.write(source, made[0])
        progress(f"Comparing what {kind.runtime} paints with our own")
        verified = _verified(kind, made[0], _built(family, loaded, "fused"), wanted)
        script = Path(__file__).parent / "scripts" / f"{kind.script}.py"
        made[-1].write_bytes(script.read_bytes())
        for there in made:
            sync(there)
        for there, file in reversed(list(zip(made, files, strict=True))):  # the main file last
            there.replace(file)
    return Exported(files, verified, kind.runtime)


def _format(path: Path) -> FileFormat:
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise ExportError(
            tr(
                "'{file}' has an unknown ending; choose one of {endings}",
                file=printable(path.name),
                endings=enumerated(FORMATS),
            )
        )
    if kind.missing:
        raise ExportError(kind.missing)
    return kind


def _check(family: NetworkFamily[Any], style: Style, wanted: Wanted) -> None:
    if wanted.size is None:
        if reason := family.one_size:
            raise ExportError(
                tr(
                    "{style} needs a size, as in --size 1280x720: {reason}",
                    style=style.title,
                    reason=tr(reason),
                )
            )
    elif min(wanted.size) < MIN_SIDE:
        raise ExportError(tr("a picture has at least {size} pixels", size=f"{MIN_SIDE}x{MIN_SIDE}"))


def _load(catalog: Catalog, style: Style, family: NetworkFamily[Any], *, lite: bool) -> LoadedStyle:
    files = StyleFiles(style.weights, style.lite, style.picture)
    try:
        if lite and not family.has_lite(files, catalog.networks):
            raise ExportError(tr("{style} has no lite network", style=style.title))
        check_weights(style, lite=lite and style.lite is not None)
        return family.load(files, catalog.networks, lite=lite)
    except CheckpointError as exc:
        raise ExportError(str(exc)) from exc


def _built(family: NetworkFamily[Any], loaded: LoadedStyle, kernels: str) -> nn.Module:
    network = family.build(loaded.network, kernels)
    family.load_into(network, loaded.state)
    return network


def _verified(kind: FileFormat, path: Path, ours: nn.Module, wanted: Wanted) -> Verified:
    sizes = SIZES if wanted.size is None else (wanted.size, wanted.size)
    try:
        run = kind.load(path)
    except RuntimeFault as exc:
        raise ExportError(tr("the file was not kept: {error}", error=exc)) from exc
    verified = verify(run, ours, wanted.pictures, wanted.precision, sizes)
    if not verified.agrees:
        raise ExportError(
            tr(
                "the file was not kept: the output of {runtime} differs from StyleForge's by "
                "{figures}; the limit is {bound}",
                runtime=kind.runtime,
                figures=verified.figures,
                bound=verified.bound,
            )
        )
    return verified


def _texts(style: Style, family: NetworkFamily[Any], wanted: Wanted) -> dict[str, str]:
    weights = style.lite if wanted.lite and style.lite else style.weights
    takes = {
        Pictures.float: "float32 [1, 3, height, width]; the result is of 0-255, not rounded",
        Pictures.uint8: "uint8 [1, height, width, 3]; the result is rounded",
    }
    return {
        "title": style.title,
        "style": style.key,
        "artist": style.credit,
        "licence": style.licence,
        "made_by": f"StyleForge {styleforge_version()}",
        "weights_sha256": digest_of(weights),
        "family": family.title,
        "network": "lite" if wanted.lite else "full",
        "precision": wanted.precision.title,
        "pictures": wanted.pictures.value,
        "format_of_pictures": f"{takes[wanted.pictures]}; RGB, sRGB, 0-255 in and out",
        "size": "x".join(map(str, wanted.size)) if wanted.size else "any",
        "multiple": str(1 if wanted.size else family.multiple),
    }
