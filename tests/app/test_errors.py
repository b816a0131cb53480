"""Every error names the next step, wherever it is shown."""

from __future__ import annotations

import ast
import builtins
import errno
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

import app
import benchmarks.quality
import kernel_fusion
import kernels
import models
import utils
from app.cli import main
from app.engine.engine.faults import EngineError
from app.errors import (
    ADVICE,
    ASK_FOR_HELP,
    CORRECT,
    DISK_FULL,
    IN_WINDOW,
    Problem,
    StyleForgeError,
    advice_for,
)
from app.styles.pack import StyleError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = app, benchmarks.quality, models, kernels, kernel_fusion, utils
OPTIONAL = {"fastapi", "ray", "openvino", "onnxruntime", "pyvirtualcam", "onnx", "uvicorn"}

# Caught where they are raised, and never shown.
INTERNAL = {
    "_AbandonedError",
    "Interrupted",
    "JobCanceled",
    "NotExported",
    "RatesError",
    "SmallJsonError",
    "TooManyPiecesError",
}


@cache
def our_errors() -> frozenset[type[BaseException]]:
    return frozenset(error for package in PACKAGES for error in _errors_below(package))


def _errors_below(package) -> Iterator[type[BaseException]]:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__") or ".export.network.scripts" in module.name:
            continue  # programs, which would run on import
        try:
            imported = importlib.import_module(module.name)
        except ImportError as exc:
            if (exc.name or "").partition(".")[0] in OPTIONAL:
                continue
            raise
        for _, found in inspect.getmembers(imported, inspect.isclass):
            if issubclass(found, Warning) or found.__module__ != module.name:
                continue
            if issubclass(found, BaseException):
                yield found


def names(error: type[BaseException]) -> set[str]:
    ours = {package.__name__.partition(".")[0] for package in PACKAGES}
    return {base.__name__ for base in error.__mro__ if base.__module__.partition(".")[0] in ours}


def test_every_error_of_ours_has_advice():
    assert len(our_errors()) > 40
    without = {
        error.__qualname__
        for error in our_errors()
        if error is not StyleForgeError
        and error.__name__ not in INTERNAL
        and not names(error) & set(ADVICE)
    }
    assert without == set()


def test_every_advice_is_a_sentence_about_an_error_that_exists():
    known = {error.__name__ for error in our_errors()}
    of_others = {name for name in ADVICE if hasattr(builtins, name) or hasattr(torch, name)}
    assert set(ADVICE) - known - of_others == set()
    for advice in (*ADVICE.values(), ASK_FOR_HELP, CORRECT, DISK_FULL):
        assert advice[0].isupper() or advice[0] == "`"
        assert advice.endswith(".")
        assert 20 <= len(advice) <= 160


def test_the_window_names_no_command_in_its_advice():
    """A report that cannot be made is the exception: only a terminal tells more."""
    without_window = {"ClusterError", "Refused", "WebGpuBenchError", "BenchError"}
    without_window |= {"CardRatesError", "DoctorError", "CrewError", "AddressError", "HubError"}
    shown = {
        name: IN_WINDOW.get(advice, advice)
        for name, advice in {**ADVICE, "": ASK_FOR_HELP, "StyleForgeError": CORRECT}.items()
        if name not in without_window | {"ReportError"}
    }
    assert not [name for name, advice in shown.items() if "`" in advice or "--" in advice]
    assert Problem.of(EngineError("x"), failure="Could not paint").advice in IN_WINDOW.values()
    assert Problem.of(RuntimeError("x"), failure="Could not paint").at_fault


def test_the_nearest_class_counts_and_a_full_disk_before_all():
    class OfStyles(StyleError):
        pass

    assert advice_for(OfStyles("x")) == ADVICE["StyleError"]
    assert advice_for(FileNotFoundError("x")) == ADVICE["FileNotFoundError"]
    assert advice_for(IsADirectoryError("x")) == ADVICE["OSError"]
    assert advice_for(torch.OutOfMemoryError("x")) == ADVICE["OutOfMemoryError"]
    assert advice_for(OSError(errno.ENOSPC, "full")) == DISK_FULL


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (FileNotFoundError("x"), "moved"),
        (FileExistsError("x"), "existing"),
        (PermissionError("x"), "permission"),
        (ConnectionResetError("x"), "network"),
        (TimeoutError("x"), "network"),
        (ModuleNotFoundError("x"), "package"),
        (MemoryError("x"), "size"),
        (torch.OutOfMemoryError("x"), "graphics card"),
        (IsADirectoryError("x"), "disk"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_the_system_has_the_advice_for_its_kind(error, word):
    assert word in advice_for(error)


def test_an_error_without_advice_has_that_of_its_cause():
    error = StyleForgeError("x")
    assert advice_for(error) == CORRECT
    assert advice_for(RuntimeError("of a library")) == ASK_FOR_HELP
    error.__cause__ = PermissionError("y")
    assert advice_for(error) == ADVICE["PermissionError"]
    assert Problem.of(error, failure="Could not save it").advice == ADVICE["PermissionError"]


def test_every_problem_that_is_made_without_an_exception_has_advice():
    """Three arguments or `advice=` are required: "Could not ..." alone does not help anyone."""
    made: list[ast.Call] = []
    for path in (ROOT / "app").rglob("*.py"):
        source = path.read_text("utf-8")
        if "Problem(" not in source or "server" in path.parts:  # the server has its own class
            continue
        made += [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem"
        ]
    assert len(made) > 10
    without = [
        ast.unparse(call)
        for call in made
        if len(call.args) < 3 and not any(keyword.arg == "advice" for keyword in call.keywords)
    ]
    assert without == []


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("stylize", "/no/such.png", "-o", "out.png"), ADVICE["StylizeError"]),
        (("doctor", "--card", "no such card"), ADVICE["DoctorError"]),
        (("styles", "add", "/no/such.pth"), None),
    ],
)
def test_the_command_line_says_what_to_do_on_a_line_of_its_own(arguments, advice, capsys):
    assert main(arguments) == 1
    error, said = capsys.readouterr().err.splitlines()[-2:]
    assert error.startswith("styleforge: ")
    assert said == advice if advice else said in ADVICE.values()
