"""Converts a model: copies it, finds fusible parts, verifies the results, and times them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import torch
from torch import nn

from kernel_fusion.auto_convert.by_module import replace_neighbors
from kernel_fusion.auto_convert.comparison import (
    calling,
    device_of,
    difference,
    evaluating,
    exact,
    validate_optimization,
)
from kernel_fusion.auto_convert.forward import Forward
from kernel_fusion.auto_convert.graphs import REFUSALS, Exported, exported
from kernel_fusion.auto_convert.inputs import Inputs, inputs_of
from kernel_fusion.auto_convert.program import Execution, Program
from kernel_fusion.auto_convert.rewrites import REWRITES
from kernel_fusion.auto_convert.stats import ConversionStats
from kernel_fusion.auto_convert.watched import OURS, NotExported, Trial, copied_model, forked
from utils.benchmark import interleave

Model = TypeVar("Model", bound=nn.Module)
SEEDS = (1, 2)  # of the random inputs for comparing results
WARMUP = 2
# Options tried one after another, each on top of the fastest ones so far.
TRIED_ON_CPU = (("summed_norms",), ("merged_layers",), ("channels_last",))
TRIED_ON_GPU = (
    ("cuda_graph",),
    ("summed_norms",),
    ("merged_layers",),
    ("split_products",),
    ("relu_in_cudnn",),
    ("channels_last",),
    ("channels_last", "relu_in_cudnn"),
    ("channels_last", "split_pointwise"),
    ("channels_last", "relu_in_cudnn", "split_pointwise"),
    ("channels_last", "split_convolutions"),
    ("channels_last", "relu_in_cudnn", "split_convolutions"),
)


class ModelConverter:
    """A converter of models; `conversion_stats` describes its last conversion.

    Args:
        validate_accuracy: Whether to compare results on random inputs and leave parts with wrong
            results unchanged.
        accuracy_threshold: The largest difference of results, relative to the largest value.
        keep_slower: Whether to keep replacements that are not faster.
        cuda_graph: On a GPU, also try to capture all launches in a CUDA graph for each shape.
        timed_runs: Timed calls of each way of execution.
    """

    def __init__(
        self,
        validate_accuracy: bool = True,
        accuracy_threshold: float = 1e-5,
        *,
        keep_slower: bool = False,
        cuda_graph: bool = True,
        timed_runs: int = 10,
    ) -> None:
        if not accuracy_threshold > 0:
            raise ValueError(f"accuracy_threshold is {accuracy_threshold}; expected more than 0")
        if timed_runs < 1:
            raise ValueError(f"timed_runs is {timed_runs}; expected at least 1")
        self.validate_accuracy, self.accuracy_threshold = validate_accuracy, accuracy_threshold
        self.keep_slower, self.cuda_graph, self.timed_runs = keep_slower, cuda_graph, timed_runs
        self.conversion_stats = ConversionStats()

    def convert_model(
        self, model: Model, input_shape: Any, device: torch.device | str | None = None
    ) -> Model:
        """Return a converted copy of a model, with the same class, mode and state dict keys.

        The copy runs fused operations in evaluation and outside of autocast, if nothing needs a
        gradient. Otherwise it runs as the original does, so that you can train it.

        Args:
            input_shape: Sizes of the one input; or an example: a tensor, a tuple of arguments, or a
                dictionary of named arguments, of any structure. Sizes mean token ids if the model's
                first layer is nn.Embedding.
            device: The device of the copy; defaults to the model's device.

        Raises:
            ValueError: If `input_shape` is of an unknown kind, the model refuses it, or the model
                cannot be copied.
        """
        stats = self.conversion_stats = ConversionStats()
        place = device_of(model) if device is None else torch.device(device)
        converted = copied_model(model)
        refusal = _refusal(converted)
        if refusal:
            stats.skip("the whole model", refusal)
            converted.__dict__["conversion_stats"] = stats
            return converted
        for name in OURS:  # left by an earlier conversion
            converted.__dict__.pop(name, None)
        converted = converted.to(place)
        inputs = inputs_of(converted, input_shape, place).as_declared(
            type(converted).forward  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        )
        with torch.inference_mode(False), torch.no_grad(), evaluating(converted):
            try:
                source = exported(converted, inputs)
            except NotExported as error:
                stats.skip("torch.export", str(error))
                converted = self._by_module(converted, inputs)
            except REFUSALS as error:
                name = type(model).__name__
                raise ValueError(f"{name} refuses the example: {_first_line(error)}") from error
            else:
                stats.found_by = "torch.export"
                self._as_program(converted, source, inputs)
        converted.__dict__["conversion_stats"] = stats
        return converted

    def _as_program(self, model: nn.Module, source: Exported, inputs: Inputs) -> None:
        """Set a forward that runs the fastest correct program, if it beats the original."""
        stats, device = self.conversion_stats, device_of(model)
        given, expected = [inputs], [source.expected.value]
        trial = Trial(model)
        for each in map(inputs.random, SEEDS):
            with contextlib.suppress(
                NotExported, *REFUSALS
            ):  # for example, random lengths are no longer sorted
                expected.append(trial.run(each).value)
                given.append(each)
        with exact(device):
            names = self._right_rewrites(source, given, expected)
        best = Execution()
        right = Program(source, names, best)
        for options in TRIED_ON_GPU if device.type == "cuda" else TRIED_ON_CPU:
            execution = replace(best, **dict.fromkeys(options, True))
            if execution.cuda_graph and not self.cuda_graph:
                continue
            if execution.allows_tf32 and not execution.cuda_graph:
                continue  # a graph needs TF32 only while it is captured
            found = self._right_program(source, names, execution, given, expected)
            if found is None:
                continue
            times = self._times(inputs, best=right.call, trial=found.call)
            if times["trial"] < times["best"]:
                best, right = execution, found
        times = self._times(inputs, original=model, converted=right.call)
        stats.times_ms, speedup = times, times["original"] / times["converted"]
        if speedup < 1 and not self.keep_slower:
            stats.skip("the whole model", f"it is not faster: {speedup:.2f}x")
            return
        with exact(device):
            right.forget()
            stats.max_difference = self._apart(right, given, expected)
        counts = right.replaced | {
            "add_norm": right.changed.get("summed_norms", 0),
            "linear_merged": right.changed.get("merged_layers", 0),
        }
        stats.replaced = {kind: count for kind, count in counts.items() if count}
        stats.execution, stats.speedup_achieved = str(best), speedup
        threshold = self.accuracy_threshold if self.validate_accuracy else math.inf
        forward = Forward(model, inputs.kind(), names, best, threshold, stats)
        right.forget()  # later calls may allow TF32
        forward.adopt(inputs, right, source.watched)
        model.__dict__["forward"] = forward
        model.__dict__["__prepare_scriptable__"] = forward.scriptable

    def _right_program(
        self,
        source: Exported,
        names: list[str],
        execution: Execution,
        given: list[Inputs],
        expected: list[Any],
    ) -> Program | None:
        program = Program(source, names, execution)
        if not all(program.changed.values()):
            return None
        try:
            with exact(device_of(source.root)):
                apart = self._apart(program, given, expected)
        except (
            RuntimeError,
            ValueError,
            TypeError,
            NotExported,
        ) as error:  # not available for these shapes
            self.conversion_stats.skip(str(execution), _first_line(error))
            return None
        program.forget()  # later calls may allow TF32
        if apart > self.accuracy_threshold and self.validate_accuracy:
            reason = f"results differ by {apart:.1e} of the largest value"
            self.conversion_stats.skip(str(execution), reason)
            return None
        return program

    def _times(self, inputs: Inputs, **runs: Callable[..., Any]) -> dict[str, float]:
        calls = {name: calling(run, inputs) for name, run in runs.items()}
        found = interleave(calls, WARMUP, self.timed_runs, inputs.device)
        return {name: each.median_ms for name, each in found.items()}

    def _right_rewrites(
        self, source: Exported, given: list[Inputs], expected: list[Any]
    ) -> list[str]:
        if self._fault(source, list(REWRITES), given, expected) == "":
            return list(REWRITES)
        right: list[str] = []
        for name in REWRITES:
            fault = self._fault(source, [*right, name], given, expected)
            if fault:
                self.conversion_stats.skip(name, fault)
            else:
                right.append(name)
        return right

    def _fault(
        self, source: Exported, names: list[str], given: list[Inputs], expected: list[Any]
    ) -> str:
        try:
            apart = self._apart(Program(source, names, Execution()), given, expected)
        except (
            RuntimeError,
            ValueError,
            TypeError,
            NotExported,
        ) as error:  # operations raise these for arguments they refuse
            return _first_line(error)
        if apart > self.accuracy_threshold and self.validate_accuracy:
            return f"results differ by {apart:.1e} of the largest value"
        return ""

    def _apart(self, program: Program, given: list[Inputs], expected: list[Any]) -> float:
        results = [program(each) for each in given]
        return max(map(difference, results, expected))

    def _by_module(self, model: Model, inputs: Inputs) -> Model:
        stats, changed = self.conversion_stats, copied_model(model)
        replaced = replace_neighbors(changed)
        if not replaced:
            return model
        apart = self._apart_by_module(model, changed, inputs)
        if self.validate_accuracy and apart > self.accuracy_threshold:
            stats.skip("modules", f"results differ by {apart:.1e} of the largest value")
            return model
        both = copied_model(model), copied_model(changed)  # the calls may change their state
        found = validate_optimization(*both, inputs.twin(), self.timed_runs)
        if found.speedup < 1 and not self.keep_slower:
            stats.skip("modules", f"not faster: {found.speedup:.2f}x")
            return model
        stats.found_by, stats.execution, stats.replaced = "modules", "fused modules", replaced
        stats.speedup_achieved, stats.max_difference = found.speedup, apart
        return changed

    def _apart_by_module(self, model: nn.Module, changed: nn.Module, inputs: Inputs) -> float:
        found: list[float] = []
        for n, each in enumerate([inputs, *map(inputs.random, SEEDS)]):
            results: list[Any] = []
            for original in (model, changed):
                run, given = copied_model(original), each.twin()
                with _seeded(inputs.device), exact(inputs.device):
                    try:
                        results.append(run(*given.args, **given.kwargs))
                    except REFUSALS:
                        if n == 0:
                            raise
            if len(results) == 2:
                found.append(difference(*results[::-1]))
        return max(found)


@contextlib.contextmanager
def _seeded(device: torch.device) -> Generator[None]:
    """Draw the same random numbers in every such context, without touching the caller's state."""
    with forked(device):
        torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
        yield


def _refusal(model: nn.Module) -> str:
    if any(isinstance(each, torch.jit.ScriptModule) for each in model.modules()):
        return "TorchScript runs the model or a part of it; convert it before scripting"
    if any(hasattr(each, "_orig_mod") for each in model.modules()):
        return "torch.compile runs the model or a part of it; convert the original model"
    if any(x.is_meta for x in chain(model.parameters(), model.buffers())):
        return "its tensors are on the meta device and have no values"
    return ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def auto_convert_model(
    model: Model,
    input_shape: Any,
    device: torch.device | str | None = None,
    validate_accuracy: bool = True,
    **options: Any,
) -> Model:
    """Return a converted copy of a model; its `conversion_stats` report replacements and gain.

    `device` defaults to the model's; `validate_accuracy` compares results on random inputs. See
    `ModelConverter.convert_model` for the rest.
    """
    return ModelConverter(validate_accuracy, **options).convert_model(model, input_shape, device)
