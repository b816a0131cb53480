"""The film flags of `stylize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.export.film.codecs import CODECS, PLACES, QUALITIES


def add_film_flags(parser: argparse.ArgumentParser) -> None:
    films = parser.add_argument_group(
        "films",
        "A styled film keeps the time of every frame, the sound, subtitles, chapters and "
        "metadata. OUT ends in .mp4, .mov or .mkv, or in .gif or .webp for an animation. The "
        "same command continues an interrupted film after its finished parts.",
    )
    titles = ", ".join(f"{key}: {codec.title}" for key, codec in CODECS.items())
    films.add_argument(
        "--codec",
        choices=list(CODECS),
        help=f"codec of the films ({titles}; default: h264)",
    )
    films.add_argument(
        "--quality",
        choices=QUALITIES,
        default="good",
        help="small: a small file; good: hardly a visible difference; best: no visible "
        "difference, in a large file; ffv1 is always lossless (default: good)",
    )
    films.add_argument(
        "--encoder",
        choices=PLACES,
        default=PLACES[0],
        help="what encodes films: the graphics processor (hardware), the processor (cpu), or the "
        "graphics processor if it can (auto, the default); `styleforge doctor` lists this "
        "machine's encoders",
    )
    films.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write a JSON report on each film: frames, frames per second, how busy reading, "
        "network and encoding were, and which of them was the slowest",
    )
