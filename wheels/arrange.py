"""Arranges the checkout as in a wheel: one top-level package besides `kernel_fusion`.

`app`, `assets`, `benchmarks`, `kernels`, `models` and `utils` are folders of the checkout, and
names that other distributions use too. In a wheel they are sub-packages of `styleforge`, and
imports refer to them as such.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Collection
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "styleforge"
MOVED = ("app", "assets", "benchmarks", "kernels", "models", "utils")  # sub-packages of PACKAGE
# The parts of the checkout that `kernel_fusion` depends on, and those that the program does. Other
# benchmarks measure the checkout.
KERNELS = (
    *("benchmarks/__init__.py", "benchmarks/operations"),
    *("benchmarks/storing.py", "benchmarks/tables"),
    *("kernels", "utils"),
)
PROGRAM = (
    *(*KERNELS, "app", "assets", "benchmarks/network", "benchmarks/quality"),
    *("benchmarks/webgpu.py", "benchmarks/webgpu_moves.py", "benchmarks/webgpu_peers", "models"),
)
IMAGES = CHECKOUT / "kernels" / "images"
WEIGHTS = CHECKOUT / "assets" / "any_style"  # in a separate wheel, because of their size
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")


def arrange(target: Path, parts: Collection[str] = PROGRAM) -> None:
    """Copy the content of a wheel into the empty folder `target`, under its names in the wheel.

    Images of native libraries are left out, since they depend on the wheel's platform, and so are
    the weights that have a separate wheel.

    Args:
        parts: The folders and files of the checkout that become parts of `styleforge`.

    Raises:
        ValueError: If an import has a form that cannot be moved.
    """
    shutil.copytree(CHECKOUT / "wheels" / PACKAGE, target / PACKAGE, ignore=LEFT_OUT)
    if "app" not in parts:
        (target / PACKAGE / "__main__.py").unlink()
    for name in parts:
        source, copy = CHECKOUT / name, target / PACKAGE / name
        copy.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=_left_out)
        else:
            shutil.copy(source, copy)
    shutil.copytree(CHECKOUT / "kernel_fusion", target / "kernel_fusion", ignore=LEFT_OUT)
    for path in target.rglob("*.py"):
        path.write_bytes(with_moved_imports(path.read_bytes(), str(path)))
    copy_texts(target)


def copy_texts(target: Path) -> None:
    """Copy the texts for a wheel's metadata into the folder `target`."""
    for name in ("LICENSE", "README.md"):
        shutil.copy(CHECKOUT / name, target / name)


def _left_out(folder: str, names: list[str]) -> set[str]:
    elsewhere = {path.name for path in (IMAGES, WEIGHTS) if Path(folder) == path.parent}
    return LEFT_OUT(folder, names) | elsewhere & {*names}


def with_moved_imports(source: bytes, name: str = "<source>") -> bytes:
    """Return a module's source with `from kernels import ops` as `from styleforge.kernels ...`.

    Line numbers do not change. `import kernels` binds the same name as `from styleforge import
    kernels`, which replaces it; `import kernels.ops` would bind another name, and is refused.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_moved(node.module or ""):
            old, new = f"from {node.module}", f"from {PACKAGE}.{node.module}"
        elif isinstance(node, ast.Import) and any(_is_moved(alias.name) for alias in node.names):
            old, new = ast.unparse(node), _moved_import(node, f"{name}:{node.lineno}")
        else:
            continue
        before, after = lines[node.lineno - 1], lines[node.lineno - 1][node.col_offset :]
        if not after.startswith(old.encode()):
            raise ValueError(f"{name}:{node.lineno}: write this import as `{old}`")
        rest = after[len(old.encode()) :]
        lines[node.lineno - 1] = before[: node.col_offset] + new.encode() + rest
    return b"".join(lines)


def _is_moved(module: str) -> bool:
    return module.partition(".")[0] in MOVED


def _moved_import(node: ast.Import, place: str) -> str:
    if len(node.names) > 1:
        raise ValueError(f"{place}: import one module in a statement")
    (alias,) = node.names
    if alias.asname:
        return f"import {PACKAGE}.{alias.name} as {alias.asname}"
    if "." in alias.name:
        raise ValueError(f"{place}: write `from ... import ...` instead of `import {alias.name}`")
    return f"from {PACKAGE} import {alias.name}"
