"""The request of a command line, as plain values for `app.batch.run`."""

from __future__ import annotations

import argparse

from app.batch.request import FilmOptions, Request
from app.batch.style_choice import StyleChoice
from app.commands.common_flags import matte_values
from app.commands.stylize.flags import FULL
from app.engine.config import EngineConfig
from app.parameters import given_values
from models.precision import Precision


def request_of(args: argparse.Namespace) -> Request:
    """Return the request of arguments that `stylize.flags` or `queue.arguments` parsed."""
    full = args.size == FULL
    config = EngineConfig(
        **given_values(args) | matte_values(args),
        kernels=args.kernels,
        precision=Precision[args.precision],
        size=None if full else args.size,
    )
    return Request(
        tuple(args.inputs),
        args.output,
        style_choice_of(args),
        config,
        devices=args.device,
        full=full,
        batch=args.batch,
        depth=args.depth,
        before_after=args.before_after,
        long_side=args.long_side,
        left_out=tuple(args.leave_out),
        name=args.name,
        films=FilmOptions(args.codec, args.quality, args.encoder, args.report),
        shard=args.shard,
        cluster=args.cluster,
        manifest=args.manifest,
        overwrite=args.overwrite,
        skip_existing=args.skip_existing,
        dry_run=args.dry_run,
    )


def style_choice_of(args: argparse.Namespace) -> StyleChoice:
    images, mix = tuple(args.style_image), tuple(args.mix)
    return StyleChoice(args.style, images, args.style_network, mix)
