"""The table of fused operations.

A fused operation is one function: its signature is the schema, its `reference` is what it
means, and its library makes it fast. PyTorch's dispatcher picks the native kernel where one
is loaded for the device, and the reference everywhere else. What is built already is loaded by the
first call; calling an operation never compiles anything, `prepare` does.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor

from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.ops.direct import device_of_plain
from kernels.ops.launcher import CpuLauncher, CudaLauncher, Gpu, current_device

P = ParamSpec("P")
R = TypeVar("R")
NAMESPACE = "styleforge"
NETWORK = "network"  # the library of the whole network on a GPU, see kernels.network.dispatch
FRAMES = "frames"  # that of what surrounds the network there, see kernels.frames.launchers
OPERATIONS = "operations"  # that of its single operations there
PREPARE = 'python -c "import kernel_fusion; kernel_fusion.prepare()"'
NATIVE = "the native kernel"
REFERENCE = "its PyTorch reference"


class NativeKernelWarning(UserWarning):
    """Native kernels are not in use, and PyTorch's run instead; said once for each library."""


class KernelUnavailable(RuntimeError):
    """A native kernel was asked for by name and cannot run; the message says why."""


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table.

    Attributes:
        group: The module that registered it, without its package.
        name: Of the function, and of the operation in PyTorch's namespace `styleforge`.
        library: What its CPU kernel, or the operations it is made of, are built from.
        operation: The function; native where a kernel is loaded, the reference elsewhere.
        native: The native kernel; raises KernelUnavailable where it cannot run.
        reference: What it means, in PyTorch.
        samples: Arguments for the self-test of a fresh build, for `bench` and for the tests.
        mutates: The arguments that are written to.
        cuda: Its library on a GPU; without one, the reference runs there.
        on_cpu: What runs on the CPU, where that is PyTorch's or made of other operations.
        tolerance_scale: Of the self-test's tolerance; 1 is that of a norm.
        launched_on: The types of device that it has a kernel of its own for.
    """

    group: str
    name: str
    library: str
    operation: Callable[..., Any]
    native: Callable[..., Any]
    reference: Callable[..., Any]
    samples: Callable[[], Iterable[tuple[Any, ...]]]
    mutates: tuple[str, ...] = ()
    cuda: str = ""
    on_cpu: str = ""
    tolerance_scale: float = 1.0
    launched_on: tuple[str, ...] = ()

    @property
    def is_composite(self) -> bool:
        """Whether it has no kernel of its own on the CPU."""
        return bool(self.on_cpu)

    def library_on(self, device: str) -> str:
        """The library that is used on devices of this type; empty where there is none."""
        return {"cpu": self.library, "cuda": self.cuda}.get(device, "")

    def has_kernel_on(self, device: str) -> bool:
        """Whether a loaded library has a kernel for devices of this type ("cpu" or "cuda")."""
        return device in self.launched_on and build.reason(self.library_on(device)) == ""

    @property
    def overload(self) -> Any:
        """The operation as PyTorch knows it, `torch.ops.styleforge.<name>.default`."""
        return getattr(getattr(torch.ops, NAMESPACE), self.name).default


@dataclass(frozen=True, slots=True)
class KernelStatus:
    """What an operation runs on.

    Attributes:
        name: The operation.
        ready: Whether its native kernel is in use.
        reason: If not, why, in words.
        runs: What a call runs, in words.
        by_choice: Not native because PyTorch's kernels are faster there: nothing is missing.
    """

    name: str
    ready: bool
    reason: str = ""
    runs: str = NATIVE
    by_choice: bool = False


OPS: dict[str, Op] = {}

_fragment = torch.library.Library(NAMESPACE, "FRAGMENT")
_dispatch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_KEY: Any = _dispatch.DispatchKey
_any_requires_grad: Callable[..., bool] = _dispatch._any_requires_grad


def statuses(device: torch.device | str = "cpu") -> tuple[KernelStatus, ...]:
    """What calling each operation on `device` runs. Loads what is built, and builds nothing.

    Args:
        device: A device or its name; the index does not matter.

    Returns:
        A row for each operation, and on CUDA those of the network and of what surrounds it.
    """
    kind = torch.device(device).type
    whole = tuple(_RUNS_ON_GPU) if kind == "cuda" else ()
    libraries = (*(op.library_on(kind) for op in OPS.values()), *whole)
    for library in dict.fromkeys(filter(None, libraries)):
        build.load_built(library)
    return (*(_status(op, kind) for op in OPS.values()), *map(_status_on_gpu, whole))


def prepare(names: Iterable[str] | None = None, *, force: bool = False) -> tuple[KernelStatus, ...]:
    """Build and load what is missing; blocks.

    Safe to call from any thread and more than once. A build that failed before is tried again
    only when something that can change the outcome has changed, or with `force`.

    Args:
        names: Of operations; all of them, the network and what surrounds it, by default.
        force: Try what failed before again.

    Returns:
        What each operation runs on now, on the CPU, and on a GPU each library. A kernel that cannot
        be had is a status, not an error.

    Raises:
        KeyError: There is no such operation.
    """
    chosen = [OPS[name] for name in (OPS if names is None else names)]
    for library in dict.fromkeys(op.library for op in chosen if op.library):
        build.load(library, force=force)
    found = [_status(op, "cpu") for op in chosen]
    if torch.cuda.is_available():
        for library in dict.fromkeys(op.cuda for op in chosen if op.cuda):
            build.load(library, force=force)
            found.append(KernelStatus(library, not build.reason(library), build.reason(library)))
    if names is None and torch.cuda.is_available():
        for library in _RUNS_ON_GPU:
            build.load(library, force=force)
            found.append(_status_on_gpu(library))
    return tuple(found)


def use_native(library: str) -> bool:
    """Load `library` if it is built; whether it is in use.

    An image that was never used on this machine is tested first, which takes seconds. Where the
    library is not in use, a NativeKernelWarning says why, once for each library.
    """
    if build.load_built(library, tests=True):
        return True
    if build.reason(library) != build.BUILDING:
        _warn(library, build.reason(library))
    return False


def _warn(library: str, reason: str) -> None:
    if library in _warned:
        return
    _warned.add(library)
    warnings.warn(
        f"StyleForge's native kernels '{library}' are not in use: {reason}. PyTorch's run "
        f"instead, which takes longer. To build them once: {PREPARE}",
        NativeKernelWarning,
        stacklevel=3,
    )


_warned: set[str] = set()


# Of libraries that have no operations: what runs on a GPU with them, and what without.
_RUNS_ON_GPU = {
    NETWORK: ("the native network", "its operations, one after another"),
    FRAMES: ("native kernels around the network", "OpenCV on the CPU"),
}


def _status_on_gpu(library: str) -> KernelStatus:
    reason, (native, instead) = build.reason(library), _RUNS_ON_GPU[library]
    return KernelStatus(library, not reason, reason, instead if reason else native)


def _status(op: Op, device: str) -> KernelStatus:
    library = op.library_on(device)
    reason = build.reason(library) if library else ""
    if device == "cpu" and op.on_cpu:
        runs = op.on_cpu.format(norm="the reference norm" if reason else "the native norm")
        why = reason or "no native convolution for the CPU: PyTorch's is faster there"
        return KernelStatus(op.name, False, why, runs, by_choice=not reason)
    if not library:
        kind = "CUDA" if device == "cuda" else device
        reason = f"no native {kind} kernel; runs on its PyTorch reference"
    return KernelStatus(op.name, not reason, reason, REFERENCE if reason else NATIVE)


def fused(
    library: str,
    *,
    reference: Callable[P, R],
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    mutates: tuple[str, ...] = (),
    cpu: Callable[P, R] | None = None,
    on_cpu: str = "",
    cuda: str = "",
    launch_cpu: Callable[Concatenate[CpuLauncher, P], R] | None = None,
    launch_cuda: Callable[Concatenate[CudaLauncher, P], R] | None = None,
    tolerance_scale: float = 1.0,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated signature as a fused operation.

    Args:
        library: What its kernel on the CPU is built from, see kernels.jit.libraries. Where the
            fast path on the CPU is made of other operations, the library of these; empty if they
            are PyTorch's own.
        reference: What the operation means, in PyTorch.
        samples: Yields arguments, on the CPU. A fresh build is compared with the reference on each
            of them; `bench` times the operation on them.
        mutates: The arguments that are written to. Such an operation returns nothing, is for
            inference only, and raises RuntimeError where a gradient would be needed.
        cpu: The fast path on the CPU where that is made of PyTorch's and other operations, if it
            is not the reference.
        on_cpu: The name of that path; "{norm}" stands for the norm that is in use.
        cuda: The library of its kernel on a GPU, if there is one.
        launch_cpu: Runs the operation on the CPU: allocates the result and calls the functions of
            `library` through the CpuLauncher, its first argument.
        launch_cuda: Runs the operation on a GPU, in the same way, by what the library `cuda` has,
            with that GPU as the current one.
        tolerance_scale: Multiplies what the self-test allows for rounding.

    Raises:
        ValueError: There is something to launch, but no library to launch from.
    """
    if (launch_cpu is not None and not library) or (launch_cuda is not None and not cuda):
        raise ValueError("an operation with a launch names the library that it launches from")

    def register(signature: Callable[P, R]) -> Callable[P, R]:
        name = signature.__name__
        qualified = f"{NAMESPACE}::{name}"
        schema = torch.library.infer_schema(signature, mutates_args=mutates)  # pyright: ignore[reportUnknownMemberType]
        torch.library.define(qualified, schema)
        torch.library.impl(qualified, "CompositeExplicitAutograd")(reference)
        if cpu is not None:
            torch.library.impl(qualified, "CPU")(cpu)
        on_cpu_tensors = on_cuda_tensors = None
        if launch_cpu is not None:
            on_cpu_tensors = _launched_on_cpu(library, launch_cpu, reference)
            torch.library.impl(qualified, "CPU")(on_cpu_tensors)
        if launch_cuda is not None:
            on_cuda_tensors = _launched_on_cuda(cuda, launch_cuda, reference)
            torch.library.impl(qualified, "CUDA")(on_cuda_tensors)
        overload = getattr(getattr(torch.ops, NAMESPACE), name).default
        below = _below_autograd(overload, CPU=on_cpu_tensors, CUDA=on_cuda_tensors)
        autograd = (
            _inference_only(name, overload, below, mutates)
            if mutates
            else _differentiable(overload, below, reference)
        )
        _fragment.impl(name, autograd, "Autograd", with_keyset=True)  # pyright: ignore[reportUnknownMemberType]

        @functools.wraps(signature)
        def operation(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs and args:
                device = device_of_plain(args)
                if device is not None:
                    kernel = on_cpu_tensors if device < 0 else on_cuda_tensors
                    if kernel is not None:
                        return kernel(*args, **kwargs)
            return overload(*args, **kwargs)

        arguments = inspect.signature(signature)

        @functools.wraps(signature)
        def native(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = arguments.bind(*args, **kwargs)
            _demand_native(OPS[name], bound.arguments)
            return overload(*bound.args, **bound.kwargs)

        OPS[name] = Op(
            group=signature.__module__.rpartition(".")[2],
            name=name,
            library=library,
            operation=operation,
            native=native,
            reference=reference,
            samples=samples,
            mutates=mutates,
            cuda=cuda,
            on_cpu=on_cpu,
            tolerance_scale=tolerance_scale,
            launched_on=("cpu",) * (launch_cpu is not None) + ("cuda",) * (launch_cuda is not None),
        )
        return operation

    return register


def _launched_on_cpu(
    library: str, launch: Callable[Concatenate[CpuLauncher, P], R], reference: Callable[P, R]
) -> Callable[P, R]:
    """What runs on CPU tensors: the functions of the library, or the reference without it."""
    launcher: CpuLauncher | None = None

    @functools.wraps(reference)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal launcher
        if build.reason(library) and not use_native(library):
            return reference(*args, **kwargs)
        loaded = build.handle(library)
        if launcher is None or launcher.library is not loaded:
            launcher = CpuLauncher(loaded)
        return launch(launcher, *args, **kwargs)

    return run


def _launched_on_cuda(
    library: str, launch: Callable[Concatenate[CudaLauncher, P], R], reference: Callable[P, R]
) -> Callable[P, R]:
    """What runs on CUDA tensors: the launchers of the library, or the reference without it."""
    launchers: dict[int, tuple[Any, CudaLauncher | None]] = {}  # by GPU, and what it was made of

    @functools.wraps(reference)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if build.reason(library) and not use_native(library):
            return reference(*args, **kwargs)
        first: Any = args[0] if args else None
        if not isinstance(first, Tensor):
            first = next(x for x in (*args, *kwargs.values()) if isinstance(x, Tensor))
        index = first.get_device()
        loaded = build.handle(library)
        found, launcher = launchers.get(index, (None, None))
        if found is not loaded:
            launcher = _launcher_on(library, loaded, first.device)
            launchers[index] = loaded, launcher
        if launcher is None:
            return reference(*args, **kwargs)
        if index == current_device():
            return launch(launcher, *args, **kwargs)
        with torch.cuda.device(index):
            return launch(launcher, *args, **kwargs)

    return run


def _launcher_on(library: str, loaded: Any, device: torch.device) -> CudaLauncher | None:
    """The library on a GPU; None, and a warning, where no image of it is for that one."""
    try:
        return CudaLauncher(loaded.on(device), Gpu.of(device.index))
    except BuildError as error:
        _warn(f"{library} on {device}", str(error))
        return None


def _demand_native(op: Op, arguments: dict[str, Any]) -> None:
    """Have the native kernel run with these arguments, or raise KernelUnavailable."""
    tensors = [x for x in arguments.values() if isinstance(x, Tensor)]
    device = tensors[0].device.type if tensors else "cpu"
    if library := op.library_on(device):
        build.load_built(library)
    status = _status(op, device)
    if not status.ready:
        raise KernelUnavailable(f"{op.name}: {status.reason}")
    if device != "cuda":
        return
    if tensors[0].dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise KernelUnavailable(f"{op.name}: no native CUDA kernel in {tensors[0].dtype}")
    if any(x.numel() >= 1 << 31 for x in tensors):
        raise KernelUnavailable(f"{op.name}: the native CUDA kernels take 2^31 elements at most")
    if any(argument.name == "own_kernel" for argument in op.overload._schema.arguments):
        arguments["own_kernel"] = True  # cuDNN's is not ours


def _below_autograd(overload: Any, **on: Callable[..., Any] | None) -> Callable[..., Any]:
    """What runs an operation of which no gradient is taken: (keys, arguments...).

    Args:
        overload: The operation as PyTorch knows it.
        on: By backend, the function in Python that is its kernel there.
    """
    plain: dict[int, Callable[..., Any]] = {}
    for backend, function in on.items():
        keys = (getattr(_KEY, backend), getattr(_KEY, f"Autograd{backend}"))
        if function is not None:
            first, second = map(_dispatch.DispatchKeySet, keys)
            plain[(first | second).raw_repr()] = function

    def run(keys: Any, *args: Any) -> Any:
        # Nothing comes between autograd and a plain tensor's kernel, and a second way through the
        # dispatcher would take as long as the first.
        direct = plain.get(keys.raw_repr())
        if direct is not None:
            return direct(*args)
        keys = keys & _dispatch._after_autograd_keyset
        with _dispatch._AutoDispatchBelowAutograd():
            return overload.redispatch(keys, *args)

    return run


def _inference_only(
    name: str, overload: Any, below: Callable[..., None], mutates: tuple[str, ...]
) -> Callable[..., None]:
    order = {argument.name: at for at, argument in enumerate(overload._schema.arguments)}
    places = [order[argument] for argument in mutates]

    def autograd(keys: Any, *args: Any) -> None:
        if torch.is_grad_enabled() and _any_requires_grad(*args):
            raise RuntimeError(f"{name} writes into its arguments and has no gradient")
        below(keys, *args)
        torch.autograd.graph.increment_version([args[at] for at in places])

    return autograd


def _differentiable(
    overload: Any, below: Callable[..., Tensor], reference: Callable[..., Any]
) -> Callable[..., Tensor]:
    """Backward for any fused forward: run the reference again and differentiate that."""
    # The dispatcher passes no trailing arguments that have their default.
    defaults = tuple(argument.default_value for argument in overload._schema.arguments)

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, keys: Any, *args: Any) -> Tensor:
            ctx.save_for_backward(*(x for x in args if isinstance(x, Tensor)))
            ctx.template = [None if isinstance(x, Tensor) else x for x in args]
            ctx.is_tensor = [isinstance(x, Tensor) for x in args]
            return below(keys, *args)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
            needs = ctx.needs_input_grad[1:]
            saved = iter(ctx.saved_tensors)
            inputs = [
                next(saved).detach().requires_grad_(need) if is_tensor else value
                for value, is_tensor, need in zip(ctx.template, ctx.is_tensor, needs, strict=True)
            ]
            wanted = [x for x, need in zip(inputs, needs, strict=True) if need]
            with torch.enable_grad():
                found = iter(torch.autograd.grad(reference(*inputs), wanted, *grads))
            return None, *(next(found) if need else None for need in needs)

    function: Any = Recomputed

    def autograd(keys: Any, *args: Any) -> Tensor:
        if torch.is_grad_enabled() and _any_requires_grad(*args):
            return function.apply(keys, *args, *defaults[len(args) :])
        return below(keys, *args)

    return autograd
