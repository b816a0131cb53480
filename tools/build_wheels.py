"""`python -m tools.build_wheels`: makes the wheels and the source distribution, into `dist`.

A wheel is made for each platform of wheels/platforms.py that has images in `kernels/images`; if
none has, one without images is made. Another one has the any-style networks' weights, if they
exist. Images of other sources than today's are refused.
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
from tools.prebuild.cpu import targets_of
from wheels.arrange import WEIGHTS
from wheels.platforms import ANY, PLATFORMS, selected

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (ROOT, ROOT / "wheels" / "kernel_fusion")
WEIGHTS_PROJECT = ROOT / "wheels" / "any_style"
MAX_BYTES = 60_000_000  # of a wheel; PyPI accepts 100 MB
# pip builds wheels only, so the backend builds the source distribution.
SDIST = "import sys; sys.path.insert(0, 'wheels'); import backend; backend.build_sdist(sys.argv[1])"


class WheelError(RuntimeError):
    """Raised if a wheel is not as it should be; the message names it and the reason."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build the distributions named on the command line; return 1 if one could not be built."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_wheels", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="default: dist")
    parser.add_argument(
        "--platform",
        action="append",
        choices=[*PLATFORMS, ANY],
        help="build only the wheels for this platform; can be given several times",
    )
    args = parser.parse_args(argv)
    dist: Path = args.dist.absolute()
    dist.mkdir(parents=True, exist_ok=True)
    platforms = args.platform or [key for key in PLATFORMS if selected(key, IMAGES)] or [ANY]
    try:
        for key in platforms:
            check_images(key)
        if platforms == [ANY]:
            print(f"{IMAGES} contains no images: run `make prebuild`")  # noqa: T201
        made = [build_wheel(each, key, dist) for key in platforms for each in PROJECTS]
        if any(WEIGHTS.glob("*.safetensors")):
            made.append(build_wheel(WEIGHTS_PROJECT, ANY, dist))
        else:
            print(f"{WEIGHTS} contains no weights of the any-style network")  # noqa: T201
        made.append(build_sdist(dist))
        check_sizes(made)
    except (WheelError, ValueError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except subprocess.CalledProcessError as error:  # it has printed the reason
        return error.returncode
    for path in made:
        print(f"{path.stat().st_size:>11,} {path.name}")  # noqa: T201
    return 0


def check_images(platform: str, folder: Path = IMAGES) -> None:
    """Check that every library has an image made from today's sources.

    Args:
        platform: A key of PLATFORMS, or ANY, which needs none.

    Raises:
        WheelError: If one is missing or older than its sources.
    """
    if platform == ANY:
        return
    listed = selected(platform, folder)
    for missing in (name for name in _wanted(platform, folder) if name not in listed):
        raise WheelError(
            f"{folder} lacks {missing}, built from the current sources, for the wheel {platform}: "
            "run `make prebuild`"
        )


def _wanted(platform: str, folder: Path) -> Iterator[str]:
    """Yield the images for a wheel. An outdated one is represented by its list."""
    for name, library in LIBRARIES.items():
        if library.cpu:
            targets = targets_of(library)
            ours = (key for key in targets if key.startswith(PLATFORMS[platform].images))
            yield from (image_name(library, target) for target in ours)
        elif PLATFORMS[platform].has_cuda:
            try:
                found = images.ImageList.read(folder, name)
            except BuildError as error:
                raise WheelError(f"{error}: run `make prebuild`") from error
            if found.digest != library.digest:
                raise WheelError(
                    f"{folder / name}.json was built from other sources: run `make prebuild`"
                )
            yield from (f"{name}.json", *(image.file for image in found.images))


def build_wheel(project: Path, platform: str, dist: Path) -> Path:
    """Build the wheel of a project for a platform, without a network; return its path in `dist`.

    Raises:
        subprocess.CalledProcessError: If pip failed; it has printed the reason.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    flags = ["--no-deps", "--no-index", "--no-build-isolation"]
    setting = f"--config-settings=platform={platform}"
    return _into(dist, [*pip, *flags, setting, str(project), "--wheel-dir"])


def build_sdist(dist: Path) -> Path:
    """Build the source distribution of the program, without images; return its path in `dist`.

    Raises:
        subprocess.CalledProcessError: If the backend failed; it has printed the reason.
    """
    return _into(dist, [sys.executable, "-c", SDIST])


def _into(dist: Path, command: Sequence[str]) -> Path:
    """Run a command that writes one file into the folder given by its last argument."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=dist) as folder:
        subprocess.run([*command, folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        (made,) = Path(folder).iterdir()
        return made.replace(dist / made.name)


def check_sizes(made: Sequence[Path]) -> None:
    """Check that no wheel is larger than MAX_BYTES.

    Raises:
        WheelError: If one is; the message names its largest folders.
    """
    for path in made:
        size = path.stat().st_size
        if path.suffix == ".whl" and size > MAX_BYTES:
            raise WheelError(
                f"{path.name} has {size:,} bytes, more than {MAX_BYTES:,}; "
                f"its largest folders are {largest_folders(path)}"
            )


def largest_folders(wheel: Path) -> str:
    """Return the three largest folders of a wheel, by compressed size, with their sizes."""
    sizes: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as packed:
        for item in packed.infolist():
            folder = PurePosixPath(item.filename).parent.parts[:3]
            sizes["/".join(folder)] += item.compress_size
    return ", ".join(f"{name} ({size / 1e6:.1f} MB)" for name, size in sizes.most_common(3))


if __name__ == "__main__":
    sys.exit(main())
