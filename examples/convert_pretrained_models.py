"""Convert models by name: python -m examples.convert_pretrained_models --models resnet50
bert-base-uncased --save-path converted --device cuda; --list-models lists the names."""

from __future__ import annotations

import argparse
import sys

from kernel_fusion.auto_convert.command import add_arguments, run


def main() -> int:
    """Convert the models named by the flags, and print the replacements and gains."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
