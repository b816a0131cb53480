"""`python -m tools.setup`: builds the setup program for Windows, from the wheels in `dist`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.setup.build import (
    CHECKOUT,
    Project,
    SetupError,
    build,
    fetch_uv,
    find_makensis,
    find_weights,
    find_wheel,
)


def main() -> int:
    """Build the setup program; return 1, with a sentence on stderr, if it cannot be built."""
    parser = argparse.ArgumentParser(prog="python -m tools.setup", description=__doc__)
    parser.add_argument("--wheels", type=Path, default=Path("dist"), help="default: dist")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="default: dist")
    arguments = parser.parse_args()
    project = Project.read()
    work = CHECKOUT / "build" / "setup"
    try:
        makensis = find_makensis()
        wheel = find_wheel(arguments.wheels, project.version)
        weights = find_weights(arguments.wheels, project.version)
        uv = fetch_uv(work / "uv")
        program = build(makensis, project, wheel, weights, uv, arguments.out, work)
    except SetupError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    print(f"{program.stat().st_size:>9,} {program}, not signed, installs {wheel.name}")  # noqa: T201
    if weights is None:
        print("without the any-style network: there is no such wheel")  # noqa: T201
    if not wheel.name.endswith("-win_amd64.whl"):
        print(f"'{wheel}' is a wheel for every system; there is none for Windows", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
