"""Finds texts that a module shows without translating them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

_TRANSLATING = ("tr", "trn", "mark", "defer")
# Not shown, or shown to readers of English only: names of objects, keys, patterns, the log, the
# terminal.
_SILENT = (
    *("setObjectName", "setProperty", "property", "findChild", "findChildren", "getLogger"),
    *("debug", "info", "warning", "error", "exception", "critical", "QKeySequence", "setShortcut"),
    *("compile", "split", "sub", "match", "fullmatch", "setattr", "getattr", "TypeVar"),
    *("cast", "setStyle", "setStyleSheet", "set_least_size"),
    *("icon", "encode", "decode", "strftime", "write_text", "read_text", "write"),
)
# Functions that show their arguments, even a single word.
_SHOWING = re.compile(
    r"set(Text|ToolTip|AccessibleName|AccessibleDescription|WindowTitle|PlaceholderText|Title"
    r"|IconText|StatusTip|InformativeText|TabText|Suffix|Prefix|SpecialValueText|Format|LabelText)"
    r"|add(Tab|Row|Action|Menu|Item|_heading)|make_button|show_(notice|offer|state|text|empty)|say"
    r"|ask|Q(Label|PushButton|CheckBox|RadioButton|GroupBox|Action|ToolButton)|Choice|OptionBox"
)
_MAKING = ("join", "filter", "format", "clauses", "enumerated", "sentences", "labeled")
_PASSING = ("join", "filter", "str", "rstrip")  # return their arguments
_SHOWN_LATER = ("failure", "doing")  # arguments that are translated where they are shown
# Words before or after a value (\0), with a colon or without.
_BESIDE_VALUE = re.compile(r"(^|\s)[^\W\d_]{3,}:?\s+\0|\0\s+[^\W\d_]{3,}")
_MNEMONIC = re.compile(r"&(?=[^\W_])")
_SENTENCE = re.compile(r"[^\W\d_]{2,}\.?,? [^\W\d_]{2,}|^[A-Z][a-z]+( |$|\.\.\.)| [a-z]{2,}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bare_texts(source: str) -> list[tuple[int, str]]:
    """Return the line and the words of each text that no translation function receives.

    A text is an argument of a function that shows texts, or anything that reads like words of a
    sentence, including defaults of parameters and words next to the values of an f-string. Texts
    that are raised, compared or logged are left out.
    """
    found = _bare(ast.parse(source), showing=False)
    return sorted({(node.lineno, _words(node)) for node in found})


def bare_errors(source: str, errors: Collection[str]) -> list[tuple[int, str]]:
    """Return the line and the words of each untranslated text passed to errors.

    A text is a string or an f-string with a word, also as a part of another argument. It may also
    be the value of a name that the module or the function assigns; `mark` alone does not translate
    it. Results of other functions are left out: they translate their own texts.

    Args:
        errors: Names of the classes, whether they are raised, returned or stored.
    """
    tree = ast.parse(source)
    shared = _assigned(tree.body)
    found: set[tuple[int, str]] = set()
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = {**shared, **_assigned(scope.body)}
        for call in _calls_of(scope):
            if _called(call) in errors:
                given = (*call.args, *(keyword.value for keyword in call.keywords))
                texts = (text for each in given for text in _given(each, names))
                found |= {(call.lineno, _words(text)) for text in texts}
    return sorted(found)


def _given(
    node: ast.AST, names: Mapping[str, list[ast.expr]]
) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the untranslated texts of an argument, including the values of its names."""
    if isinstance(node, ast.Compare):
        return
    if isinstance(node, ast.Call):
        name = _called(node)
        if name in _TRANSLATING or name not in _MAKING:
            yield from _in_values(node, name)
            return
    if isinstance(node, ast.Name):
        others = {name: values for name, values in names.items() if name != node.id}
        for value in names.get(node.id, ()):
            if isinstance(value, ast.Call) and _called(value) == "mark":
                yield from _given(value.args[0], others)
            else:  # the words of a single one may be a file name
                yield from filter(_reads_as_text, _given(value, others))
        return
    if isinstance(node, ast.Constant | ast.JoinedStr) and _WORD.search(_words(node)):
        yield node
    for child in _children(node):
        if not isinstance(node, ast.JoinedStr) or isinstance(child, ast.FormattedValue):
            yield from _given(child, names)


def _assigned(body: list[ast.stmt]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in _below(body):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def _calls_of(scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Call]:
    return (node for node in _below(scope.body) if isinstance(node, ast.Call))


def _below(body: list[ast.stmt]) -> Iterator[ast.AST]:
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        if not isinstance(node, _FUNCTIONS):
            yield node
            left += ast.iter_child_nodes(node)


def _bare(node: ast.AST, *, showing: bool) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the texts at and below a node; with `showing`, a single word also counts."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Compare) or _is_published(node):
        return
    if isinstance(node, ast.Call):
        name = _called(node)
        if name in _TRANSLATING or name in _SILENT or name.endswith("Error"):
            yield from _in_values(node, name)
            return
        yield from _bare(node.func, showing=False)
        inside = _shows(node, name) or (showing and name in _PASSING)
        first = 1 if name == "Choice" else 0  # its value, before its title
        for argument in node.args[first:]:
            yield from _bare(argument, showing=inside)
        for keyword in node.keywords:
            if not _is_translated_later(keyword):
                yield from _bare(keyword.value, showing=inside or keyword.arg in _SHOWN_LATER)
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        words = _words(node)
        if _is_text(words) and (showing or _reads_as_text(node)):
            yield node
        if isinstance(node, ast.Constant):
            return
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _bare(part.value, showing=False)
        return
    shows = showing and isinstance(node, ast.IfExp | ast.BoolOp | ast.BinOp | ast.Tuple | ast.List)
    for child in _children(node):
        yield from _bare(child, showing=shows)


def _shows(node: ast.Call, name: str) -> bool:
    """Return whether a function shows its arguments.

    Of the functions named `add`, only a form's counts, which receives a label and a control.
    """
    return bool(_SHOWING.fullmatch(name)) or (name == "add" and len(node.args) > 1)


def _reads_as_text(node: ast.Constant | ast.JoinedStr) -> bool:
    """Return whether it is a sentence, a label or an f-string with a word next to a value."""
    if _SENTENCE.search(_MNEMONIC.sub("", _words(node))):
        return True
    return isinstance(node, ast.JoinedStr) and bool(_BESIDE_VALUE.search(_words(node, "\0")))


def _is_translated_later(keyword: ast.keyword) -> bool:
    """Return whether this is a failure or a step in progress, translated where it is shown."""
    return keyword.arg in _SHOWN_LATER and isinstance(keyword.value, ast.Constant)


def _in_values(node: ast.Call, name: str) -> Iterator[ast.Constant | ast.JoinedStr]:
    if name in ("tr", "trn"):
        for keyword in node.keywords:
            yield from _bare(keyword.value, showing=False)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node, without its docstring, annotations, decorators and keys."""
    body = getattr(node, "body", None)
    documented = isinstance(node, _DOCUMENTED) and body and _is_docstring(body[0])
    skipped: list[ast.AST | None] = [body[0]] if documented and isinstance(body, list) else []
    skipped += [getattr(node, "returns", None), getattr(node, "annotation", None)]
    skipped += list(getattr(node, "decorator_list", ()))
    if isinstance(node, ast.Dict):
        skipped += node.keys  # used for lookup, not shown
    if isinstance(node, ast.Subscript):
        skipped.append(node.slice)
    return (child for child in ast.iter_child_nodes(node) if child not in skipped)


def _is_text(words: str) -> bool:
    """Return whether it needs translation: more than signs, file names and our names."""
    named = words in ("StyleForge", "Pasted .png")
    return not named and any(letter.isalpha() for letter in words)


def _is_published(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    return any(isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets)


def _is_docstring(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _words(node: ast.Constant | ast.JoinedStr, value: str = "") -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else value for part in node.values
    )


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
