"""The error of a failed call names the argument that does not fit, if there is one."""

from __future__ import annotations

import inspect

import pytest

from utils.misfits import misfit


def function(
    x: bytes, names: list[str], size: list[int] | None = None, p: float = 0.5, is_on: bool = False
) -> None:
    raise NotImplementedError(x, names, size, p, is_on)


SIGNATURE = inspect.signature(function, eval_str=True)


@pytest.mark.parametrize(
    ("args", "kwargs", "found"),
    [
        ((b"",), {}, "missing a required argument: 'names'"),
        ((b"", [], None, 1.0, True, 3), {}, "too many positional arguments"),
        ((b"", []), {"q": 1}, "got an unexpected keyword argument 'q'"),
        ((2.0, []), {}, "x is of type float; expected bytes"),
        ((b"", "ab"), {}, "names is of type str; expected a list of str"),
        ((b"", ["a", 1]), {}, "names is of type list; expected a list of str"),
        ((b"", [], 1.5), {}, "size is of type float; expected a list of int or None"),
        ((b"", []), {"p": "half"}, "p is of type str; expected float"),
        ((b"", [], 3, 1, True), {}, ""),
        ((b"", ("a",), [3, 4]), {"is_on": True}, ""),
        ((b"", ["a"], None), {}, ""),
    ],
)
def test_the_first_argument_that_does_not_fit_is_named(args, kwargs, found):
    assert misfit(SIGNATURE, args, kwargs) == found
