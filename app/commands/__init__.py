"""The commands of `styleforge`; each has `add_parser(subparsers)` and `run(args)`."""
