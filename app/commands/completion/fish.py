"""The completion script for fish."""

from __future__ import annotations

from app.commands.parser_tree import Command, help_of, is_file, takes_value, words_of

_TEMPLATE = """\
# fish completion of {name}; made by `{name} completion fish`
function __{name}_at
    set -l at
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" {paths}
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
{lines}
"""


def fish_script(program: Command, known: dict[str, list[str]]) -> str:
    """Build the script; `known` has values of flags by metavar."""
    name, lines = program.parser.prog, []
    for command in program.walk():
        at = command.at
        start = f"complete -c {name} -n {_quoted(f'__{name}_at {_quoted(at)}')}"
        for below in command.below:
            lines.append(f"{start} -f -a {below.path[-1]} -d {_quoted(below.summary)}")
        for action in command.arguments:
            offered = " ".join(words_of(action, known))
            if not action.option_strings:
                lines += [f"{start} -f -a {_quoted(offered)}"] if offered else []
                continue
            line = start
            for flag in action.option_strings:
                line += f" {'-l' if flag.startswith('--') else '-s'} {flag.lstrip('-')}"
            if offered:
                line += f" -x -a {_quoted(offered)}"
            elif takes_value(action):
                line += " -r -F" if is_file(action) else " -x"
            lines.append(f"{line} -d {_quoted(help_of(command, action))}")
    paths = " ".join(_quoted(command.at) for command in program.walk() if command.path)
    return _TEMPLATE.format(name=name, paths=paths, lines="\n".join(lines))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
