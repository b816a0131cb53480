"""What a family of networks has to say: how its styles are read, mixed, built and loaded."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from kernels.ops.registry import STYLE
from models.checkpoints import State
from models.inference.banded_layers import Rows
from models.precision import Precision
from models.runtimes.runtime import Runtime

if TYPE_CHECKING:
    from models.families.any_style import AnyStyleNetwork

log = logging.getLogger(__name__)

# Measured memory per pixel of a network's input on a CPU in FP16, where PyTorch unfolds whole
# layers: 5,500 bytes.
BYTES_PER_PIXEL_CPU_FP16 = 6000


@dataclass(frozen=True, slots=True)
class FamilyVariant:
    """One way of running the networks of a family.

    Attributes:
        title: Its name on screen.
        memory_format: Of the input that it is fastest with.
        has_plans: Whether on a GPU it runs as a plan, which takes batches and uint8 pictures.
        runtime: What runs it where that is not PyTorch; pictures are in the CPU's memory then.
    """

    title: str
    memory_format: torch.memory_format = torch.contiguous_format
    has_plans: bool = False
    runtime: Runtime | None = None


@dataclass(frozen=True, slots=True)
class StyleFiles:
    """The files of one style.

    Attributes:
        weights: What the network loads for this style.
        lite: What the lite network loads, where that is another file.
        picture: The style picture; None where none was kept.
    """

    weights: Path
    lite: Path | None = None
    picture: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedStyle:
    """A style that was read.

    Attributes:
        network: The network that paints it: equal values are one network, which can load every
            style that has this value.
        state: The tensors that differ between its styles, float32 on the CPU; mixing interpolates
            them.
        remark: What was done to read it, as a clause; "" where nothing was.
    """

    network: Hashable
    state: State
    remark: str = ""


class SharedNetworks(Protocol):
    """Where networks are found that many styles share."""

    def default(self) -> AnyStyleNetwork | None:
        """The network for new styles; None without any. CheckpointError if it is damaged."""
        ...

    def for_code(self, digest: str, *, lite: bool) -> AnyStyleNetwork | None:
        """The network that paints a style.

        Args:
            digest: Of the weights of the network that the style's code belongs to.
            lite: Whether the lite network; only where `has_lite`.

        Returns:
            None where there is no network.
        """
        ...

    def has_lite(self, digest: str) -> bool:
        """Whether a lite network paints the styles of the network with this digest as well."""
        ...

    def is_there(self, digest: str) -> bool:
        """Whether there is a file of the network with this digest."""
        ...


Contents = TypeVar("Contents")


class NetworkFamily(ABC, Generic[Contents]):
    """One kind of networks; `Contents` is what a file of a style's weights holds.

    Attributes:
        key: As `style.toml` names it.
        title: As users read it.
        one_of: What a style of this family is, as in "Candy is a network of its own".
        mixes: What mixing styles interpolates.
        most_mixed: How many styles can be mixed.
        formats: The texts "format" in the header of its safetensors files.
        variants: The ways of running it, by a key of ALL_VARIANTS in
            models.transformer_net; "baseline" and "fused" are always there.
        precisions: What it can compute in.
        bytes_per_pixel: Memory for each pixel of the input, rounded up from what was measured.
        unavailable: For every control without a meaning for this family, by its name in the
            config, the reason as a clause.
        unavailable_options: For the precisions and kernels that it does not have, by the names of
            the control and of the option, likewise.
        lite_fps: The frames a second that the automatic size of a lite network keeps; of fewer, the
            input is larger.
        kernels_remark: What runs instead of our kernels, as a clause; "" where they run.
        multiple: What height and width of pictures are padded to multiples of.
        one_size: Why a program of its networks takes pictures of one size only, as a clause; ""
            where it takes any.
        operations: The families of operations that its networks are made of, as
            kernels.ops.registry.prepare takes them.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    one_of: ClassVar[str]
    mixes: ClassVar[str]
    most_mixed: ClassVar[int] = 3
    formats: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[Mapping[str, FamilyVariant]]
    precisions: ClassVar[tuple[Precision, ...]] = tuple(Precision)
    bytes_per_pixel: ClassVar[int]
    unavailable: ClassVar[Mapping[str, str]] = {}
    unavailable_options: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    lite_fps: ClassVar[float] = 15.0
    kernels_remark: ClassVar[str] = ""
    multiple: ClassVar[int]
    one_size: ClassVar[str] = ""
    operations: ClassVar[tuple[str, ...]] = (STYLE,)

    def variant(self, kernels: str) -> FamilyVariant:
        """What runs where the config says `kernels`: the fused one where there is none of it."""
        return self.variants.get(kernels, self.variants["fused"])

    def memory_per_pixel(self, device: torch.device, precision: Precision) -> int:
        """The bytes for each pixel of the input while it runs, with any kernels."""
        unfolds = device.type == "cpu" and precision.value.dtype is torch.float16
        return BYTES_PER_PIXEL_CPU_FP16 if unfolds else self.bytes_per_pixel

    def banded_bytes(self, size: tuple[int, int], precision: Precision) -> int | None:  # noqa: ARG002
        """The bytes that a picture of a size, (width, height), takes in bands of rows, with any
        network; None where the family does not run in bands."""
        return None

    def run_in_bands(
        self,
        module: nn.Module,
        rows: Rows,
        write: Callable[[int, Tensor], object],
        size: tuple[int, int],
        progress: Callable[[float], object],
    ) -> None:
        """Stylize a picture in bands of rows, exactly as at once; only where `banded_bytes` tells
        what that takes. Arguments as of models.inference.banded.style_in_bands, but for the module
        that `build` made, and for the size, which is (width, height)."""
        raise NotImplementedError

    def warm_up(self, device: torch.device, networks: SharedNetworks) -> None:
        """Load what its networks would load when they run for the first time on a device. Safe on
        any thread.

        Args:
            device: Where they will run.
            networks: Where those that styles share are found.
        """

    @abstractmethod
    def read(self, path: Path) -> Contents:
        """Read a file of a style's weights.

        Raises:
            CheckpointError: It is missing, damaged or another kind of file; one sentence.
        """

    @abstractmethod
    def write(self, path: Path, contents: Contents, metadata: Mapping[str, str]) -> None:
        """Write what `read` gave, atomically, with texts for the header.

        Raises:
            CheckpointError: It cannot be stored.
            OSError: The file cannot be written.
        """

    @abstractmethod
    def has_lite(self, files: StyleFiles, networks: SharedNetworks) -> bool:
        """Whether a style has a lite network.

        Args:
            files: Of the style.
            networks: Where a network is found that the style shares with others.

        Raises:
            CheckpointError: A file is damaged; one sentence.
        """

    @abstractmethod
    def load(
        self,
        files: StyleFiles,
        networks: SharedNetworks,
        *,
        lite: bool = False,
        progress: Callable[[str], object] = log.debug,
    ) -> LoadedStyle:
        """Read a style for its network.

        Args:
            files: Of the style.
            networks: Where a network is found that the style shares with others.
            lite: Whether for the lite network; only where `has_lite`.
            progress: Told what is done, before each step that takes a while; what it raises is
                passed on.

        Raises:
            CheckpointError: A file is damaged, or the network is not there; one sentence.
        """

    @abstractmethod
    def build(self, network: Any, kernels: str) -> nn.Module:
        """Make a network, for inference, on the CPU in float32.

        Args:
            network: As in LoadedStyle.
            kernels: A key of models.transformer_net.ALL_VARIANTS.

        Returns:
            A module that takes pictures [N, 3, H, W], 0-255, and a callback for its stages, and
            gives pictures of the same shape; `by_layer` may be set on it.
        """

    @abstractmethod
    def load_into(self, module: nn.Module, state: State) -> None:
        """Load the state of a style into a module that `build` made."""

    @abstractmethod
    def difference(self, first: Any, second: Any) -> str:
        """Why styles of these two networks cannot be mixed, as a clause; "" where they can.

        Args:
            first: As in LoadedStyle.
            second: Likewise.
        """

    @abstractmethod
    def limitations(
        self, kernels: str, device: torch.device, precision: Precision, network: Any
    ) -> tuple[str, ...]:
        """What keeps it from full speed, one clause each.

        Args:
            kernels: A key of models.transformer_net.ALL_VARIANTS.
            device: Where it runs.
            precision: What it computes in.
            network: As in LoadedStyle.
        """

    def describe(self, network: Any) -> str:  # noqa: ARG002  (families whose styles share one do)
        """Name a network that many styles share; "" for a network of a single style."""
        return ""


def interpolate(states: Sequence[State], shares: Sequence[float], out: State) -> None:
    """Mix the states of two or more styles.

    Args:
        states: Of the same keys and shapes.
        shares: Of each, 0 to 1; they add up to 1.
        out: Receives the result.
    """
    mixed, total = states[0], shares[0]
    for state, share in zip(states[1:], shares[1:], strict=True):
        total += share
        for key, value in out.items():
            torch.lerp(mixed[key], state[key], share / total if total else 0.0, out=value)
        mixed = out
