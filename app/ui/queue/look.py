"""Creates jobs: the arguments of `stylize` for a file and its chosen look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.batch.queue.description import Kind, described, inputs_of, kind_of
from app.batch.queue.job import QueuedJob
from app.engine.config import EngineConfig
from app.engine.matting.files import is_of_source
from app.export.film.codecs import CONTAINERS
from app.parameters import MATTED, PARAMETERS, SwitchParameter
from utils.images.moving import FILM_ENDINGS, likely_kind, moves_in_folder
from utils.images.opening import picture_endings
from utils.images.writing import SAVED
from utils.stroke_directions import HAND

_DEFAULT = EngineConfig()


@dataclass(frozen=True, slots=True)
class Order:
    """The options for added files.

    Attributes:
        looks: Configs with one style or mix each; every file is painted in each.
        skip: Whether to skip files that have results; otherwise results are replaced.
    """

    looks: tuple[EngineConfig, ...]
    folder: Path
    skip: bool

    def jobs(
        self, paths: Iterable[Path], known: Sequence[QueuedJob]
    ) -> tuple[list[list[str]], list[Path]]:
        """Return the arguments of the jobs; reads files, so call it on a background thread.

        Args:
            known: The jobs of the queue, whose results must not be overwritten.

        Returns:
            The arguments of each job, and the paths that are neither picture, film nor folder.
        """
        taken = {described(job.arguments).output: inputs_of(job.arguments) for job in known}
        made: list[list[str]] = []
        left_out: list[Path] = []
        for path in dict.fromkeys(path.absolute() for path in paths):
            if not _usable(path):
                left_out.append(path)
                continue
            for look in self.looks:
                target = self._target(path, look, taken)
                taken[str(target)] = (str(path),)
                existing = "--skip-existing" if self.skip else "--overwrite"
                flags = [f"--output={target}", existing, *look_words(look, kind_of([str(path)]))]
                if path.is_dir() and path in self.folder.absolute().parents:
                    flags.append(f"--leave-out={self.folder.absolute()}")
                made.append([*flags, "--", str(path)])
        return made, left_out

    def _target(self, path: Path, look: EngineConfig, taken: dict[str, tuple[str, ...]]) -> Path:
        """Return a path that no other source in the queue uses.

        Two folders may contain the same file name.
        """
        folder = path.is_dir()
        stem = path.name if folder else path.stem
        ending = "" if folder else _ending(path)
        style = "+".join(look.styles)
        number = 1
        while True:
            more = "" if number == 1 else f"-{number}"
            target = self.folder / f"{stem}-{style}{more}{ending}"
            if taken.get(str(target), (str(path),)) == (str(path),):
                return target
            number += 1


def look_words(config: EngineConfig, kind: Kind) -> list[str]:
    """Convert a look, with one style or mix, to flags of `stylize`.

    Only films reduce flicker. A learned scene is of one camera, and a mask of one picture, so that
    the job paints everything.
    """
    (style, _), *others = config.parts
    matted = config.paint != _DEFAULT.paint and bool(config.matte)
    matted = matted and not is_of_source(Path(config.matte))
    words = [f"--style={style}", *(f"--mix={key}:{share:.4f}" for key, share in others)]
    for name, row in PARAMETERS.items():
        value = getattr(config, name)
        if not row.help or row.of_streams or value == getattr(_DEFAULT, name):
            continue
        if name == "smoothing" and kind is not Kind.FILM:
            continue
        if name in MATTED and not matted:
            continue
        if name == "strokes_handles" and config.strokes_direction != HAND:
            continue
        flag = name.replace("_", "-")
        if isinstance(row, SwitchParameter):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, float):
            words.append(f"--{flag}={value:.6g}")
        else:
            words.append(f"--{flag}={row.stored(value)}")
    if matted:
        words.append(f"--matte={config.matte}")
    if config.size is not None:
        words.append(f"--size={config.size}")
    for name, chosen, usual in (
        ("kernels", config.kernels, _DEFAULT.kernels),
        ("precision", config.precision.name, _DEFAULT.precision.name),
        ("device", config.device, _DEFAULT.device),
    ):
        if chosen != usual:
            words.append(f"--{name}={chosen}")
    return words


def _usable(path: Path) -> bool:
    """Return whether a path is a folder or looks usable; the job reports why it cannot read it."""
    named = path.suffix.lower() in FILM_ENDINGS
    return path.is_dir() or (path.exists() and (named or likely_kind(path) != ""))


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending in FILM_ENDINGS or moves_in_folder(path):
        usual = ".webp" if ending in picture_endings() else ".mp4"
        return path.suffix if ending in CONTAINERS else usual
    return path.suffix if ending in SAVED else ".png"
