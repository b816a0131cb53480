"""The gradients of fused operations, under PyTorch's dispatcher.

If an operation has no backward of its own, autograd reruns and differentiates its reference. A
backward of its own uses saved tensors that the forward pass computed anyway, such as the statistics
of a softmax. Forward mode and the transforms of torch.func differentiate the reference instead,
because PyTorch knows its every derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernels.driver.context import ensure_context

_dispatch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_KEY: Any = _dispatch.DispatchKey
_any_requires_grad: Callable[..., bool] = _dispatch._any_requires_grad
_transform: Callable[[], object] = _dispatch._functorch.peek_interpreter_stack
_forward_mode: Any = forward_ad  # the level of dual tensors, -1 without any

Run = Callable[..., Any]  # an operation without a gradient: (arguments...)
Below = Callable[..., Any]  # the same below the dispatcher: (keys, arguments...)
Grad = Tensor | Sequence[Tensor | None] | None  # of an argument


@dataclass(frozen=True, slots=True)
class Kept:
    """The saved state of a forward pass for its own backward.

    Attributes:
        tensors: The arguments and results that `save` selected.
        options: The arguments in order, with None in place of tensors and lists of tensors.
        needs: For each argument, whether it needs a gradient.
    """

    tensors: tuple[Any, ...]  # Tensor or None, as saved
    options: tuple[Any, ...]
    needs: tuple[bool, ...]


# Selects the tensors to save from the arguments and the results.
Save = Callable[[Sequence[Any], Sequence[Tensor]], Sequence[Tensor | None]]
# Returns the gradient of each argument from the saved state and the gradients of the results.
Backward = Callable[..., Sequence[Grad]]


def below_autograd(overload: Any, **on: Callable[..., Any] | None) -> Below:
    """Return a function (keys, arguments...) that runs an operation without a gradient.

    `on` gives for each backend the Python function that is its kernel.
    """
    plain: dict[int, Callable[..., Any]] = {}
    for backend, function in on.items():
        keys = (getattr(_KEY, backend), getattr(_KEY, f"Autograd{backend}"))
        if function is not None:
            first, second = map(_dispatch.DispatchKeySet, keys)
            plain[(first | second).raw_repr()] = function

    def run(keys: Any, *args: Any) -> Any:
        # Nothing separates autograd from a plain tensor's kernel, and a second pass through the
        # dispatcher would take as long as the first.
        direct = plain.get(keys.raw_repr())
        if direct is not None:
            return direct(*args)
        keys = keys & _dispatch._after_autograd_keyset
        with _dispatch._AutoDispatchBelowAutograd():
            return overload.redispatch(keys, *args)

    return run


def has_tangents(args: Sequence[Any]) -> bool:
    """Return whether forward mode (torch.func.jvp or dual tensors) follows an argument."""
    return _forward_mode._current_level >= 0 and any(
        _forward_mode.unpack_dual(x).tangent is not None for x in tensors_of(args)
    )


def is_transformed(args: Sequence[Any]) -> bool:
    """Return whether forward mode or a transform of torch.func differentiates these arguments."""
    return has_tangents(args) or (
        _transform() is not None
        and torch.is_grad_enabled()
        and _any_requires_grad(*tensors_of(args))
    )


def differentiable(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reference, differentiable in every mode, without PyTorch's fused attention."""

    @functools.wraps(reference)
    def run(*args: Any) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return reference(*args)

    return run


def composition(composed: Callable[..., Any], reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return a composed operation whose reference runs where a transform differentiates it.

    Parts of `composed` have no derivative in forward mode; `reference` has all derivatives.
    """
    transformed = differentiable(reference)

    @functools.wraps(composed)
    def run(*args: Any) -> Any:
        return (transformed if is_transformed(args) else composed)(*args)

    return run


def inference_only(
    name: str, overload: Any, below: Below, mutates: tuple[str, ...]
) -> Callable[..., None]:
    """Return the autograd kernel of an operation that writes to arguments."""
    places = places_of(overload, mutates)

    def autograd(keys: Any, *args: Any) -> None:
        if has_tangents(args) or (
            torch.is_grad_enabled() and _any_requires_grad(*tensors_of(args))
        ):
            raise RuntimeError(f"{name} writes into its arguments and has no gradient")
        below(keys, *args)
        count_writes(args, places)

    return autograd


def batched(
    name: str, overload: Any, reference: Callable[..., Any], mutates: tuple[str, ...]
) -> Callable[..., Any] | None:
    """Return the function that runs the operation under vmap.

    None lets PyTorch call the operation for each item, which works for operations on tensors alone.
    The reference, in functions that vmap supports, replaces an operation on lists. Operations that
    write into their arguments get a function that raises RuntimeError.
    """
    if mutates:

        def refused(*_args: Any) -> None:
            raise RuntimeError(f"{name} writes into its arguments and has no vmap")

        return refused
    values = (*overload._schema.arguments, *overload._schema.returns)
    has_lists = any("List[" in str(each.type) and "Tensor" in str(each.type) for each in values)
    return reference if has_lists else None


def places_of(overload: Any, names: Sequence[str]) -> list[int]:
    order = {argument.name: at for at, argument in enumerate(overload._schema.arguments)}
    return [order[name] for name in names]


def count_writes(args: Sequence[Any], places: Sequence[int]) -> None:
    """Make autograd refuse a gradient that needs the previous values of these arguments."""
    written = [args[at] for at in places]
    torch.autograd.graph.increment_version(list(tensors_of(written)))


def recomputed(overload: Any, reference: Callable[..., Any]) -> Run:
    """Record any operation, whose backward differentiates the reference; see `recording_of`.

    A result that needs no gradient has none.
    """

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, run: Run, packing: Packing, *tensors: Tensor | None) -> Any:
            ctx.save_for_backward(*tensors)
            ctx.packing = packing
            results = run(*packing.joined(tensors))
            ctx.mark_non_differentiable(
                *(x for x in _as_tuple(results) if not x.is_floating_point())
            )
            return _followed(results)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
            ensure_context(grads)
            needs = ctx.needs_input_grad[2:]
            is_recorded = torch.is_grad_enabled()  # to differentiate this gradient again
            with torch.enable_grad():
                inputs = [
                    None if x is None else _branch(x, need, is_recorded)
                    for x, need in zip(ctx.saved_tensors, needs, strict=True)
                ]
                wanted = [
                    x for x, need in zip(inputs, needs, strict=True) if need and x is not None
                ]
                run = differentiable(reference) if is_recorded else reference
                results = _as_tuple(run(*ctx.packing.joined(inputs)))
                pairs = [(x, grad) for x, grad in zip(results, grads, strict=True) if x.grad_fn]
                outputs, given = [x for x, _ in pairs], [grad for _, grad in pairs]
                found: Sequence[Tensor | None] = (
                    torch.autograd.grad(
                        outputs, wanted, given, create_graph=is_recorded, allow_unused=True
                    )
                    if outputs
                    else [None] * len(wanted)
                )
            each = iter(found)
            return None, None, *(next(each) if need else None for need in needs)

    return _recorded_by(Recomputed, overload)


def _branch(x: Tensor, needs_gradient: bool, is_recorded: bool) -> Tensor:
    """Return a saved tensor to differentiate separately from the rest of its graph.

    An alias keeps the graph behind it for the next derivative. It also separates tensors that are
    passed twice or depend on each other.
    """
    return x.view_as(x) if is_recorded else x.detach().requires_grad_(needs_gradient)


def saved(overload: Any, save: Save, backward: Backward, statistics: int) -> Run:
    """Record an operation with its own backward pass; see `recording_of`.

    `backward` takes a Kept and the gradients of the results that have one. The last `statistics`
    results have none. For a second derivative, the operations in `backward` must have gradients
    themselves.
    """

    class Saved(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, run: Run, packing: Packing, *tensors: Tensor | None) -> Any:
            args = packing.joined(tensors)
            results = run(*args)
            outputs = _as_tuple(results)
            ctx.save_for_backward(*save(args, outputs))
            ctx.packing = packing
            with_gradient = outputs[: len(outputs) - statistics]
            ctx.mark_non_differentiable(*outputs[len(with_gradient) :])
            # Otherwise PyTorch would make zeros for the results that serve backward, too.
            ctx.set_materialize_grads(False)
            ctx.shapes = [(x.shape, x.dtype, x.device) for x in with_gradient]
            return _followed(results)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            ensure_context(grads)
            packing: Packing = ctx.packing
            needs = packing.needs(ctx.needs_input_grad[2:])
            kept = Kept(tuple(ctx.saved_tensors), packing.options, needs)
            given = [
                torch.zeros(shape, dtype=dtype, device=device) if grad is None else grad
                for grad, (shape, dtype, device) in zip(grads, ctx.shapes, strict=False)
            ]
            found = backward(kept, *given)
            return None, None, *packing.split(found, ctx.needs_input_grad[2:])

    return _recorded_by(Saved, overload)


def _recorded_by(function: Any, overload: Any) -> Run:
    """Return a function (run, arguments...) that records `run` as `function` for its gradient."""
    # The dispatcher omits trailing arguments with default values.
    defaults = tuple(argument.default_value for argument in overload._schema.arguments)
    returns_list = [str(each.type) for each in overload._schema.returns] == ["List[Tensor]"]

    def record(run: Run, *args: Any) -> Any:
        packing, tensors = packed((*args, *defaults[len(args) :]))
        found = function.apply(run, packing, *tensors)
        return list(found) if returns_list else found

    return record


def handed_over(record: Run, recorded: Callable[..., Any] | None) -> Run:
    """Record an operation that others replace if a gradient is needed.

    `recorded` is composed of operations with gradients, or None if nothing ever replaces this one.
    `record` runs if `recorded` returns None for unsupported arguments.
    """
    if recorded is None:
        return record

    def replaced(run: Run, *args: Any) -> Any:
        found = recorded(*args)
        return record(run, *args) if found is None else found

    return replaced


def recording_of(record: Run, below: Below, reference: Callable[..., Any]) -> Below:
    """Return the autograd kernel of an operation: `record` if a gradient is needed, else `below`.

    The reference runs where a transform differentiates the call: `record` has no rule for that,
    and PyTorch would drop the tangents of the plain operation without an error.

    Args:
        record: Called with a function that runs the operation, and the arguments.
    """
    transformed = differentiable(reference)

    def autograd(keys: Any, *args: Any) -> Any:
        if has_tangents(args):
            return transformed(*args)
        if is_recorded(args):
            if _transform() is not None:
                return transformed(*args)
            return record(functools.partial(below, keys), *args)
        return below(keys, *args)

    return autograd


def is_recorded(args: Sequence[Any]) -> bool:
    """Return whether autograd records a call with these arguments."""
    return torch.is_grad_enabled() and _any_requires_grad(*args)


@dataclass(frozen=True, slots=True)
class Packing:
    """The split of arguments into tensors, which autograd follows, and options.

    Attributes:
        options: The arguments, with None in place of tensors and lists of tensors.
        counts: For each argument, -1 for a tensor, the length of a list of tensors, or None.
    """

    options: tuple[Any, ...]
    counts: tuple[int | None, ...]

    def joined(self, tensors: Sequence[Tensor | None]) -> list[Any]:
        each = iter(tensors)
        return [
            option if count is None else next(each) if count < 0 else _take(each, count)
            for option, count in zip(self.options, self.counts, strict=True)
        ]

    def needs(self, of_tensors: Sequence[bool]) -> tuple[bool, ...]:
        """Return for each argument whether one of its tensors is marked."""
        each = iter(of_tensors)
        return tuple(
            False if count is None else next(each) if count < 0 else any(_take(each, count))
            for count in self.counts
        )

    def split(self, found: Sequence[Grad], wanted: Sequence[bool]) -> list[Tensor | None]:
        """Return the gradients of the tensors from the gradients of the arguments.

        Raises:
            ValueError: If the number of gradients differs from the arguments', or from a list's.
        """
        gradients: list[Tensor | None] = []
        for gradient, count in zip(found, self.counts, strict=True):
            if count is None:
                continue
            if count < 0:
                gradients.append(cast("Tensor | None", gradient))
                continue
            of_list = [None] * count if gradient is None else list(gradient)
            if len(of_list) != count:
                raise ValueError(f"a list of {count} tensors has {len(of_list)} gradients")
            gradients += of_list
        return [x if want else None for x, want in zip(gradients, wanted, strict=True)]


def packed(args: Sequence[Any]) -> tuple[Packing, list[Tensor | None]]:
    tensors: list[Tensor | None] = []
    counts: list[int | None] = []
    for value in args:
        if isinstance(value, Tensor):
            counts.append(-1)
            tensors.append(value)
        elif is_list_of_tensors(value):
            counts.append(len(value))
            tensors += value
        else:
            counts.append(None)
    options = tuple(
        value if count is None else None for value, count in zip(args, counts, strict=True)
    )
    return Packing(options, tuple(counts)), tensors


def is_list_of_tensors(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(each, Tensor) for each in cast("Sequence[Any]", value)
    )


def tensors_of(args: Sequence[Any]) -> Iterator[Tensor]:
    """Yield every tensor among arguments, including the ones in lists."""
    for value in args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            for each in cast("Sequence[Any]", value):
                if isinstance(each, Tensor):
                    yield each


def _take(each: Iterator[Any], count: int) -> list[Any]:
    return [next(each) for _ in range(count)]


def _followed(results: Any) -> Any:
    """Return results as autograd follows them; it would see no tensor in a list."""
    return tuple(cast("list[Tensor]", results)) if isinstance(results, list) else results


def _as_tuple(results: Any) -> tuple[Tensor, ...]:
    return (results,) if isinstance(results, Tensor) else tuple(results)
