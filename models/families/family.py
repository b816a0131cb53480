"""The interface of a family of networks: how its styles are read, mixed, built and loaded."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from kernels.table.registry import STYLE
from models.checkpoints import State
from models.families import bf16_gain
from models.inference.banded_layers import Rows
from models.precision import BF16_IS_NO_GAIN, Precision
from models.runtimes.runtime import Runtime
from models.webgpu_devices import host_of
from utils.translation.texts import tr

if TYPE_CHECKING:
    from models.families.any_style import AnyStyleNetwork

log = logging.getLogger(__name__)

# Measured: 5,500 bytes of memory per pixel of a network's input on a CPU in FP16, where PyTorch
# unfolds whole layers.
BYTES_PER_PIXEL_CPU_FP16 = 6000


@dataclass(frozen=True, slots=True)
class FamilyVariant:
    """One way of running the networks of a family.

    Attributes:
        memory_format: The memory format of its fastest input.
        has_plans: Whether it runs on a GPU as a plan, which accepts batches and uint8 pictures.
        runtime: The runtime that runs it, if not PyTorch; pictures are in CPU memory then.
    """

    title: str
    memory_format: torch.memory_format = torch.contiguous_format
    has_plans: bool = False
    runtime: Runtime | None = None


@dataclass(frozen=True, slots=True)
class StyleFiles:
    """The files of one style; `lite` is only set if the lite network loads another one.

    `picture` is None if the style picture was not saved.
    """

    weights: Path
    lite: Path | None = None
    picture: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedStyle:
    """A style that was read.

    Attributes:
        network: The network that paints it; equal values load each other's styles.
        state: The part that differs between its styles, float32 on the CPU; mixing interpolates it.
            Not to be modified: whoever reads the same weights may share it.
        remark: A clause about extra work done to read it; "" if there was none.
    """

    network: Hashable
    state: State
    remark: str = ""


class SharedNetworks(Protocol):
    """A lookup of the networks that many styles share."""

    def default(self) -> AnyStyleNetwork | None:
        """Return the network for new styles, or None.

        Raises:
            CheckpointError: If the network's file is damaged.
        """
        ...

    def for_code(self, digest: str, *, lite: bool) -> AnyStyleNetwork | None:
        """Return the network that paints a style; None if no network matches.

        `digest` identifies the weights of the network that the style's code belongs to. Pass `lite`
        only if `has_lite`.
        """
        ...

    def has_lite(self, digest: str) -> bool:
        """Return whether a lite network also paints the styles of the network with this digest."""
        ...

    def is_there(self, digest: str) -> bool: ...


Contents = TypeVar("Contents")


class NetworkFamily(ABC, Generic[Contents]):
    """One kind of networks; `Contents` is the content of a file with a style's weights.

    Attributes:
        key: Its name in `style.toml`.
        one_of: A noun phrase for a style of this family, as in "Candy is a network of its own".
        mixes: The plural noun for the things that mixing styles interpolates.
        formats: The texts "format" in the header of its safetensors files.
        variants: The networks, by a key of ALL_VARIANTS in models.transformer_net; with "baseline"
            and "fused".
        bytes_per_pixel: Memory per pixel of the input, rounded up from measurements.
        unavailable: Why a control of the config has no meaning for this family, a clause each.
        unavailable_options: Why a precision or kernel is missing, by control and option.
        lite_fps: The frame rate that a lite network's automatic size aims for; lower allows larger.
        kernels_remark: A clause on what runs instead of our kernels; "" if they run.
        multiple: The height and width of pictures are padded to multiples of it.
        one_size: Why its programs accept pictures of one size only, a clause; "" for any size.
        operations: The families of operations in its networks, as for `kernel_fusion.prepare`.
        has_webgpu: Whether WebGPU runs some of its networks, see `webgpu_refusal`.
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
    has_webgpu: ClassVar[bool] = False

    def variant(self, kernels: str) -> FamilyVariant:
        """Return the variant for `kernels` in the config, or else the fused one."""
        return self.variants.get(kernels, self.variants["fused"])

    def refusal(self, kernels: str, precision: Precision, device: torch.device) -> str:
        """Return why a precision is not offered on `device`, an English sentence; "" if it is.

        The first call for BF16 on a CPU measures, which takes about half a second. A runtime has
        its own `Runtime.refusal`, so that this one is "".
        """
        if self.variant(kernels).runtime is not None:
            return ""
        if not self.has_webgpu:
            device = host_of(device)
        refusal = precision.refusal(device)
        measured = precision is Precision.bf16 and device.type == "cpu" and not refusal
        if measured and not bf16_gain.is_faster(self.key, self.sample):
            return BF16_IS_NO_GAIN
        return refusal

    def absence(self, kernels: str, precision: Precision, device: torch.device) -> str:
        """Return why a precision cannot run on `device`; as `refusal`, but slow ones can."""
        if self.variant(kernels).runtime is not None:
            return ""
        return precision.absence(device if self.has_webgpu else host_of(device))

    def computed(
        self, kernels: str, precision: Precision, device: torch.device, *, slow: bool = False
    ) -> Precision:
        """Return the precision that runs if `precision` is chosen: FP32 in place of a refused one.

        Settings, looks and jobs that were stored on a machine with a GPU remain usable so. A speed
        test also runs what has no advantage (`slow`).
        """
        refusal = self.absence if slow else self.refusal
        return Precision.fp32 if refusal(kernels, precision, device) else precision

    def memory_per_pixel(self, device: torch.device, precision: Precision) -> int:
        """Return the bytes per pixel of the input while the network runs, with any kernels."""
        unfolds = device.type == "cpu" and precision.value.dtype is torch.float16
        return BYTES_PER_PIXEL_CPU_FP16 if unfolds else self.bytes_per_pixel

    def banded_bytes(self, size: tuple[int, int], precision: Precision) -> int | None:  # noqa: ARG002
        """Return the bytes for a picture of (width, height) in bands of rows, for any network.

        None if the family does not run in bands.
        """
        return None

    def run_in_bands(
        self,
        module: nn.Module,
        rows: Rows,
        write: Callable[[int, Tensor], object],
        size: tuple[int, int],
        progress: Callable[[float], object],
    ) -> None:
        """Stylize a picture in bands of rows, as undivided; only if `banded_bytes` is a number.

        The arguments are those for models.inference.banded.style_in_bands, but `build` made the
        module, and the size is (width, height).
        """
        raise NotImplementedError

    def warm_up(self, device: torch.device, networks: SharedNetworks) -> None:
        """Load everything that the first run of its networks would load. Thread-safe."""

    @abstractmethod
    def read(self, path: Path) -> Contents:
        """Read a style's weights.

        Raises:
            CheckpointError: If the file cannot be read as weights. The message is one sentence.
        """

    @abstractmethod
    def write(self, path: Path, contents: Contents, metadata: Mapping[str, str]) -> None:
        """Write the result of `read`, atomically, with texts for the header.

        Raises:
            CheckpointError: If the content cannot be stored.
            OSError: If the file cannot be written.
        """

    @abstractmethod
    def has_lite(self, files: StyleFiles, networks: SharedNetworks) -> bool:
        """Return whether a style has a lite network.

        Raises:
            CheckpointError: If a file is damaged.
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
        """Read a style for its network, `lite` only if `has_lite`.

        Calls `progress` with a description before each slow step; its exceptions propagate.

        Raises:
            CheckpointError: If a file is damaged, or the network is missing. The
                message is one sentence.
        """

    @abstractmethod
    def build(self, network: Any, kernels: str) -> nn.Module:
        """Build a network as in LoadedStyle, for inference, on the CPU in float32.

        `kernels` is a key of models.transformer_net.ALL_VARIANTS. The module accepts pictures
        [N, 3, H, W], 0-255, and a callback for its stages, and returns pictures of the same shape.
        Its `by_layer` may be set.
        """

    def build_on(
        self, network: Any, kernels: str, device: torch.device, precision: Precision
    ) -> nn.Module:
        """Build a network on a device in a precision that the family computes there.

        The arguments are as for `build`. Its pictures are on `models.webgpu_devices.host_of`.

        Raises:
            WebGpuError: If a GPU that WebGPU reaches cannot be opened.
        """
        return self.build(network, kernels).to(device, precision.value.dtype)

    def webgpu_refusal(
        self,
        network: Any,  # noqa: ARG002
        kernels: str,  # noqa: ARG002
        device: torch.device,  # noqa: ARG002
        precision: Precision,  # noqa: ARG002
        size: tuple[int, int],  # noqa: ARG002
    ) -> str:
        """Return why a network does not run through WebGPU, as a clause; "" if it does.

        The arguments are as for `build_on`, with the width and height of its pictures.

        Raises:
            WebGpuError: If the GPU cannot be opened.
        """
        return tr("there are no WebGPU shaders for this kind of network")

    def prepare_on(
        self, network: Any, device: torch.device, precision: Precision, size: tuple[int, int]
    ) -> None:
        """Compile the shaders of a fused network that WebGPU runs, so that no frame waits.

        Raises:
            WebGpuError: If the GPU fails, or refuses a shader.
        """
        raise NotImplementedError

    @abstractmethod
    def sample(self) -> nn.Module:
        """Build the fused full network that we train, with any weights, for measurements."""

    @abstractmethod
    def load_into(self, module: nn.Module, state: State) -> None:
        """Load the state of a style into a module that `build` made."""

    @abstractmethod
    def difference(self, first: Any, second: Any) -> str:
        """Return why styles of these two networks cannot be mixed, as a clause; "" if they can."""

    @abstractmethod
    def limitations(
        self, kernels: str, device: torch.device, precision: Precision, network: Any
    ) -> tuple[str, ...]:
        """List the limits on a network's speed with these kernels, one clause each."""

    def describe(self, network: Any) -> str:  # noqa: ARG002  (families whose styles share one do)
        """Return the name of a network that many styles share; "" if a single style uses it."""
        return ""
