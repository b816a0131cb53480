"""The types of the operations for editors and type checkers."""

from __future__ import annotations

import ast

from kernels.ops.registry import ALIASES, OPS
from tools.operation_types import FILE, written


def test_the_file_is_what_the_table_of_operations_says():
    assert FILE.read_text("utf-8") == written()


def test_every_operation_and_alias_is_declared_and_says_what_it_is():
    body = ast.parse(written()).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    aliases = {ast.unparse(node) for node in body if isinstance(node, ast.Assign)}
    assert set(functions) == set(OPS)
    assert aliases == {f"{alias} = {name}" for alias, name in ALIASES.items()}
    assert all(ast.get_docstring(function) for function in functions.values())
    norm = functions["layer_norm_relu"]
    assert norm.returns is not None
    assert ast.unparse(norm.returns) == "Tensor"
    shape = norm.args.args[1].annotation
    assert shape is not None
    assert ast.unparse(shape) == "int | Sequence[int]"
