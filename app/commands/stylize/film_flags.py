"""The film flags of `stylize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.export.film.codecs import CODECS, PLACES, QUALITIES


def add_film_flags(parser: argparse.ArgumentParser) -> None:
    films = parser.add_argument_group(
        "films",
        "A film becomes a film with every frame at its time, and with its sound, subtitles, "
        "chapters and metadata copied. OUT ends in .mp4, .mov or .mkv, or in .gif or .webp for an "
        "animation. A run that was stopped goes on behind its finished parts when the same command "
        "is given again.",
    )
    titles = ", ".join(f"{key}: {codec.title}" for key, codec in CODECS.items())
    films.add_argument(
        "--codec",
        choices=list(CODECS),
        help=f"how films are coded ({titles}; default: h264)",
    )
    films.add_argument(
        "--quality",
        choices=QUALITIES,
        default="good",
        help="small: a small file; good: hardly a difference to be seen; best: none, in a large "
        "file; ffv1 has no loss in any case (default: good)",
    )
    films.add_argument(
        "--encoder",
        choices=PLACES,
        default=PLACES[0],
        help="where films are encoded: by the graphics processor (hardware), by the processor "
        "(cpu), or by the first if it can (auto, the default); `styleforge doctor` says which "
        "encoders this machine has",
    )
    films.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write what became of each film into a JSON file: frames, frames a second, how busy "
        "reading, network and encoding were, and which of them limited the others",
    )
