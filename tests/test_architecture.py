"""The building regulations: imports point down, Qt stays in the shell, every file says what for.

The layers are read from pyproject.toml, where import-linter reads them too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = SETTINGS["tool"]["importlinter"]["contracts"]
ROOMS = SETTINGS["tool"]["importlinter"]["root_packages"]
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
QT_ROOMS = (
    "app.ui",
    "app.live.previews.requests",
    "app.live.session",
    "app.live.style_jobs",
    "app.live.worker",
    "app.background_jobs",
    "app.processes",
    "app.training",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Every module named by an import statement anywhere in the file, with the statement, but for
    those that only a type checker follows."""
    tree = ast.parse(path.read_text("utf-8"))
    checks = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
    checks = [n for n in checks if ast.unparse(n.test) == "TYPE_CHECKING"]
    skipped = {below for check in checks for node in check.body for below in ast.walk(node)}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from app import engine` names a module too.
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}.")


def layers(contract: dict) -> list[list[str]]:
    """From the top down, the places that share a layer; those apart by "|" are strangers."""
    prefix = f"{contract['containers'][0]}." if "containers" in contract else ""
    return [
        [prefix + place.strip() for place in re.split(r"[|:]", layer)]
        for layer in contract["layers"]
    ]


def forbidden_from(contract: dict, importer: str) -> set[str]:
    """The places of `contract` that `importer` must not import."""
    places = layers(contract)
    for height, (row, text) in enumerate(zip(places, contract["layers"], strict=True)):
        home = next((place for place in row if within(importer, place)), None)
        if home is None:
            continue
        above = {place for higher in places[:height] for place in higher}
        strangers = set(row) - {home} if "|" in text else set()
        return above | strangers
    return set()


LAYERED = [contract for contract in CONTRACTS if contract["type"] == "layers"]


@pytest.mark.parametrize("contract", LAYERED, ids=lambda contract: contract["name"])
def test_imports_point_down(contract):
    wrong = [
        f"{module_name(path)} imports {name}"
        for path in MODULES
        for name, _ in imports(path)
        for place in forbidden_from(contract, module_name(path))
        if within(name, place)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "contract",
    [contract for contract in LAYERED if "containers" in contract],
    ids=lambda contract: contract["name"],
)
def test_every_module_of_a_package_has_a_layer(contract):
    (package,) = contract["containers"]
    known = [place for row in layers(contract) for place in row]
    homeless = [
        name
        for name in map(module_name, MODULES)
        if name.startswith(f"{package}.") and not any(within(name, place) for place in known)
    ]
    assert not homeless, "give these a layer in pyproject.toml"


def test_no_imports_go_in_circles():
    known = {module_name(path) for path in MODULES}
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        names = (name for name, _ in imports(path))
        found = {name if name in known else name.rpartition(".")[0] for name in names} & known
        # A package's own file hands out what its modules define; both belong together.
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
        and any(within(name, "PySide6") for name, _ in imports(path))
    ]
    assert not wrong


@pytest.mark.parametrize(("package", "door"), [("cv2", "opencv.py"), ("av", "pyav.py")])
def test_a_library_with_ways_of_its_own_is_imported_through_its_one_door(package, door):
    wrong = [
        module_name(path)
        for path in [*MODULES, *(ROOT / "tests").rglob("*.py")]
        if path != ROOT / "utils" / door and any(within(name, package) for name, _ in imports(path))
    ]
    assert not wrong


def test_the_window_is_imported_only_by_the_command_that_opens_it():
    tree = ast.parse((ROOT / "app" / "cli.py").read_text("utf-8"))
    at_the_top = {
        node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module
    }
    assert not any(within(name, "app.ui") for name in at_the_top)
    users = [
        module_name(path)
        for path in MODULES
        if not within(module_name(path), "app.ui")
        and any(within(name, "app.ui") for name, _ in imports(path))
    ]
    assert users == ["app.cli"]


@pytest.mark.parametrize(
    "command",
    [
        "stylize",
        "queue",
        "merge_manifests",
        "serve",
        "bench",
        "train",
        "quality",
        "styles",
        "tune",
        "doctor",
        "gpu",
        "install_menu",
        "completion",
        "man",
    ],
)
def test_a_command_runs_without_qt(command):
    check = f"import sys, app.commands.{command}; sys.exit('PySide6' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_help_needs_no_pytorch():
    check = (
        "import sys; from app.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, check=False, stdout=subprocess.DEVNULL
    )
    assert done.returncode == 0


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_opens_with_its_promise(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert not tree.body or ast.get_docstring(tree), "the first line says what this file promises"


def test_imports_are_absolute():
    wrong = [
        module_name(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not wrong


def test_nothing_in_a_users_file_is_executed():
    """Nothing is unpickled or evaluated; torch.load only with weights_only=True."""
    wrong = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
