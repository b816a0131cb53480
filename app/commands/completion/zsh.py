"""The completion script for zsh."""

from __future__ import annotations

from shlex import quote

from app.commands.parser_tree import Command, help_of, takes_value, words_of

_TEMPLATE = """\
#compdef {name}
# zsh completion of {name}; made by `{name} completion zsh`
_{name}() {{
    local at="" word prev="${{words[CURRENT-1]}}"
    local -a offered
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$at $word" in
            ({paths}) at="$at $word" ;;
        esac
    done
    case "$at:$prev" in
{values}
    esac
    case "$at" in
{words}
    esac
}}
if [[ "$funcstack[1]" == _{name} ]]; then
    _{name} "$@"
else
    compdef _{name} {name}
fi
"""


def zsh_script(program: Command, known: dict[str, list[str]]) -> str:
    """Build the script; `known` has values of flags by metavar."""
    values, words = [], []
    for command in program.walk():
        at = command.at
        flags, plain = [], [(each.path[-1], each.summary) for each in command.below]
        for action in command.arguments:
            flags += [(flag, help_of(command, action)) for flag in action.option_strings]
            if not action.option_strings:
                plain += [(word, "") for word in words_of(action, known)]
            elif takes_value(action):
                patterns = "|".join(quote(f"{at}:{flag}") for flag in action.option_strings)
                offered = words_of(action, known)
                call = f"compadd -- {' '.join(map(quote, offered))}" if offered else "_files"
                values.append(f"        ({patterns}) {call}; return ;;")
        words.append(
            f"        ({quote(at)}) if [[ $PREFIX == -* ]]; then {_offer('option', flags)}; "
            f"else {_offer('command', plain) if plain else '_files'}; fi ;;"
        )
    paths = "|".join(quote(c.at) for c in program.walk() if c.path)
    return _TEMPLATE.format(
        name=program.parser.prog, paths=paths, values="\n".join(values), words="\n".join(words)
    )


def _offer(what: str, words: list[tuple[str, str]]) -> str:
    described = " ".join(quote(f"{word}:{text}" if text else word) for word, text in words)
    return f"offered=({described}); _describe {'-o ' if what == 'option' else ''}{what} offered"
