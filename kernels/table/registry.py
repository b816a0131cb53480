"""The table of fused operations.

A fused operation is one function. Its signature is the schema, its `reference` defines its result,
and its library makes it fast. PyTorch's dispatcher runs the native kernel if one is loaded for the
device, and the reference otherwise. The first call loads existing builds. Calling an operation
never compiles anything; `prepare` does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, Concatenate, ParamSpec, TypeVar, Union, get_args, get_origin

import torch

from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table import autograd
from kernels.table.autograd import Backward, Save, tensors_of
from kernels.table.direct import device_of_plain
from kernels.table.launcher import CpuLauncher, CudaLauncher, Gpu, current_device, without_autocast
from kernels.table.operation import ALIASES as ALIASES
from kernels.table.operation import FRAMES as FRAMES
from kernels.table.operation import LIBRARY as LIBRARY
from kernels.table.operation import NAMESPACE as NAMESPACE
from kernels.table.operation import NETWORK as NETWORK
from kernels.table.operation import OPERATIONS as OPERATIONS
from kernels.table.operation import OPS as OPS
from kernels.table.operation import SMOOTHING as SMOOTHING
from kernels.table.operation import STYLE as STYLE
from kernels.table.operation import TEXTURE as TEXTURE
from kernels.table.operation import TRANSFORMER as TRANSFORMER
from kernels.table.operation import KernelStatus as KernelStatus
from kernels.table.operation import KernelUnavailable as KernelUnavailable
from kernels.table.operation import NativeKernelWarning as NativeKernelWarning
from kernels.table.operation import Op as Op
from kernels.table.operation import Timed as Timed
from kernels.table.operation import in_use as in_use
from kernels.table.operation import named as named
from kernels.table.operation import prepare as prepare
from kernels.table.operation import status_of, warn
from kernels.table.operation import statuses as statuses
from kernels.table.operation import use_native as use_native
from utils.misfits import misfit

P = ParamSpec("P")
R = TypeVar("R")

_fragment = torch.library.Library(NAMESPACE, "FRAGMENT")


def fused(
    library: str,
    *,
    reference: Callable[..., Any],
    samples: Callable[[], Iterable[tuple[Any, ...]]],
    mutates: tuple[str, ...] = (),
    cpu: Callable[..., Any] | None = None,
    on_cpu: str = "",
    cuda: str = "",
    launch_cpu: Callable[Concatenate[CpuLauncher, ...], Any] | None = None,
    launch_cuda: Callable[Concatenate[CudaLauncher, ...], Any] | None = None,
    tolerance_scale: float = 1.0,
    family: str = STYLE,
    save: Save | None = None,
    backward: Backward | None = None,
    statistics: int = 0,
    derived: tuple[str, ...] = (),
    refuses: Callable[..., str] | None = None,
    aliases: tuple[str, ...] = (),
    is_flat: bool = False,
    cuda_dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.float16, torch.bfloat16),
    complete: Callable[..., tuple[Any, ...]] | None = None,
    hidden: int = 0,
    update: Callable[[Sequence[Any], Sequence[torch.Tensor]], None] | None = None,
    timed: Mapping[str, Timed] | None = None,
    composed: Callable[..., Any] | None = None,
    recorded: Callable[..., Any] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated signature as a fused operation.

    Autocast chooses the dtype of the products in composed operations and in operations of style
    networks, as in PyTorch's. All others compute in the dtypes of their arguments; see
    without_autocast.

    Args:
        library: The library of its CPU kernel, see kernels.jit.libraries. For a CPU path composed
            of other operations, their library; empty if they are PyTorch's own.
        reference: The operation in PyTorch.
        samples: Yields arguments on the CPU. A fresh build is compared with the reference on each
            of them, and `bench` times the operation on them.
        mutates: The arguments that it writes to. Such an operation returns nothing, is for
            inference only, and raises RuntimeError if a gradient would be needed.
        cpu: The fast path on the CPU if it is composed of operations and is not the reference.
        on_cpu: The name of that path; "{norm}" stands for the norm in use.
        cuda: The library of its kernel on a GPU, if it has one.
        launch_cpu: Runs the operation on the CPU: it allocates the result and calls the functions
            of `library` through its first argument, the CpuLauncher.
        launch_cuda: Likewise on a GPU, the current one, from the library `cuda`.
        tolerance_scale: Multiplies the self-test's tolerance for rounding.
        family: STYLE, TRANSFORMER or LIBRARY, see Op.
        save: With `backward`: selects the tensors to save from the arguments and the results.
            Random numbers of the forward pass are saved as their state, an argument of the
            operation, so that backward draws the same ones.
        backward: Returns the gradient of each argument from the saved state (autograd.Kept) and the
            gradients of the results: a tensor, a list of them for a list, or None. It calls
            operations that the dispatcher knows, so that it can be traced. If a second derivative
            is wanted, these need one. Without `backward`, autograd reruns and differentiates the
            reference.
        statistics: Number of last results that only serve `backward` and have no gradient.
        derived: Arguments that follow from the others, see Op. The reference does not read them.
        refuses: Called with the arguments by name; returns why its kernel cannot run with them. A
            call of the kernel by name then does not silently run PyTorch's.
        aliases: Other names of the operation, in Python alone.
        is_flat: Whether it is found in `kernel_fusion.kernels` as well as in its group there.
        cuda_dtypes: Dtypes the CUDA kernel accepts for its first tensor.
        complete: Called with the arguments of the function; returns all arguments in order, with a
            random state if the caller passed none. The dispatcher sees no random numbers, so that a
            call can be repeated.
        hidden: Number of last results that the dispatcher's operation returns for `backward` and
            the function does not. The decorated signature leaves them out.
        update: Called with all arguments in order and all results. It writes the tensors that
            PyTorch's own operations can write, such as running statistics, so that the operation
            itself writes nothing and has gradients.
        timed: How to time operations, by name, see Op.
        composed: In place of kernels and gradients: the operation composed of PyTorch's and others
            of the table, with their gradients. Autograd and compilers see these. `library` and
            `cuda` are the libraries of the others.
        recorded: Runs in place of the operation if a gradient is wanted: composed of others of the
            table, with their gradients. If it returns None, the operation runs.

    Raises:
        ValueError: If a launch has no library, if only one of `save` and `backward` is given, if
            `update` has no hidden results, or if a name is taken.
    """
    launches = (launch_cpu, library), (launch_cuda, cuda)
    _check_options(launches, save, backward, statistics)
    if update is not None and not hidden:
        raise ValueError("an operation with an update has hidden results that it reads")

    def register(signature: Callable[P, R]) -> Callable[P, R]:
        name = signature.__name__
        _check_names(name, *aliases)
        qualified = f"{NAMESPACE}::{name}"
        arguments = inspect.signature(signature, eval_str=True)
        dispatched = _dispatched(arguments, hidden)
        schema = torch.library.infer_schema(dispatched, mutates_args=mutates)  # pyright: ignore[reportUnknownMemberType]
        torch.library.define(qualified, schema)
        as_given = functools.partial(_under_autocast, family)
        plain: Callable[..., Any] = as_given(reference)
        gradients = "Explicit" if composed is None else "Implicit"
        whole_or_reference = autograd.composition(composed, plain) if composed else plain
        torch.library.impl(qualified, f"Composite{gradients}Autograd")(whole_or_reference)
        on_cpu_tensors = launch_cpu and as_given(_launched_on_cpu(library, launch_cpu, reference))
        on_cuda_tensors = launch_cuda and as_given(_launched_on_cuda(cuda, launch_cuda, reference))
        _implement(qualified, "CPU", on_cpu_tensors or (cpu and as_given(cpu)))
        _implement(qualified, "CUDA", on_cuda_tensors)
        overload = getattr(getattr(torch.ops, NAMESPACE), name).default
        below = autograd.below_autograd(overload, CPU=on_cpu_tensors, CUDA=on_cuda_tensors)
        if mutates:
            recording = autograd.inference_only(name, overload, below, mutates)
        elif save is not None and backward is not None:
            recording = autograd.saved(overload, below, plain, save, backward, statistics)
        else:
            recording = autograd.recomputed(overload, below, plain)
        recording = autograd.handed_over(recording, recorded)
        if composed is None:
            _fragment.impl(name, recording, "Autograd", with_keyset=True)  # pyright: ignore[reportUnknownMemberType]
        _implement_vmap(name, autograd.batched(name, overload, plain, mutates))

        whole: Callable[..., tuple[Any, ...]] = complete or in_order(signature)
        shown = _shown(arguments, hidden, update)
        written = autograd.places_of(overload, mutates)

        @functools.wraps(signature)
        def operation(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs and args:
                device = device_of_plain(args)
                if device is not None:
                    kernel = on_cpu_tensors if device < 0 else on_cuda_tensors
                    if kernel is not None:
                        result = kernel(*args, **kwargs)
                        if written:  # through the dispatcher, the autograd kernel would count these
                            autograd.count_writes(args, written)
                        return result
            return overload(*args, **kwargs)

        @functools.wraps(signature)
        def completed(*args: P.args, **kwargs: P.kwargs) -> R:
            run: Any = operation
            given = whole(*args, **kwargs)
            return shown(given, run(*given))

        @functools.wraps(signature)
        def native(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = arguments.bind(*whole(*args, **kwargs))
            _demand_native(OPS[name], bound.arguments)
            return shown(bound.args, overload(*bound.args, **bound.kwargs))

        for function in (operation, completed, native):
            vars(function)["__signature__"] = arguments
        OPS[name] = Op(
            group=_group(signature.__module__),
            name=name,
            library=library,
            operation=_explained(name, operation if complete is None and not hidden else completed),
            native=_explained(name, native),
            reference=reference,
            samples=samples,
            mutates=mutates,
            cuda=cuda,
            on_cpu=on_cpu,
            tolerance_scale=tolerance_scale,
            launched_on=("cpu",) * (launch_cpu is not None)
            + ("cuda",) * (launch_cuda is not None or (composed is not None and cuda != "")),
            family=family,
            has_own_backward=backward is not None,
            derived=derived,
            refuses=refuses,
            aliases=aliases,
            is_flat=is_flat,
            cuda_dtypes=cuda_dtypes,
            timed=(timed or {}).get(name),
        )
        ALIASES.update(dict.fromkeys(aliases, name))
        return OPS[name].operation

    return register


def _group(module: str) -> str:
    """Return the name of an operation's group: its module, or the folder of an `api` module."""
    folder, _, name = module.rpartition(".")
    return folder.rpartition(".")[2] if name == "api" else name


def _implement(name: str, key: str, kernel: Callable[..., Any] | None) -> None:
    if kernel is not None:
        torch.library.impl(name, key)(kernel)


def _implement_vmap(name: str, kernel: Callable[..., Any] | None) -> None:
    if kernel is not None:
        _fragment.impl(name, kernel, "FuncTorchBatched")  # pyright: ignore[reportUnknownMemberType]


def _dispatched(arguments: inspect.Signature, hidden: int) -> Callable[..., Any]:
    """Return a function with the dispatcher's signature.

    The dispatcher takes lists of numbers and returns the hidden results.
    """

    def function(*_: Any, **__: Any) -> Any: ...

    told = [
        each.replace(annotation=_in_schema(each.annotation))
        for each in arguments.parameters.values()
    ]
    returned: Any = arguments.return_annotation
    if hidden:
        returned = tuple.__class_getitem__((torch.Tensor,) * (_results(arguments) + hidden))
    declared = arguments.replace(parameters=told, return_annotation=returned)
    vars(function)["__signature__"] = declared
    return function


def _in_schema(annotation: Any) -> Any:
    """Return the type for PyTorch's schema, which has lists and no number in place of a list."""
    origin, of = get_origin(annotation), get_args(annotation)
    if origin is Sequence:
        return list.__class_getitem__(of)
    if origin is UnionType and any(get_origin(each) is Sequence for each in of):
        return Union[tuple(_in_schema(each) for each in of if each is not int)]  # noqa: UP007
    return annotation


def _results(arguments: inspect.Signature) -> int:
    """Return the number of tensors that a function with this signature returns."""
    returned = arguments.return_annotation
    return 1 if returned is torch.Tensor else len(get_args(returned))


def _shown(
    arguments: inspect.Signature,
    hidden: int,
    update: Callable[[Sequence[Any], Sequence[torch.Tensor]], None] | None,
) -> Callable[..., Any]:
    """Return a function that returns the declared results among all results."""
    if not hidden:
        return _results_alone
    count = _results(arguments)

    def shown(given: Sequence[Any], results: Sequence[torch.Tensor]) -> Any:
        if update is not None:
            update(given, results)
        return results[0] if count == 1 else tuple(results[:count])

    return shown


def _explained(name: str, run: Callable[P, R]) -> Callable[P, R]:
    """Make a failing call raise TypeError if an argument does not match its annotation.

    The dispatcher, or a function behind it, would name itself instead of the operation.
    """

    @functools.wraps(run)
    def explained(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return run(*args, **kwargs)
        except Exception as error:
            found = misfit(inspect.signature(run), args, kwargs)
            if found:
                raise TypeError(f"{name}: {found}") from error
            raise

    return explained


def _results_alone(_given: Sequence[Any], results: Any) -> Any:
    return results


def _under_autocast(family: str, run: Callable[P, R]) -> Callable[P, R]:
    """Return the function to run below the dispatcher; autocast affects only style networks."""
    return run if family == STYLE else without_autocast(run)


def _check_options(
    launches: Iterable[tuple[object, str]],
    save: Save | None,
    backward: Backward | None,
    statistics: int,
) -> None:
    if any(launch is not None and not library for launch, library in launches):
        raise ValueError("an operation with a launch must name its library")
    if (save is None) != (backward is None) or (statistics and backward is None):
        raise ValueError("an operation must have both save and backward, or neither")


def _check_names(*names: str) -> None:
    for name in names:
        if named(name) is not None:
            raise ValueError(f"there is already an operation named {name}")


def in_order(signature: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns all arguments of a call in order, with defaults.

    That function raises TypeError if an argument is missing or unknown.
    """
    arguments = inspect.signature(signature)
    defaults = tuple(each.default for each in arguments.parameters.values())
    needed = sum(default is inspect.Parameter.empty for default in defaults)

    def ordered(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        if not kwargs and needed <= len(args) <= len(defaults):  # binding takes microseconds
            return (*args, *defaults[len(args) :])
        bound = arguments.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args

    return ordered


def _launched_on_cpu(
    library: str, launch: Callable[Concatenate[CpuLauncher, P], R], reference: Callable[P, R]
) -> Callable[P, R]:
    """Return the kernel for CPU tensors: the library's functions, or the reference without it."""
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
    """Return the kernel for CUDA tensors: the library's launchers, or the reference without it."""
    # by GPU index, with the library each was made from
    launchers: dict[int, tuple[Any, CudaLauncher | None]] = {}

    @functools.wraps(reference)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if build.reason(library) and not use_native(library):
            return reference(*args, **kwargs)
        first: Any = args[0] if args else None
        if not isinstance(first, torch.Tensor):
            first = next(tensors_of((*args, *kwargs.values())))
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
    """Return the library on a GPU; warn and return None if no image supports that GPU."""
    try:
        return CudaLauncher(loaded.on(device), Gpu.of(device.index))
    except BuildError as error:
        warn(f"{library} on {device}", str(error))
        return None


def _demand_native(op: Op, arguments: dict[str, Any]) -> None:
    """Make a call with these arguments run the native kernel, or raise KernelUnavailable."""
    tensors = list(tensors_of(tuple(arguments.values())))
    device = tensors[0].device.type if tensors else "cpu"
    if library := op.library_on(device):
        build.load_built(library)
    status = status_of(op, device)
    if not status.ready:
        raise KernelUnavailable(f"{op.name}: {status.reason}")
    if device == "cuda" and tensors[0].dtype not in op.cuda_dtypes:
        raise KernelUnavailable(f"{op.name}: no native CUDA kernel in {tensors[0].dtype}")
    if op.refuses is not None and (reason := op.refuses(**arguments)):
        raise KernelUnavailable(f"{op.name}: {reason}")
    if device != "cuda" or op.family == LIBRARY:
        return
    if any(x.numel() >= 1 << 31 for x in tensors):
        raise KernelUnavailable(f"{op.name}: the native CUDA kernels take at most 2^31 elements")
    if any(argument.name == "own_kernel" for argument in op.overload._schema.arguments):
        arguments["own_kernel"] = True  # run ours instead of cuDNN's
