"""`styleforge camera`: shows a styled stream to other programs, without a window."""

from __future__ import annotations

import argparse
import queue
from contextlib import closing

from app.commands.camera.reporters import make_reporter
from app.commands.camera.stream import CameraStream
from app.commands.common_flags import matte_values
from app.engine.config import EngineConfig
from app.engine.engine import Engine, check_precision
from app.engine.painting_devices import painting_device
from app.errors import StyleForgeError
from app.options import mixed_parts
from app.parameters import given_values
from app.processes.stop_signal import stop_requested
from app.sources import describe, list_cameras, open_source
from app.sources.camera import find_camera, is_camera, parse_spec
from app.styles.catalog import Catalog
from app.virtual_camera.choice import CameraChoice
from app.virtual_camera.sender import CameraStatus, VirtualCamera
from models.precision import Precision
from utils.text import printable


def run(args: argparse.Namespace) -> int:
    """Stream until Ctrl+C.

    Raises:
        StyleForgeError: If the style, the source or the virtual camera is unusable.
        KeyboardInterrupt: If the stream was stopped.
    """
    reporter = make_reporter(args.progress, quiet=args.quiet)
    config = _config(args)
    engine = Engine(Catalog.default(), on_notice=reporter.note)
    engine.configure(config)  # reports an invalid style or device first
    check_precision(config, (engine.family,), painting_device(config.device))
    statuses: queue.SimpleQueue[CameraStatus] = queue.SimpleQueue()
    with closing(VirtualCamera(_choice(args), statuses.put)) as camera:
        if engine.kernel_families:
            with reporter.waiting("Preparing the native kernels ..."):
                engine.prepare_kernels()
        _check_source(args.source, camera.status.device)
        stream = CameraStream(engine, camera, statuses, reporter, args.seconds)
        with reporter.waiting(f"Opening {describe(args.source)} ..."):
            source = open_source(args.source)
        with stop_requested() as asked, reporter:
            stream.run(source, config, asked.is_set)
    raise KeyboardInterrupt(f"Stopped after {camera.sent} pictures.")


def _check_source(spec: str, device: str) -> None:
    """Refuse the virtual camera as its own source, which would show itself."""
    if not is_camera(spec):
        return
    source = find_camera(parse_spec(spec)[0], list_cameras())
    if device in (source.name, f"/dev/video{source.index}"):
        raise StyleForgeError(
            f"the camera '{printable(source.name)}' is the virtual camera itself; name another "
            "one with --source"
        )


def _config(args: argparse.Namespace) -> EngineConfig:
    try:
        parts = mixed_parts(args.style, args.mix)
    except ValueError as exc:
        raise StyleForgeError(str(exc)) from exc
    return EngineConfig(
        **given_values(args) | matte_values(args),
        kernels=args.kernels,
        precision=Precision[args.precision],
        device=args.device,
        size=args.network_size,
    ).mixed(parts)


def _choice(args: argparse.Namespace) -> CameraChoice:
    width, height = args.size
    return CameraChoice(width, height, args.rate, args.format, args.fit, args.camera, args.always)
