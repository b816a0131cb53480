"""`python -m tools.try_wheel`: installs the wheel in `dist` for this machine and paints with it.

The wheel goes into a fresh environment with its dependencies. Then the program runs with an empty
`PATH` and a separate home: no compiler, no tool and no setting of this machine can help it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from wheels.platforms import tag, this_platform

ROOT = Path(__file__).resolve().parents[1]
PICTURE = """
from PIL import Image
Image.radial_gradient("L").convert("RGB").resize((320, 240)).save("picture.png")
"""
# The libraries that the program loads on a CPU. Without a compiler, they can only be images.
NATIVE = """
import kernel_fusion as kf
kf.prepare()
wanted = {"fused_instance_norm", "network_cpu", "texture", "smoothing"}
rows = [each for each in kf.statuses("cpu", "style") if each.name in wanted]
assert len(rows) == len(wanted), rows
for row in rows:
    assert row.ready, f"{row.name} is not native: {row.reason}"
"""
PAINTED = """
from PIL import Image, ImageChops
before, after = (Image.open(name).convert("RGB") for name in ("picture.png", "styled.png"))
assert after.size == before.size
assert ImageChops.difference(before, after).getbbox()
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Try the wheel; return 1 if it is missing or a step failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.try_wheel", description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="default: dist")
    wheels = sorted(parser.parse_args(argv).dist.glob(f"styleforge-*-{tag(this_platform())}.whl"))
    if not wheels:
        print("there is no wheel for this machine: run `make wheel`", file=sys.stderr)  # noqa: T201
        return 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            try_wheel(wheels[-1].resolve(), Path(folder))
        except subprocess.CalledProcessError as error:  # the program has printed the reason
            print(f"failed: {' '.join(map(str, error.cmd))[:200]}", file=sys.stderr)  # noqa: T201
            return 1
    print(f"{wheels[-1].name} paints in a fresh environment")  # noqa: T201
    return 0


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install a wheel into an environment in an empty folder and run the program there.

    Raises:
        subprocess.CalledProcessError: If a step failed; it has printed the reason.
    """
    environment, home, nothing = folder / "environment", folder / "home", folder / "nothing"
    home.mkdir()
    nothing.mkdir()
    venv.create(environment, with_pip=True)
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")
    python, program = binaries / "python", binaries / "styleforge"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", ROOT / "constraints.txt", wheel], check=True)
    alone = {"PATH": str(nothing), "HOME": str(home), "LANG": "C.UTF-8"}
    if os.name == "nt":
        alone |= {"SYSTEMROOT": os.environ["SYSTEMROOT"], "LOCALAPPDATA": str(home)}
    for step in (
        [program, "--version"],
        [python, "-c", PICTURE],
        [python, "-c", NATIVE],
        [program, "stylize", "picture.png", "-o", "styled.png", "--style", "candy"],
        [python, "-c", PAINTED],
    ):
        subprocess.run(step, check=True, cwd=home, env=alone)


if __name__ == "__main__":
    sys.exit(main())
