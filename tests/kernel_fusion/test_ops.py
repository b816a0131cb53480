"""`kernel_fusion.ops` publishes every operation as an ordinary function."""

from __future__ import annotations

import inspect

import kernel_fusion as kf
from kernels.table.registry import ALIASES, OPS


def published() -> dict[str, object]:
    return {name: value for name, value in vars(kf.ops).items() if inspect.isfunction(value)}


def test_every_operation_and_alias_is_published_and_nothing_else():
    assert set(published()) == {*OPS, *ALIASES}


def test_an_alias_is_the_same_function():
    for alias, name in ALIASES.items():
        assert getattr(kf.ops, alias) is getattr(kf.ops, name)


def test_a_function_has_the_signature_and_the_documentation_of_its_definition():
    signature = inspect.signature(kf.ops.layer_norm_relu, eval_str=True)
    assert list(signature.parameters) == ["x", "normalized_shape", "weight", "bias", "eps"]
    assert str(signature.parameters["normalized_shape"].annotation).startswith("int | ")
    assert (inspect.getdoc(kf.ops.layer_norm_relu) or "").startswith("Compute ")
    defined = inspect.unwrap(kf.ops.layer_norm_relu)
    assert defined.__code__.co_filename.endswith("fusion/api.py")


def test_results_for_the_backward_pass_are_not_part_of_the_signature():
    assert inspect.signature(kf.ops.batch_norm_relu).return_annotation.__name__ == "Tensor"
    schema = OPS["batch_norm_relu"].overload._schema
    assert len(schema.returns) == 3
