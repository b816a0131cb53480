"""The completion script for bash 3.2 and later."""

from __future__ import annotations

from shlex import quote

from app.commands.parser_tree import Command, takes_value, words_of

# If the function offers nothing, bash completes files (`-o default`).
_TEMPLATE = """\
# bash completion of {name}; made by `{name} completion bash`
_{name}() {{
    local at="" word cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$at $word" in
            {paths}) at="$at $word" ;;
        esac
    done
    COMPREPLY=()
    case "$at:$prev" in
{values}
    esac
    case "$at" in
{words}
    esac
}}
complete -o default -F _{name} {name}
"""


def bash_script(program: Command, known: dict[str, list[str]]) -> str:
    """Build the script; `known` has values of flags by metavar."""
    values, words = [], []
    for command in program.walk():
        at = command.at
        flags = [flag for action in command.arguments for flag in action.option_strings]
        for action in command.arguments:
            if action.option_strings and takes_value(action):
                patterns = "|".join(quote(f"{at}:{flag}") for flag in action.option_strings)
                values.append(f"        {patterns}) {_offer(words_of(action, known))}return ;;")
        plain = [each.path[-1] for each in command.below]
        for action in command.arguments:
            if not action.option_strings:
                plain += words_of(action, known)
        offered = f'if [[ "$cur" == -* ]]; then {_offer(flags)}else {_offer(plain) or ":; "}fi'
        words.append(f"        {quote(at)}) {offered} ;;")
    paths = "|".join(quote(c.at) for c in program.walk() if c.path)
    return _TEMPLATE.format(
        name=program.parser.prog, paths=paths, values="\n".join(values), words="\n".join(words)
    )


def _offer(words: list[str]) -> str:
    if not words:
        return ""
    return f'COMPREPLY=($(compgen -W {quote(" ".join(words))} -- "$cur")); '
