"""Encoding plans of films: file, codec, encoder, size and colors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.export.film.animation_output import AnimationOutput
from app.export.film.assembly import FilmOutput
from app.export.film.codecs import CODECS, CONTAINERS, choose_encoder, usual_codec
from app.export.film.copying import check_copying
from app.export.film.fault import FAULTS, FilmError, named, reason, unmade
from app.export.film.info import FilmInfo
from app.export.film.parts.output import Output
from app.export.film.parts.request import PART, FilmRequest
from app.export.film.segment import Encoding
from utils.translation.joints import enumerated
from utils.translation.texts import tr


def film_request(
    info: FilmInfo,
    target: Path,
    codec: str | None,
    *,
    quality: str,
    where: str,
    identity: Mapping[str, str],
    part: int = PART,
) -> FilmRequest:
    """Plan a film; the ending of `target` selects the format.

    Args:
        codec: A key of CODECS; None for the format's default.
        quality: One of QUALITIES; `where` is one of PLACES.

    Raises:
        FilmError: If the file does not support the codec or the film's sound, or no encoder works.
    """
    check_name(target)
    ending = target.suffix.lower()
    key = codec or usual_codec(ending)
    chosen = CODECS[key]
    if ending not in chosen.containers:
        raise FilmError(
            tr(
                "{file} cannot hold {codec}; choose a name that ends in {endings}",
                file=named(target),
                codec=chosen.title,
                endings=_any(chosen.containers),
            )
        )
    if info.animation is None and not chosen.animation:
        try:
            check_copying(info, CONTAINERS[ending])
        except FAULTS as exc:
            raise unmade(target, info.path, reason(exc)) from exc
        except FilmError as exc:
            raise unmade(target, info.path, str(exc)) from exc
    width, height = chosen.size(info.width, info.height)
    if not width or not height:
        raise FilmError(
            tr("{file} is too small for {codec}", file=named(info.path), codec=chosen.title)
        )
    found = choose_encoder(chosen, where, (width, height))
    encoding = Encoding(
        chosen,
        found.encoder,
        quality,
        width,
        height,
        info.rate,
        info.time_base,
        info.aspect,
        info.colors.coded(width, height, limited=chosen.limited, rgb=chosen.rgb),
    )
    if chosen.animation:
        output: Output = AnimationOutput(info, encoding, chosen.animation)
    else:
        output = FilmOutput(info, encoding, CONTAINERS[ending])
    return FilmRequest(info, target, encoding, output, identity, part, found.refused)


def check_name(target: Path) -> None:
    """Raise FilmError if a file's ending is not a film's."""
    if target.suffix.lower() not in CONTAINERS:
        raise FilmError(
            tr(
                "{file} is not a film's name: it must end in {endings}",
                file=named(target),
                endings=_any(tuple(CONTAINERS)),
            )
        )


def _any(endings: tuple[str, ...]) -> str:
    *others, last = endings
    if not others:
        return last
    return tr("{several} or {last}", several=enumerated(others), last=last)
