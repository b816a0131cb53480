"""`python -m tools.build_wheels`: makes the wheels and the source distribution, into `dist`.

A wheel is made for each platform of wheels/platforms.py that `kernels/images` has images for; where
it has none, one without images; and one of the any-style networks' weights, if they are there.
Images of other sources than today's are refused.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from kernels.driver import images
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.jit.prebuilt import IMAGES, image_name
from tools.prebuild.cpu import TARGETS
from wheels.arrange import WEIGHTS
from wheels.platforms import ANY, PLATFORMS, selected

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (ROOT, ROOT / "wheels" / "kernel_fusion")
WEIGHTS_PROJECT = ROOT / "wheels" / "any_style"
MAX_BYTES = 60_000_000  # of a wheel; PyPI takes 100 MB
# A source distribution is no concern of pip, which builds wheels alone; the backend is asked.
SDIST = "import sys; sys.path.insert(0, 'wheels'); import backend; backend.build_sdist(sys.argv[1])"


class WheelError(RuntimeError):
    """A wheel is not as it should be; the message says which and why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build what the command line asks for; returns 1 where something could not be built."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_wheels", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="default: dist")
    parser.add_argument(
        "--platform",
        action="append",
        choices=[*PLATFORMS, ANY],
        help="only the wheels for this platform; may be given more than once",
    )
    args = parser.parse_args(argv)
    dist: Path = args.dist.absolute()
    dist.mkdir(parents=True, exist_ok=True)
    platforms = args.platform or [key for key in PLATFORMS if selected(key, IMAGES)] or [ANY]
    try:
        for key in platforms:
            check_images(key)
        if platforms == [ANY]:
            print(f"{IMAGES} holds no images: `make prebuild` makes them")  # noqa: T201
        made = [build_wheel(each, key, dist) for key in platforms for each in PROJECTS]
        if any(WEIGHTS.glob("*.safetensors")):
            made.append(build_wheel(WEIGHTS_PROJECT, ANY, dist))
        else:
            print(f"{WEIGHTS} holds no weights for the style of any picture")  # noqa: T201
        made.append(build_sdist(dist))
        check_sizes(made)
    except (WheelError, ValueError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except subprocess.CalledProcessError as error:  # it has said why
        return error.returncode
    for path in made:
        print(f"{path.stat().st_size:>11,} {path.name}")  # noqa: T201
    return 0


def check_images(platform: str, folder: Path = IMAGES) -> None:
    """Make sure that there is an image of every library, made of today's sources.

    Args:
        platform: A key of PLATFORMS, or ANY, which needs none.
        folder: Where the images are.

    Raises:
        WheelError: One is missing or older than its sources.
    """
    if platform == ANY:
        return
    listed = selected(platform, folder)
    for missing in (name for name in _wanted(platform, folder) if name not in listed):
        raise WheelError(
            f"{folder} lacks {missing}, of today's sources, for the wheel {platform}: "
            "run `make prebuild`"
        )


def _wanted(platform: str, folder: Path) -> Iterator[str]:
    """The images that a wheel should hold. One that is out of date is named by its list."""
    for name, library in LIBRARIES.items():
        if library.cpu:
            targets = (key for key in TARGETS if key.startswith(PLATFORMS[platform].images))
            yield from (image_name(library, target) for target in targets)
        elif PLATFORMS[platform].has_cuda:
            try:
                found = images.ImageList.read(folder, name)
            except BuildError as error:
                raise WheelError(f"{error}: run `make prebuild`") from error
            if found.digest != library.digest:
                raise WheelError(f"{folder / name}.json is of other sources: run `make prebuild`")
            yield from (f"{name}.json", *(image.file for image in found.images))


def build_wheel(project: Path, platform: str, dist: Path) -> Path:
    """Build the wheel of a project for a platform, without a network; its path in `dist`.

    Raises:
        subprocess.CalledProcessError: pip has said why it could not.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    flags = ["--no-deps", "--no-index", "--no-build-isolation"]
    setting = f"--config-settings=platform={platform}"
    return _into(dist, [*pip, *flags, setting, str(project), "--wheel-dir"])


def build_sdist(dist: Path) -> Path:
    """Build the source distribution of the program, which holds no images; its path in `dist`.

    Raises:
        subprocess.CalledProcessError: The backend has said why it could not.
    """
    return _into(dist, [sys.executable, "-c", SDIST])


def _into(dist: Path, command: Sequence[str]) -> Path:
    """Run a command that writes one file into the folder that is its last argument."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=dist) as folder:
        subprocess.run([*command, folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        (made,) = Path(folder).iterdir()
        return made.replace(dist / made.name)


def check_sizes(made: Sequence[Path]) -> None:
    """Make sure that no wheel is larger than MAX_BYTES.

    Raises:
        WheelError: One is; the message names the folders that take the most room in it.
    """
    for path in made:
        size = path.stat().st_size
        if path.suffix == ".whl" and size > MAX_BYTES:
            raise WheelError(
                f"{path.name} has {size:,} bytes, more than {MAX_BYTES:,}; "
                f"its largest folders are {largest_folders(path)}"
            )


def largest_folders(wheel: Path) -> str:
    """Name the three folders of a wheel whose files take the most room in it, with their sizes."""
    sizes: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as packed:
        for item in packed.infolist():
            folder = PurePosixPath(item.filename).parent.parts[:3]
            sizes["/".join(folder)] += item.compress_size
    return ", ".join(f"{name} ({size / 1e6:.1f} MB)" for name, size in sizes.most_common(3))


if __name__ == "__main__":
    sys.exit(main())
