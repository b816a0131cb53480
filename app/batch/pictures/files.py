"""Reading of a picture and writing of its result, on any thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.batch.jobs.job import Job
from app.engine.result import StyledFrame
from app.errors import StyleForgeError
from app.export.before_after.picture import write_before_after
from app.export.picture_file import write_result
from app.frame import Frame
from utils.images.opening import ImageError
from utils.images.reading import read_picture
from utils.images.reducing import reduced
from utils.text import printable

# Errors that fail one picture while the others continue.
FAULTS = (StyleForgeError, ImageError, OSError)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture as read; `loss` is the information lost by reading, as a clause, or ""."""

    job: Job
    frame: Frame
    loss: str


def read(job: Job, depth: int | None = None) -> Picture:
    """Read a job's picture with `depth` bits per channel, 8 or 16, or its own if None.

    Raises:
        ImageError: If the picture cannot be read.
    """
    picture = read_picture(job.source)
    if job.long_side is not None:
        picture = reduced(picture, job.long_side)
    deep, profile = picture.deep, picture.origin.profile
    if depth == 8:
        deep = None
    elif depth == 16 and deep is None and (profile is None or profile.deep):
        deep = picture.pixels.astype(np.uint16) * 257
    frame = Frame(picture.pixels, alpha=picture.alpha, deep=deep, origin=picture.origin)
    return Picture(job, frame, picture.loss)


def write(picture: Picture, styled: StyledFrame, size: int | None) -> str:
    """Write the result of a picture atomically; return a remark for the user, perhaps "".

    Raises:
        ImageError: If the result cannot be written.
        OSError: If the folder is not writable.
    """
    job, frame = picture.job, picture.frame
    job.target.parent.mkdir(parents=True, exist_ok=True)
    limitations = [picture.loss] if picture.loss else []
    if job.before_after:
        limitations += write_before_after(job.target, styled, job.before_after)
    else:
        limitations += write_result(job.target, styled)
    used = styled.config.size
    if size is None and used is not None and used < max(frame.width, frame.height):
        width, height = styled.size
        limitations.append(
            f"{frame.width}x{frame.height} is large; it was stylized at "
            f"{width}x{height} and scaled back (--size changes that)"
        )
    if styled.bands:
        limitations.append(f"it was {styled.bands}")
    named = f"{printable(job.source.name)}: " if limitations else ""
    return named + "; ".join(limitations)
