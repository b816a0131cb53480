"""The codecs of films: their encoders, named qualities and containers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.export.film import encoder_words
from app.export.film.encoder_words import open_encoder
from app.export.film.fault import FilmError
from utils.pyav import av
from utils.translation.joints import clauses
from utils.translation.texts import tr

QUALITIES = ("small", "good", "best")
CONTAINERS = {  # FFmpeg's formats
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mov",
    ".mkv": "matroska",
    ".gif": "gif",
    ".webp": "webp",
}
FILMS = (".mp4", ".m4v", ".mov", ".mkv")  # containers with sound, subtitles and chapters
CPU = "CPU"
PLACES = ("auto", "cpu", "hardware")  # where encoding may run


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder of FFmpeg or Pillow.

    Attributes:
        device: The hardware it runs on, in the vendor's spelling.
        pixels: FFmpeg's name of the pixel format it reads.
        qualities: Options for each of QUALITIES.
        ours: Whether it belongs to Pillow and is therefore always available.
    """

    name: str
    device: str
    pixels: str
    qualities: Mapping[str, Mapping[str, str]]
    options: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False

    def all_options(self, quality: str) -> dict[str, str]:
        return {**self.options, **self.qualities[quality]}


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec.

    Attributes:
        encoders: In the order in which they are tried: hardware first, the CPU last.
        containers: Endings of the files that can contain it, the usual one first.
        segments: FFmpeg's format for the files of a film's parts.
        tag: The codec tag for QuickTime; "" leaves it to FFmpeg.
        limited: Whether it lacks the full color range.
        animation: Key of its format in app.export.film.animation_output; "" for a film.
    """

    title: str
    encoders: tuple[Encoder, ...]
    containers: tuple[str, ...] = FILMS
    segments: str = "mp4"
    tag: str = ""
    limited: bool = False
    rgb: bool = False
    animation: str = ""

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the size that can be encoded: even if pairs of pixels share colors."""
        pixels = self.encoders[-1].pixels
        across = 2 if pixels.startswith(("yuv420", "yuv422")) else 1
        down = 2 if pixels.startswith("yuv420") else 1
        return width - width % across, height - height % down


def _by(option: str, small: int, good: int, best: int) -> dict[str, dict[str, str]]:
    numbers = zip(QUALITIES, (small, good, best), strict=True)
    return {quality: {option: str(number)} for quality, number in numbers}


def _hardware(
    codec: str, nvidia: dict[str, dict[str, str]], others: tuple[int, int, int]
) -> tuple[Encoder, ...]:
    """Return the encoders of GPUs; Apple's quality of 1 to 100 is in units of FFmpeg's 118."""
    amd = {
        quality: {"qp_i": str(qp), "qp_p": str(qp), "qp_b": str(qp)}
        for quality, qp in zip(QUALITIES, others, strict=True)
    }
    apple = _by("global_quality", 45 * 118, 65 * 118, 85 * 118)
    return (
        Encoder(f"{codec}_nvenc", "NVIDIA", "yuv420p", nvidia, {"rc": "vbr", "b": "0"}),
        Encoder(f"{codec}_qsv", "Intel", "nv12", _by("global_quality", *others)),
        Encoder(f"{codec}_amf", "AMD", "yuv420p", amd, {"rc": "cqp", "quality": "quality"}),
        Encoder(f"{codec}_videotoolbox", "Apple", "yuv420p", apple, {"flags": "+qscale"}),
    )


# For a painted 1080p frame, "veryfast" takes 23 ms of processor time and "fast" 57 ms.
_X264 = {
    "small": {"crf": "26", "preset": "fast"},
    "good": {"crf": "20", "preset": "veryfast"},
    "best": {"crf": "12", "preset": "fast"},
}


def _animation(key: str, title: str) -> Codec:
    """Build the codec of an animation; app.export.film.animation_output has its qualities."""
    qualities: dict[str, dict[str, str]] = {quality: {} for quality in QUALITIES}
    encoder = Encoder("Pillow", CPU, "rgb24", qualities, ours=True)
    return Codec(title, (encoder,), containers=(f".{key}",), rgb=True, animation=key)


_X265 = {"preset": "fast", "x265-params": "log-level=none"}  # otherwise it writes to the terminal

CODECS: dict[str, Codec] = {
    "h264": Codec(
        "H.264",
        (
            *_hardware("h264", _by("cq", 29, 23, 17), (28, 22, 16)),
            Encoder("libx264", CPU, "yuv420p", _X264),
        ),
    ),
    "hevc": Codec(
        "HEVC",
        (
            *_hardware("hevc", _by("cq", 31, 25, 19), (30, 24, 18)),
            Encoder("libx265", CPU, "yuv420p", _by("crf", 29, 23, 14), _X265),
        ),
        tag="hvc1",
    ),
    "av1": Codec(
        "AV1",
        (
            *_hardware("av1", _by("cq", 38, 30, 22), (36, 28, 20)),
            Encoder("libsvtav1", CPU, "yuv420p", _by("crf", 42, 32, 20), {"preset": "8"}),
        ),
        containers=(".mp4", ".m4v", ".mkv"),
    ),
    "prores": Codec(
        "ProRes",
        (Encoder("prores_ks", CPU, "yuv422p10le", _by("profile", 1, 2, 3), {"vendor": "apl0"}),),
        containers=(".mov", ".mkv"),
        segments="mov",
        limited=True,
    ),
    "ffv1": Codec(
        "FFV1",
        (
            Encoder(
                "ffv1",
                CPU,
                "bgr0",
                {quality: {} for quality in QUALITIES},  # lossless
                {"level": "3", "slices": "16", "slicecrc": "1", "g": "1"},
            ),
        ),
        containers=(".mkv",),
        rgb=True,
    ),
    "gif": _animation("gif", "GIF"),
    "webp": _animation("webp", "WebP"),
}


def usual_codec(ending: str) -> str:
    return next(key for key, codec in CODECS.items() if ending in codec.containers)


@dataclass(frozen=True, slots=True)
class ChosenEncoder:
    """The encoder chosen for a film of `size`; earlier ones that are unusable have `failed`."""

    encoder: Encoder
    size: tuple[int, int]
    failed: tuple[Encoder, ...] = ()

    @property
    def refused(self) -> tuple[str, ...]:
        """Clauses why the earlier encoders are unusable; finding them takes seconds."""
        return tuple(encoder_fault(encoder, self.size) for encoder in self.failed)


def choose_encoder(codec: Codec, where: str, size: tuple[int, int]) -> ChosenEncoder:
    """Find an encoder that works on this machine, by opening it.

    Args:
        where: One of PLACES; "auto" tries hardware first.
        size: (width, height) of the film, in pixels.

    Raises:
        FilmError: If no encoder in that place works; the message gives the reason of each.
    """
    tried = [
        encoder
        for encoder in codec.encoders
        if where == "auto" or (encoder.device == CPU) == (where == "cpu")
    ]
    failed: list[Encoder] = []
    for encoder in tried:
        if _opens(encoder, size):
            return ChosenEncoder(encoder, size, tuple(failed))
        failed.append(encoder)
    refused = [encoder_fault(encoder, size) for encoder in failed]
    why = clauses(refused) or tr("only the CPU can encode it")
    raise FilmError(
        tr("{where} cannot encode {codec}: {reason}", codec=codec.title, where=where, reason=why)
    )


def encoder_fault(encoder: Encoder, size: tuple[int, int]) -> str:
    """Return why an encoder does not work on this machine, as a clause; "" if it works."""
    if _opens(encoder, size):
        return ""
    if encoder.name not in av.codecs_available:
        return tr(
            "{device} ({encoder}): not in this build of FFmpeg",
            device=encoder.device,
            encoder=encoder.name,
        )
    words = _words(encoder, size)
    return f"{encoder.device} ({encoder.name}): {words}"


def _opens(encoder: Encoder, size: tuple[int, int]) -> bool:
    if encoder.ours:
        return True
    try:
        open_encoder(encoder.name, encoder.pixels, size, encoder.all_options(QUALITIES[1]))
    except (av.codec.codec.UnknownCodecError, av.error.FFmpegError):
        return False
    return True


def _words(encoder: Encoder, size: tuple[int, int]) -> str:
    """Return what FFmpeg says about an encoder that does not open, see encoder_words."""
    asked = encoder.name, encoder.pixels, size, encoder.all_options(QUALITIES[1])
    words = [sys.executable, "-m", encoder_words.__name__, json.dumps(asked)]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    return told.stdout.strip()
