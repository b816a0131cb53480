"""The commands of `styleforge`, one module each: `add_parser(subparsers)` and `run(args)`."""
