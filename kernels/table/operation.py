"""The table of fused operations.

A fused operation is one declared object. It decorates a function whose signature is the schema; its
`reference` defines its result, and its libraries make it fast. PyTorch's dispatcher runs the native
kernel if one is loaded for the device, and the reference otherwise. The first call loads existing
builds. Calling an operation never compiles anything; `prepare` does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.jit import build
from kernels.table import autograd, signature, ways
from kernels.table.autograd import tensors_of
from kernels.table.direct import device_of_plain
from kernels.table.launcher import without_autocast
from kernels.table.names import GENERAL, NAMESPACE, STYLE, family_of, group_of
from kernels.table.parts import Cpu, Cuda, Gradient, Hidden, Timed
from kernels.table.status import NATIVE, REFERENCE, KernelStatus, KernelUnavailable
from utils.translation.texts import mark, tr

P = ParamSpec("P")
R = TypeVar("R")
Run = Callable[..., Any]

# Reasons for PyTorch's kernel where none of ours is faster.
FASTER_CONVOLUTION = mark("no native convolution for the {device}: PyTorch's is faster there")
FASTER_KERNEL = mark("no native kernel for the {device}: PyTorch's is faster there")

_fragment = torch.library.Library(NAMESPACE, "FRAGMENT")


class _Direct(NamedTuple):
    """The ways to run an operation without the dispatcher: kernels, and recording for a gradient.

    `record` is called with a kernel and the arguments; None for an operation without a gradient of
    its own.
    """

    cpu: Run | None
    cuda: Run | None
    record: Run | None


@dataclass(eq=False, kw_only=True)
class Operation:
    """A fused operation: one row of the table, which decorates its signature.

    Autocast chooses the dtype of the products in composed operations and in operations of style
    networks, as in PyTorch's. All others compute in the dtypes of their arguments; see
    without_autocast.

    Attributes:
        reference: The operation in PyTorch. Once declared, it accepts calls like the function.
        samples: Yields arguments on the CPU. A fresh build is compared with the reference on each
            of them, the tests use them, and `bench` times the operation on them.
        cpu: Its way on the CPU.
        cuda: Its kernel on a GPU. Without one, the reference runs there.
        gradient: Its own gradient. Without one, autograd reruns and differentiates the reference.
        composed: In place of kernels and gradients: the operation composed of PyTorch's and others
            of the table, with their gradients. Autograd and compilers see these. `cpu` and `cuda`
            name the libraries of the others.
        hidden: Results of the dispatcher's operation that the function does not return.
        mutates: The arguments that it writes to. Such an operation returns nothing, is for
            inference only, and raises RuntimeError if a gradient would be needed.
        complete: Returns all arguments in order, with a random state if the caller passed none. The
            dispatcher sees no random numbers, so that a call can be repeated.
        derived: Arguments that follow from the others, such as the forward results in a backward,
            which the reference does not read. The derivatives with respect to the others include
            their effect.
        refuses: Called with the arguments by name; returns why its kernel cannot run with them, or
            "". A call of the kernel by name then does not silently run PyTorch's.
        tolerance_scale: Multiplies the self-test's tolerance for rounding; a norm has 1.
        timed: How to time it. If None, it is timed on its samples, against its reference.
        aliases: Other names of the operation, in Python alone.
        is_flat: Whether `kernel_fusion.kernels` has it, by all its names, besides its group.
        family: The kind of network it is for: STYLE, TRANSFORMER or, for any, GENERAL. By default,
            its folder says it.
        name: Name of the function and of the operation in PyTorch's namespace `styleforge`.
        group: The folder or module that declared it, without its package.
        operation: The function; native if a kernel is loaded, the reference otherwise.
        native: The native kernel; raises KernelUnavailable if it cannot run.
    """

    reference: Run
    samples: Callable[[], Iterable[tuple[Any, ...]]]
    cpu: Cpu = field(default_factory=Cpu)
    cuda: Cuda | None = None
    gradient: Gradient = field(default_factory=Gradient)
    composed: Run | None = None
    hidden: Hidden = field(default_factory=Hidden)
    mutates: tuple[str, ...] = ()
    complete: Callable[..., tuple[Any, ...]] | None = None
    derived: tuple[str, ...] = ()
    refuses: Callable[..., str] | None = None
    tolerance_scale: float = 1.0
    timed: Timed | None = None
    aliases: tuple[str, ...] = ()
    is_flat: bool = False
    family: str = ""
    name: str = field(init=False)
    group: str = field(init=False)
    operation: Run = field(init=False)
    native: Run = field(init=False)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Register the decorated signature as this operation, and return its function.

        Raises:
            ValueError: If a name is taken.
        """
        self.name, module = function.__name__, function.__module__
        for name in self.names:
            if named(name) is not None:
                raise ValueError(f"there is already an operation named {name}")
        self.group, self.family = group_of(module), self.family or family_of(module)
        arguments = inspect.signature(function, eval_str=True)
        operation, native = self._functions(function, arguments, self._dispatched(arguments))
        bind, reference = signature.in_order(arguments), self.reference
        self.reference = lambda *args, **kwargs: reference(*bind(*args, **kwargs))
        self.operation, self.native = operation, native
        OPS[self.name] = self
        ALIASES.update(dict.fromkeys(self.aliases, self.name))
        return operation

    def _dispatched(self, arguments: inspect.Signature) -> _Direct:
        """Register at PyTorch's dispatcher, and return what may run without it."""
        qualified, tails = f"{NAMESPACE}::{self.name}", signature.tails_of(arguments)
        declared = signature.dispatched(arguments, self.hidden.results)
        schema = torch.library.infer_schema(declared, mutates_args=self.mutates)  # pyright: ignore[reportUnknownMemberType]
        torch.library.define(qualified, schema)
        # Autocast affects only the operations of style networks below the dispatcher.
        below = _unchanged if self.family == STYLE else without_autocast
        reference = below(signature.filling(self.reference, tails))
        on_cpu = ways.on_cpu(self.cpu, self.reference, tails)
        on_cuda = ways.on_cuda(self.cuda, self.reference, tails)
        on_cpu, on_cuda = on_cpu and below(on_cpu), on_cuda and below(on_cuda)
        path = self.cpu.path and below(signature.filling(self.cpu.path, tails))
        composed = self.composed and signature.filling(self.composed, tails)
        for key, kernel in (
            ("CompositeExplicitAutograd", None if composed else reference),
            ("CompositeImplicitAutograd", composed and autograd.composition(composed, reference)),
            ("CPU", on_cpu or path),
            ("CUDA", on_cuda),
        ):
            if kernel is not None:
                torch.library.impl(qualified, key)(kernel)
        record: Run | None = None
        if composed is None:
            below_autograd = autograd.below_autograd(self.overload, CPU=on_cpu, CUDA=on_cuda)
            if self.mutates:
                recording = autograd.inference_only(
                    self.name, self.overload, below_autograd, self.mutates
                )
            else:
                record = self._recorder(reference, tails)
                recording = autograd.recording_of(record, below_autograd, reference)
            _fragment.impl(self.name, recording, "Autograd", with_keyset=True)  # pyright: ignore[reportUnknownMemberType]
        batched = autograd.batched(self.name, self.overload, reference, self.mutates)
        if batched is not None:
            _fragment.impl(self.name, batched, "FuncTorchBatched")  # pyright: ignore[reportUnknownMemberType]
        return _Direct(on_cpu, on_cuda, record)

    def _recorder(self, reference: Run, tails: signature.Tails) -> Run:
        """Return the function that records a call for its gradient, see autograd.recording_of."""
        overload, gradient = self.overload, self.gradient
        if gradient.save is not None and gradient.backward is not None:
            own = gradient.save, gradient.backward, gradient.statistics
            record = autograd.saved(overload, *own)
        else:
            record = autograd.recomputed(overload, reference)
        recorded = gradient.recorded and signature.filling(gradient.recorded, tails)
        return autograd.handed_over(record, recorded)

    def _functions(
        self,
        function: Callable[P, R],
        arguments: inspect.Signature,
        direct: _Direct,
    ) -> tuple[Callable[P, R], Callable[P, R]]:
        """Return the function and the native kernel, with the decorated signature."""
        overload, (on_cpu, on_cuda, record) = self.overload, direct
        bind = signature.in_order(arguments, self.complete)
        shown = self._shown(arguments)
        written = autograd.places_of(overload, self.mutates)
        most = len(arguments.parameters)
        needed = max(1, signature.needed_by(arguments))

        @functools.wraps(function)
        def operation(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs and needed <= len(args) <= most:
                device = device_of_plain(args)
                if device is not None:
                    kernel = on_cpu if device < 0 else on_cuda
                    if kernel is not None and not autograd.is_recorded(args):
                        result = kernel(*args)
                        if written:  # through the dispatcher, the autograd kernel would count these
                            autograd.count_writes(args, written)
                        return result
                    if kernel is not None and record is not None:
                        return record(kernel, *args)
            return overload(*args, **kwargs)

        run: Any = operation

        @functools.wraps(function)
        def completed(*args: P.args, **kwargs: P.kwargs) -> R:
            given = bind(*args, **kwargs)
            return shown(given, run(*given))

        @functools.wraps(function)
        def native(*args: P.args, **kwargs: P.kwargs) -> R:
            call = arguments.bind(*bind(*args, **kwargs))
            self._demand_native(call.arguments)
            return shown(call.args, overload(*call.args))

        is_bound = self.complete is None and not self.hidden.results
        called = operation if is_bound and not signature.lists_in(arguments) else completed
        for each in (called, native):
            vars(each)["__signature__"] = arguments
        return signature.explained(self.name, called), signature.explained(self.name, native)

    def _shown(self, arguments: inspect.Signature) -> Callable[[Sequence[Any], Any], Any]:
        """Return a function that returns the declared results among all results."""
        count, update = signature.results_of(arguments), self.hidden.update

        def shown(given: Sequence[Any], results: Sequence[Tensor]) -> Any:
            if update is not None:
                update(given, results)
            return results[0] if count == 1 else tuple(results[:count])

        return shown if self.hidden.results else lambda _, results: results

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def overload(self) -> Any:
        """The PyTorch overload, `torch.ops.styleforge.<name>.default`."""
        return getattr(getattr(torch.ops, NAMESPACE), self.name).default

    @property
    def is_composite(self) -> bool:
        """Whether it has no kernel of its own on the CPU."""
        return bool(self.cpu.named)

    def library_on(self, device: str) -> str:
        """Return the library for devices of this type; empty if it has none."""
        on_cuda = self.cuda.library if self.cuda else ""
        return {"cpu": self.cpu.library, "cuda": on_cuda}.get(device, "")

    def has_kernel_on(self, device: str) -> bool:
        """Return whether a loaded library has a kernel for a device type ("cpu" or "cuda")."""
        of_others = device == "cuda" and self.composed is not None
        way = {"cpu": self.cpu, "cuda": self.cuda}[device]
        has_kernel = way is not None and (way.launch is not None or of_others)
        return has_kernel and build.reason(self.library_on(device)) == ""

    def status_on(self, device: str) -> KernelStatus:
        """Return its status on a device type, from the loaded libraries."""
        library, named = self.library_on(device), self.cpu.named
        reason = tr(build.reason(library)) if library else ""
        if named and (device == "cpu" or (device == "cuda" and not library)):
            runs = named.format(norm="the reference norm" if reason else "the native norm")
            faster = FASTER_CONVOLUTION if self.family == STYLE else FASTER_KERNEL
            why = reason or tr(faster, device="CPU" if device == "cpu" else "GPU")
            return KernelStatus(self.name, False, why, runs, by_choice=not reason)
        if not library:
            kind = "CUDA" if device == "cuda" else device
            reason = tr("no native {device} kernel; runs on its PyTorch reference", device=kind)
            # A kernel for the CPU alone moves bytes that PyTorch moves as fast on a GPU.
            for_cpu_alone = device == "cuda" and bool(self.cpu.library)
            return KernelStatus(self.name, False, reason, REFERENCE, by_choice=for_cpu_alone)
        return KernelStatus(self.name, not reason, reason, REFERENCE if reason else NATIVE)

    def _demand_native(self, arguments: dict[str, Any]) -> None:
        """Make a call with these arguments run the native kernel, or raise KernelUnavailable."""
        tensors = list(tensors_of(tuple(arguments.values())))
        device = tensors[0].device.type if tensors else "cpu"
        if library := self.library_on(device):
            build.load_built(library)
        status = self.status_on(device)
        if not status.ready:
            raise KernelUnavailable(f"{self.name}: {status.reason}")
        if device == "cuda" and self.cuda and tensors[0].dtype not in self.cuda.dtypes:
            raise KernelUnavailable(f"{self.name}: no native CUDA kernel in {tensors[0].dtype}")
        if self.refuses is not None and (reason := self.refuses(**arguments)):
            raise KernelUnavailable(f"{self.name}: {reason}")
        if device != "cuda" or self.family == GENERAL:
            return
        if any(x.numel() >= 1 << 31 for x in tensors):
            raise KernelUnavailable(
                f"{self.name}: the native CUDA kernels take at most 2^31 elements"
            )
        if "own_kernel" in arguments:
            arguments["own_kernel"] = True  # run ours instead of cuDNN's


def _unchanged(run: Run) -> Run:
    return run


OPS: dict[str, Operation] = {}
ALIASES: dict[str, str] = {}  # names of operations by alias


def named(name: str) -> Operation | None:
    return OPS.get(ALIASES.get(name, name))
