"""The command `python -m kernel_fusion convert`, which converts models by name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from kernel_fusion.auto_convert.converter import ModelConverter
from kernel_fusion.auto_convert.hub import MODELS, HubError, load

WORKED, FAILED = 0, 1


def add_parser(commands: Any) -> None:
    text = "convert models by name and report the speedup"
    parser = commands.add_parser("convert", help=text, description=text)
    add_arguments(parser)
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME", help="models to convert")
    parser.add_argument(
        "--save-path", type=Path, metavar="DIR",
        help="write NAME.pt, the state dict, and NAME.json, the replaced patterns, to this folder",
    )  # fmt: skip
    parser.add_argument(
        "--device", default="cpu", help="device for conversion and timing, such as cuda"
    )
    parser.add_argument("--list-models", action="store_true", help="list the known names")
    parser.add_argument(
        "--random-weights", action="store_true", help="do not download trained weights"
    )
    parser.add_argument(
        "--threshold", type=float, default=1e-5,
        help="the largest allowed difference of the results, relative to the largest value",
    )  # fmt: skip


def run(arguments: argparse.Namespace, say: Callable[[str], object] | None = None) -> int:
    """Convert the models that the flags name; return 0, or 1 if a model is not available."""
    say = say or (lambda line: sys.stdout.write(line + "\n"))
    if arguments.list_models or not arguments.models:
        for name, entry in MODELS.items():
            say(f"{name} ({entry.library})")
        return WORKED
    outcome = WORKED
    for name in arguments.models:
        converter = ModelConverter(accuracy_threshold=arguments.threshold)
        try:
            model, given = load(name, arguments.random_weights)
        except HubError as error:
            sys.stderr.write(f"{error}\n")
            outcome = FAILED
            continue
        converted = converter.convert_model(model, given, arguments.device)
        stats = converter.conversion_stats
        say(f"{name}\n{stats}")
        if arguments.save_path is not None:
            arguments.save_path.mkdir(parents=True, exist_ok=True)
            torch.save(converted.state_dict(), arguments.save_path / f"{name}.pt")
            figures = dict(stats) | {"skipped": [asdict(each) for each in stats.skipped]}
            report = arguments.save_path / f"{name}.json"
            report.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return outcome
