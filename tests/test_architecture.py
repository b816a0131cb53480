"""The architecture rules that import-linter does not check.

Imports go in no circles, Qt stays in the shell, and every file states its purpose.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ROOMS = SETTINGS["tool"]["importlinter"]["root_packages"]
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
ARGUMENTS = re.compile(r"^Args:\n(?:(?: +.*)?\n?)*", re.MULTILINE)  # a section of a docstring
ARGUMENT = re.compile(r"^    \*{0,2}(\w+)(?: \(.*?\))?:", re.MULTILINE)
QT_ROOMS = (
    "app.ui",
    "app.live.previews.requests",
    "app.live.session",
    "app.live.style_jobs",
    "app.live.worker",
    "app.background_jobs",
    "app.processes",
    "app.training",
    "benchmarks.live",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def names_any(path: Path, words: Iterable[str]) -> bool:
    """Return whether the text has one of the words, so that parsing the file is worthwhile."""
    found = re.search(rf"\b(?:{'|'.join(map(re.escape, words))})\b", path.read_text("utf-8"))
    return found is not None


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a file for several tests; its syntax tree would take too much memory.

    Attributes:
        imports: Every module that it imports anywhere, without imports for type checkers.
        relative: The number of its relative imports.
        silent: Whether it has code and no docstring.
        untaken: The arguments that docstrings describe and no signature has.
    """

    imports: tuple[str, ...]
    relative: int
    silent: bool
    untaken: tuple[str, ...]


def untaken_arguments(node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    """Return the arguments that the docstring describes and the signature lacks.

    A class without a constructor and fields of its own inherits its signature: it has none here.
    """
    described = ARGUMENTS.search(ast.get_docstring(node) or "")
    if not described:
        return []
    function: ast.stmt | None = node
    taken: set[str] = set()
    if isinstance(node, ast.ClassDef):
        fields = [n.target for n in node.body if isinstance(n, ast.AnnAssign)]
        taken |= {field.id for field in fields if isinstance(field, ast.Name)}
        made = (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        function = next(made, None)
    if isinstance(function, ast.FunctionDef):
        taken |= {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}
    names = ARGUMENT.findall(described[0])
    return [f"{node.name}: {name}" for name in names if taken and name not in taken]


@cache
def facts(path: Path) -> Facts:
    tree = parsed(path)
    nodes = [*ast.walk(tree)]
    checks = [n for n in nodes if isinstance(n, ast.If)]
    checks = [n for n in checks if ast.unparse(n.test) == "TYPE_CHECKING"]
    skipped = {below for check in checks for node in check.body for below in ast.walk(node)}
    found: list[str] = []
    relative = 0
    for node in nodes:
        relative += isinstance(node, ast.ImportFrom) and node.level > 0
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from app import engine` names a module too.
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    silent = bool(tree.body) and not ast.get_docstring(tree)
    documented = [n for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    untaken = tuple(name for node in documented for name in untaken_arguments(node))
    return Facts(tuple(found), relative, silent, untaken)


def imports(path: Path) -> tuple[str, ...]:
    return facts(path).imports


def within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


@pytest.mark.full
def test_no_imports_go_in_circles():
    known = {module_name(path) for path in MODULES}
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        names = imports(path)
        found = {name if name in known else name.rpartition(".")[0] for name in names} & known
        # A package's own file exports what its modules define; both belong together.
        package = module_name(path.parent / "__init__.py")
        graph[module_name(path)] = found - {module_name(path), package}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


def test_only_the_shell_knows_qt():
    wrong = [
        module_name(path)
        for path in MODULES
        if not any(within(module_name(path), room) for room in QT_ROOMS)
        and any(within(name, "PySide6") for name in imports(path))
    ]
    assert not wrong


@pytest.mark.parametrize(("package", "door"), [("cv2", "opencv.py"), ("av", "pyav.py")])
def test_a_library_with_ways_of_its_own_is_imported_through_its_one_door(package, door):
    wrong = [
        module_name(path)
        for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]
        if path != ROOT / "utils" / door
        and names_any(path, [package])
        and any(within(name, package) for name in imports(path))
    ]
    assert not wrong


def test_the_window_is_imported_only_by_the_command_that_opens_it_and_by_its_benchmark():
    tree = parsed(ROOT / "app" / "cli.py")
    at_the_top = {
        node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module
    }
    assert not any(within(name, "app.ui") for name in at_the_top)
    users = [
        module_name(path)
        for path in MODULES
        if not within(module_name(path), "app.ui")
        and any(within(name, "app.ui") for name in imports(path))
    ]
    assert {name for name in users if not within(name, "benchmarks.live")} == {"app.cli"}


@pytest.mark.full
def test_commands_run_without_qt():
    names = map(module_name, MODULES)
    commands = [name for name in names if name.rpartition(".")[0] == "app.commands"]
    assert "app.commands.stylize" in commands
    check = f"""
import importlib, sys
for command in {commands}:
    importlib.import_module(command)
    assert "PySide6" not in sys.modules, command
"""
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_help_needs_no_pytorch():
    check = (
        "import sys; from app.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=False, stdout=subprocess.DEVNULL
    )
    assert done.returncode == 0


def test_every_module_opens_with_its_promise():
    silent = [module_name(path) for path in MODULES if facts(path).silent]
    assert not silent, "the first line of each says what the file promises"


def test_docstrings_describe_arguments_that_exist():
    assert not [f"{path.name}: {n}" for path in MODULES for n in facts(path).untaken]


def test_an_argument_that_no_signature_has_is_found():
    (made,) = ast.parse(
        'class A:\n    """Do.\n\n    Args:\n        a: One.\n            a: more.\n'
        '        b: Two.\n\n    Attributes:\n        c: Three.\n    """\n'
        "    def __init__(self, a): ...\n"
    ).body
    assert isinstance(made, ast.ClassDef)
    assert untaken_arguments(made) == ["A: b"]


def test_imports_are_absolute():
    assert not [module_name(path) for path in MODULES if facts(path).relative]


def test_nothing_in_a_users_file_is_executed():
    """Nothing is unpickled or evaluated; torch.load needs weights_only=True."""
    wrong = []
    words = "eval", "exec", "load", *UNSAFE_MODULES
    for path in (path for path in MODULES if names_any(path, words)):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module in UNSAFE_MODULES:
                bad = any(alias.name in UNSAFE_NAMES for alias in node.names)
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                module, _, name = called.rpartition(".")
                bad = (
                    called in ("eval", "exec")
                    or (module in UNSAFE_MODULES and name in UNSAFE_NAMES)
                    or (called == "torch.load" and not _weights_only(node))
                )
            else:
                continue
            if bad:
                wrong.append(f"{module_name(path)}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong


UNSAFE_MODULES = ("pickle", "marshal", "shelve", "dill", "joblib")
UNSAFE_NAMES = ("load", "loads", "open", "Unpickler")


def _weights_only(call: ast.Call) -> bool:
    return any(k.arg == "weights_only" and ast.unparse(k.value) == "True" for k in call.keywords)


def test_no_file_names_a_place_on_somebodys_machine():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout")
    place = re.compile(rb"/(?:home|Users|work|root|mnt|farm)/[A-Za-z0-9_.-]+|[A-Z]:\\Users\\\w")
    wrong = []
    for name in filter(None, listed.decode().split("\0")):
        path = ROOT / name
        if path.suffix in (".png", ".safetensors") or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if place.search(line) and path != Path(__file__):
                wrong.append(f"{name}:{number}")
    assert not wrong
