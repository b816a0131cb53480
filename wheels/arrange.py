"""Arranges the checkout as a wheel holds it: one top-level package beside `kernel_fusion`.

`app`, `models`, `kernels`, `utils` and `assets` are folders of the checkout, and names that other
distributions use too. In a wheel they are sub-packages of `styleforge`, and their imports say so.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Collection
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = "styleforge"
MOVED = ("app", "assets", "kernels", "models", "utils")  # sub-packages of PACKAGE in a wheel
KERNELS = ("kernels", "utils")  # those that `kernel_fusion` stands on
IMAGES = CHECKOUT / "kernels" / "images"
WEIGHTS = CHECKOUT / "assets" / "any_style"  # in a wheel of their own, for their size
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")


def arrange(target: Path, moved: Collection[str] = MOVED) -> None:
    """Copy what a wheel holds into the empty folder `target`, under the names it has there.

    Images of native libraries are left out, since which of them a wheel holds depends on its
    platform, and so are the weights that have a wheel of their own.

    Args:
        target: An existing folder.
        moved: The folders of the checkout that become sub-packages of `styleforge`.

    Raises:
        ValueError: An import is written in a form that cannot be moved.
    """
    shutil.copytree(CHECKOUT / "wheels" / PACKAGE, target / PACKAGE, ignore=LEFT_OUT)
    if "app" not in moved:
        (target / PACKAGE / "__main__.py").unlink()
    for name in moved:
        shutil.copytree(CHECKOUT / name, target / PACKAGE / name, ignore=_left_out)
    shutil.copytree(CHECKOUT / "kernel_fusion", target / "kernel_fusion", ignore=LEFT_OUT)
    for path in target.rglob("*.py"):
        path.write_bytes(with_moved_imports(path.read_bytes(), str(path)))
    copy_texts(target)


def copy_texts(target: Path) -> None:
    """Copy the texts that a wheel's metadata hold into the folder `target`."""
    for name in ("LICENSE", "README.md"):
        shutil.copy(CHECKOUT / name, target / name)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What `copytree` does not copy of a folder."""
    elsewhere = {path.name for path in (IMAGES, WEIGHTS) if Path(folder) == path.parent}
    return LEFT_OUT(folder, names) | elsewhere & {*names}


def with_moved_imports(source: bytes, name: str = "<source>") -> bytes:
    """Return a module's source with `from kernels import ops` as `from styleforge.kernels ...`.

    Line numbers stay as they are. `import kernels` binds what `from styleforge import kernels`
    does, and is written so; `import kernels.ops` would bind another name, and is refused.
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
