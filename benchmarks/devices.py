"""Measures how much faster several devices of a machine stylize a folder and a film than one.

`python -m benchmarks.devices --devices cuda:0,cuda:1 --json FILE` runs the command itself, as a
user would, with one device and with all of them. The settings measure the program at full speed,
where files and codecs also limit it, and a network that keeps a fast GPU busy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import app
from app.provenance import report_header
from app.styles.catalog import Catalog
from benchmarks.storing import store
from benchmarks.tables.pages import markdown
from utils.devices import resolve
from utils.images.writing import write_pixels
from utils.opencv import cv2
from utils.pyav import av

ROOT = Path(__file__).resolve().parent.parent
WARM = 1 / 8  # share of the pictures before the measured rate: networks are prepared meanwhile
DIFFERENT = 16  # pictures, which then repeat
KEY = 48  # frames between two key frames


class Setting(NamedTuple):
    """The settings for painting pictures and frames.

    Attributes:
        size: Size of the pictures and of the film's frames in pixels.
        precision: As for stylize --precision.
        kernels: As for stylize --kernels.
    """

    size: tuple[int, int]
    precision: str
    kernels: str

    @classmethod
    def of(cls, text: str) -> Setting:
        """Parse a setting such as 1280x720:fp16:fused."""
        try:
            size, precision, kernels = text.split(":")
            width, height = map(int, size.split("x"))
        except ValueError as exc:
            raise argparse.ArgumentTypeError(
                f"expected a setting such as 1280x720:fp16:fused, not {text}"
            ) from exc
        return cls((width, height), precision, kernels)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the results, and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", default="cuda:0,cuda:1", help="as of stylize --device")
    parser.add_argument("--pictures", type=int, default=400)
    parser.add_argument("--frames", type=int, default=1920)
    parser.add_argument(
        "--settings",
        type=Setting.of,
        nargs="+",
        default=[Setting.of("1280x720:fp16:fused"), Setting.of("1920x1080:fp32:baseline")],
        metavar="WxH:PRECISION:KERNELS",
    )
    parser.add_argument("--style", default="candy")
    parser.add_argument("--codec", default="h264")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args(arguments)
    devices = [args.devices.split(",")[0], args.devices]
    style = Catalog.default().get(args.style)
    report = {
        **report_header(resolve(devices[0]), [style]),
        "style": args.style,
        "codec": args.codec,
        "devices": [],
    }
    for setting in args.settings:
        with tempfile.TemporaryDirectory(prefix="styleforge-devices-") as folder:
            report["devices"] += _rows(args, Path(folder), setting, devices)
        # after each one, so that an interrupted run preserves its results
        if args.json is not None:
            store(args.json, report)
    sys.stdout.write(markdown(report))
    return 0


def _rows(
    args: argparse.Namespace, folder: Path, setting: Setting, devices: Sequence[str]
) -> list[dict[str, Any]]:
    width, height = setting.size
    scene = _scene(width, height)
    album, film = folder / "album", folder / "film.mp4"
    album.mkdir()
    _write_pictures(album, scene, args.pictures, width, height)
    _write_film(film, scene, args.frames, width, height)
    rows: list[dict[str, Any]] = []
    for of, count, measure, source in (
        ("pictures", args.pictures, _pictures, album),
        ("film", args.frames, _film, film),
    ):
        best: list[dict[str, Any]] = []
        for device in devices:
            runs = [measure(args, setting, device, source, folder) for _ in range(args.rounds)]
            best.append({"device": device, **max(runs, key=lambda run: run["per_second"])})
            sys.stderr.write(f"{json.dumps(best[-1])}\n")
        one, several = best
        gain = several["per_second"] / one["per_second"]
        rows.append({"of": of, "count": count, **setting._asdict(), "runs": best, "gain": gain})
    return rows


def _pictures(
    args: argparse.Namespace, setting: Setting, device: str, album: Path, folder: Path
) -> dict[str, Any]:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    said, seconds = _stylize(args, setting, device, album, out, "--progress", "json")
    events = [json.loads(line) for line in said.splitlines()]
    times = [event["seconds"] for event in events if event["event"] == "picture"]
    if len(times) != args.pictures or events[-1]["failed"]:
        raise RuntimeError(f"{len(times)} of {args.pictures} pictures were written: {events[-1]}")
    first = round(len(times) * WARM)
    rate = (len(times) - 1 - first) / (times[-1] - times[first])
    return {"seconds": round(seconds, 2), "per_second": round(rate, 2)}


def _film(
    args: argparse.Namespace, setting: Setting, device: str, film: Path, folder: Path
) -> dict[str, Any]:
    out, told = folder / f"out{'.mkv' if args.codec == 'ffv1' else '.mp4'}", folder / "told.json"
    how = ("--codec", args.codec, "--texture", "0", "--overwrite", "--report", told)
    _, seconds = _stylize(args, setting, device, film, out, *how)
    (report,) = json.loads(told.read_bytes())
    if report["frames"] != args.frames:
        raise RuntimeError(f"{report['frames']} of {args.frames} frames were written")
    return {
        "seconds": round(seconds, 2),
        "per_second": report["fps"],
        "busy": report["busy"],
        "limit": report["limit"],
    }


def _stylize(
    args: argparse.Namespace, setting: Setting, device: str, source: Path, out: Path, *more: object
) -> tuple[str, float]:
    """Run the command; return its output, and the seconds from its start to its end."""
    how = "--precision", setting.precision, "--kernels", setting.kernels, "--device", device
    look = ("--style", args.style, *how)
    command = [sys.executable, "-m", app.__name__, "stylize", source, "-o", out, *look, *more]
    begun = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout, time.perf_counter() - begun


def _scene(width: int, height: int) -> NDArray[np.uint8]:
    """Draw a scene larger than a frame, with large shapes, edges and grain: [H, W, 3] uint8."""
    rng = np.random.default_rng(0)
    size = width + 8 * DIFFERENT, height + 4 * DIFFERENT
    total = np.zeros((size[1], size[0], 3), np.float32)
    for cells, amount in ((8, 90.0), (40, 45.0), (200, 20.0)):
        coarse = rng.normal(0, amount, (cells, cells, 3)).astype(np.float32)
        total += np.asarray(cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC), np.float32)
    total += rng.normal(0, 4, total.shape).astype(np.float32)
    return np.clip(total + 128, 0, 255).astype(np.uint8)


def _cut(scene: NDArray[np.uint8], number: int, width: int, height: int) -> NDArray[np.uint8]:
    """Return the view of the scene from a camera that moves to and fro."""
    place = number % (2 * DIFFERENT)
    place = min(place, 2 * DIFFERENT - 1 - place)
    left, top = 8 * place, 4 * place
    return np.ascontiguousarray(scene[top : top + height, left : left + width])


def _write_pictures(
    album: Path, scene: NDArray[np.uint8], count: int, width: int, height: int
) -> None:
    made = [album / f"{number:05}.jpg" for number in range(min(count, DIFFERENT))]
    for number, path in enumerate(made):
        write_pixels(path, _cut(scene, number, width, height))
    for number in range(len(made), count):
        os.link(made[number % DIFFERENT], album / f"{number:05}.jpg")


def _write_film(path: Path, scene: NDArray[np.uint8], count: int, width: int, height: int) -> None:
    with av.open(str(path), "w") as film:
        stream: Any = film.add_stream("libx264", Fraction(30))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.options = {"preset": "ultrafast", "crf": "20", "g": str(KEY)}
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(_cut(scene, number, width, height), format="rgb24")
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))


if __name__ == "__main__":
    sys.exit(main())
