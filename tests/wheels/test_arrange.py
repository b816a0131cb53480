"""The checkout can be arranged as a wheel, whatever imports it contains."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection

import grimp
import pytest

from wheels import arrange as arranging
from wheels.arrange import (
    CHECKOUT,
    IMAGES,
    KERNELS,
    MOVED,
    PROGRAM,
    arrange,
    with_moved_imports,
)

ROOMS = ("app", "benchmarks", "kernel_fusion", "kernels", "models", "utils")
SETTINGS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
SMALL = tomllib.loads((CHECKOUT / "wheels/kernel_fusion/pyproject.toml").read_text("utf-8"))
OURS = re.compile(rf"({'|'.join(MOVED)})\.[a-z]\w*(\.\w+)*")


@pytest.mark.parametrize(
    ("written", "moved"),
    [
        ("from kernels import ops", "from styleforge.kernels import ops"),
        ("from app.ui import theme  # why", "from styleforge.app.ui import theme  # why"),
        ("if x:\n    from utils.text import (\n        a,\n    )", None),
        ("import app", "from styleforge import app"),
        ("import kernels.ops as ops", "import styleforge.kernels.ops as ops"),
        ("from kernel_fusion import ops", "from kernel_fusion import ops"),
        ("from models_of_others import kernels", "from models_of_others import kernels"),
        ("x = 'from kernels import ops'", "x = 'from kernels import ops'"),
    ],
)  # fmt: skip
def test_imports_of_our_folders_and_no_others_are_moved(written, moved):
    if moved is None:
        moved = written.replace("from utils", "from styleforge.utils")
    assert with_moved_imports(written.encode()) == moved.encode()


@pytest.mark.parametrize(
    "written", ["import kernels.ops", "import os, kernels", "from  app import x"]
)
def test_an_import_that_cannot_be_moved_is_refused_by_name(written):
    with pytest.raises(ValueError, match=r"kernels.py:2: "):
        with_moved_imports(b"'''A module.'''\n" + written.encode(), "kernels.py")


@pytest.mark.full
def test_the_checkout_can_be_arranged(tmp_path):
    arrange(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "LICENSE",
        "README.md",
        "kernel_fusion",
        "styleforge",
    ]
    for path in tmp_path.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in MOVED, path
            elif isinstance(node, ast.Import):
                assert not {alias.name.partition(".")[0] for alias in node.names} & {*MOVED}, path


def test_images_are_no_part_of_what_is_arranged():
    folder, names = str(IMAGES.parent), ["images", "ops", "__pycache__"]
    assert arranging._left_out(folder, names) == {"images", "__pycache__"}
    assert arranging._left_out(str(CHECKOUT / "assets"), ["images"]) == set()


def test_weights_that_have_a_wheel_of_their_own_are_no_part_of_it():
    folder = str(CHECKOUT / "assets")
    assert arranging._left_out(folder, ["any_style", "styles"]) == {"any_style"}


@pytest.mark.parametrize("parts", [PROGRAM, KERNELS], ids=["program", "kernels"])
def test_a_wheel_holds_every_module_of_ours_that_its_modules_import(parts):
    found = grimp.build_graph(
        *ROOMS, cache_dir=str(CHECKOUT / "build" / "imports"), exclude_type_checking_imports=True
    )
    held = {
        module
        for module in found.modules
        if module.startswith("kernel_fusion") or _is_in(module.replace(".", "/"), parts)
    }
    missing = {
        f"{importer} imports {imported}"
        for importer in held
        for imported in found.find_modules_directly_imported_by(importer)
        if imported not in held
    }
    assert not missing


def _is_in(place: str, parts: Collection[str]) -> bool:
    """Return whether a module is in a wheel; `place` is its name with slashes."""
    files = f"{place}.py", f"{place}/__init__.py"
    return any(file == part or file.startswith(f"{part}/") for file in files for part in parts)


@pytest.mark.full
def test_no_text_names_a_module_of_ours():
    """Such a name would be wrong in a wheel: code must use `__name__` or a module's own name."""
    wrong = []
    for path in (path for room in MOVED for path in (CHECKOUT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = OURS.fullmatch(node.value.rstrip("."))
                place = CHECKOUT / node.value.rstrip(".").replace(".", "/")
                if found and (place.is_dir() or place.with_suffix(".py").is_file()):
                    wrong.append(f"{path.name}:{node.lineno}: {node.value}")
            elif isinstance(node, ast.List | ast.Tuple):
                for flag, module in zip(node.elts, node.elts[1:], strict=False):
                    if (
                        isinstance(flag, ast.Constant)
                        and flag.value == "-m"
                        and isinstance(module, ast.Constant)
                        and module.value in MOVED
                    ):
                        wrong.append(f"{path.name}:{node.lineno}: -m {module.value}")
    assert not wrong


def test_the_small_distribution_asks_for_a_part_of_what_the_program_does():
    assert set(SMALL["project"]["dependencies"]) < set(SETTINGS["project"]["dependencies"])
    assert SMALL["project"]["requires-python"] == SETTINGS["project"]["requires-python"]
    assert SMALL["build-system"]["requires"] == SETTINGS["build-system"]["requires"]
    asked = " ".join(SMALL["project"]["dependencies"]).lower()
    assert "pyside" not in asked
    assert "opencv" not in asked
