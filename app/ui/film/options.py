"""The options of an exported film, and their support on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.export.film.codecs import CODECS, CPU, PLACES, QUALITIES, encoder_fault
from app.export.film.selection import LINES, smaller_size
from app.settings import Settings
from app.ui.widgets.option_box import Choice
from utils.translation.joints import clauses, enumerated
from utils.translation.texts import mark, tr

_SIZE = (1280, 720)  # frame size for trying encoders
_FOR = {
    "h264": mark("Plays everywhere"),
    "hevc": mark("Smaller files, for newer devices"),
    "av1": mark("The smallest files, for the newest devices"),
    "prores": mark("For editing; large files"),
    "ffv1": mark("For archives: lossless, in very large files"),
    "gif": mark("Plays everywhere, in few colors and without sound"),
    "webp": mark("Plays in every browser, in all colors, without sound"),
}
_QUALITIES = {
    "small": (mark("Small"), mark("A small file")),
    "good": (mark("Good"), mark("Hardly any visible difference")),
    "best": (mark("Best"), mark("No visible difference, in a large file")),
}
_LOOKED_FOR = mark("StyleForge is looking for it")
FINE, FAST = "full", "lite"
_SETTINGS = {
    "codec": "film_codec",
    "where": "film_encoder",
    "quality": "film_quality",
    "network": "film_network",
    "lines": "film_lines",
    "sound": "film_sound",
}


@dataclass(frozen=True, slots=True)
class FilmOptions:
    """The options of a film export: keys of CODECS, PLACES and QUALITIES, and what is made.

    Attributes:
        network: FINE or FAST, the version of the style.
        lines: Pixels of the shorter side if the film has more; 0 for the film's own size.
        sound: Whether the film keeps its sound.
    """

    codec: str = next(iter(CODECS))
    where: str = PLACES[0]
    quality: str = QUALITIES[1]
    network: str = FINE
    lines: int = 0
    sound: bool = True

    @classmethod
    def stored(cls, settings: Settings) -> FilmOptions:
        stored = {name: getattr(settings, key) for name, key in _SETTINGS.items()}
        return cls(**stored)

    @property
    def settings(self) -> dict[str, object]:
        return {key: getattr(self, name) for name, key in _SETTINGS.items()}

    @property
    def endings(self) -> tuple[str, ...]:
        """File extensions for the codec, the usual one first."""
        return CODECS[self.codec].containers

    @property
    def animated(self) -> bool:
        """Whether the codec makes an animation, which has neither sound nor subtitles."""
        return bool(CODECS[self.codec].animation)

    @property
    def lossless(self) -> bool:
        """Whether the codec is lossless at every quality."""
        encoder = CODECS[self.codec].encoders[-1]
        return not encoder.ours and not any(encoder.qualities.values())


DEFAULTS = FilmOptions()


@dataclass(frozen=True, slots=True)
class Hardware:
    """Graphics hardware for a codec.

    Attributes:
        device: The device that encodes; "" if the hardware cannot be used.
        reason: Why the hardware cannot be used, as a sentence.
        details: The answers of its drivers, one clause each; "" if no driver was asked.
    """

    device: str = ""
    reason: str = ""
    details: str = ""


def find_hardware() -> dict[str, Hardware]:
    """Try the hardware encoders of every codec, which is slow while drivers load."""
    return {key: _hardware(key) for key in CODECS}


def _hardware(key: str) -> Hardware:
    codec, faults = CODECS[key], list[str]()
    for encoder in codec.encoders:
        if encoder.device == CPU:
            continue
        fault = encoder_fault(encoder, _SIZE)
        if not fault:
            return Hardware(encoder.device)
        faults.append(fault)
    if not faults:
        return Hardware(reason=tr("Only the processor can encode {title}", title=codec.title))
    reason = tr("No graphics hardware of this machine can encode {title}", title=codec.title)
    return Hardware(reason=reason, details=clauses(faults))


def codec_choices() -> list[Choice]:
    return [
        Choice(key, f"{codec.title} ({enumerated(codec.containers)})", tr(_FOR[key]))
        for key, codec in CODECS.items()
    ]


def encoder_choices(codec: str, hardware: Mapping[str, Hardware] | None) -> list[Choice]:
    """Return a choice for each place of encoding; `hardware` is None while it is being found."""
    found = Hardware(reason=tr(_LOOKED_FOR)) if hardware is None else hardware[codec]
    automatic = (
        tr("On {device}, which is faster", device=found.device)
        if found.device
        else tr("On the processor")
    )
    remarks = {
        "auto": Choice(
            "auto", tr("Automatic"), automatic if hardware is not None else tr(_LOOKED_FOR)
        ),
        "hardware": Choice("hardware", tr("Graphics hardware"), found.device, found.reason),
        "cpu": Choice("cpu", tr("Processor"), tr("The best picture for the size of the file")),
    }
    return [remarks[where] for where in PLACES]


def size_choices(width: int, height: int) -> list[Choice]:
    """Return the sizes of a film that is `width` x `height` pixels, none of them larger."""
    own = tr("As the film ({size})", size=_pixels(width, height))
    smaller = [lines for lines in LINES if lines < min(width, height)]
    sizes = {lines: smaller_size(width, height, lines) for lines in smaller}
    return [
        Choice(0, own),
        *(Choice(lines, _pixels(*size)) for lines, size in sizes.items()),
    ]


def _pixels(width: int, height: int) -> str:
    return f"{width}x{height}"


def quality_choices() -> list[Choice]:
    return [Choice(quality, *map(tr, _QUALITIES[quality])) for quality in QUALITIES]
