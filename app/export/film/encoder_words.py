"""Prints what FFmpeg says when an encoder opens: `python -m app.export.film.encoder_words JSON`.

A process of its own reads FFmpeg's messages: where a decoder runs, its threads wait for Python's
lock to log, and whoever holds the lock may wait for them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction

from utils.files import small_json
from utils.pyav import av
from utils.scheduling import usual_scheduling


def open_encoder(name: str, pixels: str, size: tuple[int, int], options: Mapping[str, str]) -> None:
    """Open an encoder for frames of `size` (width, height), as an export does.

    Raises:
        UnknownCodecError: If this build of FFmpeg has no such encoder.
        FFmpegError: If it does not work on this machine.
    """
    context = av.CodecContext.create(name, "w")
    assert isinstance(context, av.video.codeccontext.VideoCodecContext)
    context.width, context.height = size
    context.pix_fmt = pixels
    context.time_base, context.framerate = Fraction(1, 25), Fraction(25)
    context.options = dict(options)
    with usual_scheduling():
        context.open(strict=False)


def main(asked: str) -> None:
    """Print the first message of an encoder that does not open; `asked` has JSON's arguments."""
    name, pixels, (width, height), options = small_json.loads(asked)
    av.logging.set_level(av.logging.ERROR)
    with av.logging.Capture() as said:
        try:
            open_encoder(name, pixels, (width, height), options)
        except av.error.FFmpegError as exc:
            sys.stdout.write(said[0][2].strip() if said else str(exc.strerror))


if __name__ == "__main__":
    main(sys.argv[1])
