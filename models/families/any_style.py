"""The any-style network (models.vit_style_transfer) paints every style; a style is a code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from kernels.network.dispatch import unavailable_reason
from kernels.network.graph_plan import GraphPlan, StageCallback
from kernels.table.registry import STYLE, TRANSFORMER
from models.checkpoints import CheckpointError, State
from models.families.family import (
    FamilyVariant,
    LoadedStyle,
    NetworkFamily,
    SharedNetworks,
    StyleFiles,
)
from models.families.keys import ANY_STYLE
from models.families.style_codes import FORMAT as CODE_FORMAT
from models.families.style_codes import KEY as CODE
from models.families.style_codes import StyleCode, header_texts, load_code, save_code, second_path
from models.inference.vit.cache import VitCache
from models.inference.vit.native_plan import dimensions
from models.inference.vit.warm_up import warm_up
from models.pictures import MIN_SIDE, check_pictures
from models.precision import Precision
from models.transformer_net import ALL_VARIANTS, IN_RUNTIMES
from models.vit_checkpoints import FORMAT as NETWORK_FORMAT
from models.vit_checkpoints import load_vit
from models.vit_config import PATCH, VitConfig, variant_name
from models.vit_style_transfer import StyleForgeTransformer
from utils.images.opening import ImageError
from utils.images.reading import read_pixels
from utils.text import printable
from utils.translation.numbers import number
from utils.translation.texts import mark, tr

log = logging.getLogger(__name__)

STYLE_SIZE = 320  # long side in pixels of a style picture for encoding
DIGITS = 12  # digits of a digest in a text for users
_NATIVE_ENDS = mark(
    "the any-style network's convolutions run on PyTorch's kernels, except at both ends"
)


@dataclass(frozen=True, slots=True)
class AnyStyleNetwork:
    """A network and its float32 state on the CPU; equal if hex digests and dimensions are equal."""

    digest: str
    config: VitConfig
    state: State = field(compare=False, repr=False)

    @classmethod
    def load(cls, path: Path) -> AnyStyleNetwork:
        """Read a file of `styleforge train-vit`.

        Raises:
            CheckpointError: If the file is missing, damaged or of another kind.
        """
        found = load_vit(path)
        return cls(found.metadata["sha256"], found.config, found.state)

    def module(self, *, fused: bool = True) -> StyleForgeTransformer:
        """Build the network for inference, float32 on the CPU, on the tensors of `state`."""
        with torch.device("meta"):  # otherwise, drawing random weights first takes half a second
            network = StyleForgeTransformer(self.config, fused=fused)
        network.load_state_dict(self.state, assign=True)
        return network.requires_grad_(False).eval()

    def encode(self, pixels: NDArray[np.uint8]) -> StyleCode:
        """Compute the code of [H, W, 3] uint8, RGB, scaled to STYLE_SIZE, on the CPU in float32.

        Raises:
            ValueError: If the picture is too narrow. The message is a clause without its name.
        """
        height, width = pixels.shape[:2]
        scale = STYLE_SIZE / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        if min(size) < MIN_SIDE:
            raise ValueError(
                tr(
                    "it is too narrow for a style picture: at {width}x{height} pixels, its "
                    "long side is more than {n} times its short side",
                    width=width,
                    height=height,
                    n=STYLE_SIZE // MIN_SIDE,
                )
            )
        scaled = Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
        picture = torch.tensor(np.asarray(scaled)).permute(2, 0, 1)[None].float()
        with torch.inference_mode():
            values = self.module().encode_style(picture)
        return StyleCode(values.clone(), self.digest)


class StylePainter(nn.Module):
    """The network with the code of one style at a time.

    With gradients disabled and `fused`, models.inference.vit paints, on a GPU in half precision as
    CUDA graphs; otherwise the network itself does. Not thread-safe. `by_layer` may be set:
    `forward` then marks each step instead of each group of steps.
    """

    code: Tensor

    def __init__(self, network: StyleForgeTransformer, *, fused: bool = True) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("code", torch.zeros(1, network.config.code_dim))
        self.by_layer = False
        self._cache = VitCache(network.config) if fused else None

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        """Paint pictures [N, 3, H, W], RGB 0-255, in the style of the code.

        Calls `mark` with "stem", "blocks" and "decoder" after each; with `by_layer`, with the names
        of the steps instead. Does not call it if the network itself paints.
        """
        if self._cache is None or torch.is_grad_enabled():
            return self.network.stylize(x, self.code)
        check_pictures(x)
        plan = self.plan((x.shape[0], x.shape[2], x.shape[3]), x.device)
        if plan is not None:
            return plan(x, mark)
        executor = self._cache.executor(self._state, self.code, self._dtype(x.device), x.device)
        return executor(x, mark, by_layer=self.by_layer)

    def plan(self, shape: tuple[int, int, int], device: torch.device) -> GraphPlan | None:
        """Return CUDA graphs for one input size, N, H and W, which also accept uint8 pictures.

        None off CUDA, in FP32 or if gradients are enabled. The last few sizes are cached.
        """
        dtype = self._dtype(device)
        halves = torch.float16, torch.bfloat16
        usable = device.type == "cuda" and dtype in halves and not torch.is_grad_enabled()
        if self._cache is None or not usable:
            return None
        plan = self._cache.plan(self._state, self.code, dtype, device, shape)
        plan.time_layers(self.by_layer)
        return plan

    def _dtype(self, device: torch.device) -> torch.dtype:
        """Return autocast's dtype if autocast is enabled, else the dtype of the weights."""
        kind = device.type
        enabled = torch.is_autocast_enabled(kind)
        return torch.get_autocast_dtype(kind) if enabled else self.code.dtype

    def _state(self) -> dict[str, Tensor]:
        return self.network.state_dict()

    # Both methods below may replace the tensors of the weights.

    def _apply(self, *args: Any, **kwargs: Any) -> StylePainter:
        if self._cache is not None:
            self._cache.forget_weights()
        # PyTorch: its parameter `fn` has no annotation.
        return super()._apply(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType]

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load weights as nn.Module does, and prepare them again."""
        if self._cache is not None:
            self._cache.forget_weights()
        return super().load_state_dict(*args, **kwargs)


class AnyStyleFamily(NetworkFamily[StyleCode]):
    """The networks of models.vit_style_transfer, and the codes of their styles."""

    key = ANY_STYLE
    title = "Any style"
    one_of = "a code of an any-style network"
    mixes = "codes"
    most_mixed = 4
    formats = (CODE_FORMAT, NETWORK_FORMAT)
    variants = {  # noqa: RUF012  (declared as ClassVar by the base class)
        "baseline": FamilyVariant("Baseline"),
        "fused": FamilyVariant("Fused", torch.channels_last, has_plans=True),
    }
    # Measured in FP32 on a CPU at 1280x720: both variants 1,530.
    bytes_per_pixel = 1700
    lite_fps = 8.0  # more would select the smallest size even on fast CPUs
    unavailable_options = {  # noqa: RUF012
        "precision": {"int8": "the any-style network does not support INT8"},
        "kernels": {
            key: f"the any-style network does not run with {ALL_VARIANTS[key].title}"
            for key in ("norm", *IN_RUNTIMES)
        },
    }
    multiple = PATCH
    one_size = mark("in its network, the number of tokens that share a key depends on the size")
    operations = (STYLE, TRANSFORMER)
    kernels_remark = "the any-style network's convolutions run on PyTorch's kernels"

    def warm_up(self, device: torch.device, networks: SharedNetworks) -> None:
        """Load new styles' networks and all they paint with on a GPU; elsewhere nothing is slow."""
        if device.type != "cuda":
            return
        with suppress(CheckpointError):  # the file is damaged; adding a new style reports it
            network = networks.default()
            if network is None:
                return
            warm_up(network.config, network.module().state_dict(), device)
            if networks.has_lite(network.digest):
                networks.for_code(network.digest, lite=True)

    def read(self, path: Path) -> StyleCode:
        if header_texts(path).get("format") == NETWORK_FORMAT:
            raise CheckpointError(
                tr(
                    "'{file}' is an any-style network, not a style; use it to make a style "
                    "from a picture: `styleforge styles add-picture PICTURE --network FILE`",
                    file=printable(path.name),
                )
            )
        return load_code(path)

    def write(self, path: Path, contents: StyleCode, metadata: Mapping[str, str]) -> None:
        save_code(path, contents, metadata)

    def has_lite(self, files: StyleFiles, networks: SharedNetworks) -> bool:
        """Return whether the code's network has a lite one and the style can be read for it."""
        if not networks.has_lite(load_code(files.weights).network):
            return False
        return files.picture is not None

    def load(
        self,
        files: StyleFiles,
        networks: SharedNetworks,
        *,
        lite: bool = False,
        progress: Callable[[str], object] = log.debug,
    ) -> LoadedStyle:
        """Read a code; for another network, compute it from the style picture and save it, too."""
        code = load_code(files.weights)
        progress("Reading the network")
        network = networks.for_code(code.network, lite=lite)
        if network is not None and network.digest == code.network:
            return LoadedStyle(network, {CODE: _checked(code, network, files.weights).values})
        belongs = code.network[:DIGITS]
        if network is None:
            raise CheckpointError(
                tr(
                    "its code belongs to the any-style network {network}, and no any-style "
                    "network is installed",
                    network=belongs,
                )
            )
        digits = network.digest[:DIGITS]
        remark = tr(
            "its code was computed anew from its picture for the network {network}", network=digits
        )
        if networks.is_there(code.network):
            remark = ""  # full and lite each have a code
        second = second_path(files.weights, network.digest)
        if second.is_file():
            try:
                again = load_code(second)
                if again.network == network.digest:
                    values = _checked(again, network, second).values
                    return LoadedStyle(network, {CODE: values}, remark)
            except CheckpointError as error:
                log.warning("a kept code is made again: %s", error)
        if files.picture is None:
            raise CheckpointError(
                tr(
                    "its code belongs to the any-style network {network}, not to the one in "
                    "use, {other}; StyleForge needs the style's picture to compute a new code, "
                    "and the picture was not kept",
                    network=belongs,
                    other=digits,
                )
            )
        progress("Reading the picture")
        try:
            pixels = read_pixels(files.picture)
            progress("Finding its style")
            again = network.encode(pixels)
        except ImageError as error:
            raise CheckpointError(str(error)) from error
        except ValueError as error:
            name = printable(files.picture.name)
            raise CheckpointError(tr("'{file}': {error}", file=name, error=error)) from error
        try:
            save_code(second, again)
        except OSError as error:  # without the saved code, the next load computes it again
            log.warning("a code could not be kept in '%s': %s", second.parent, error.strerror)
        return LoadedStyle(network, {CODE: again.values}, remark)

    def build(self, network: AnyStyleNetwork, kernels: str) -> nn.Module:
        """Build the network; the baseline runs it as defined, every other variant fused."""
        fused = kernels != "baseline"
        module = StylePainter(network.module(fused=fused), fused=fused)
        return module.requires_grad_(False).eval()

    def sample(self) -> nn.Module:
        # Painting needs no style blocks, and their weights would take time to fill.
        return StylePainter(StyleForgeTransformer(VitConfig(style_blocks=1)))

    def load_into(self, module: nn.Module, state: State) -> None:
        assert isinstance(module, StylePainter)
        module.code.copy_(state[CODE])

    def difference(self, first: AnyStyleNetwork, second: AnyStyleNetwork) -> str:
        """Return a clause that names both networks if they differ: their codes cannot be mixed."""
        if first == second:
            return ""
        return tr(
            "their codes belong to two any-style networks ({one}; {other})",
            one=first.digest[:DIGITS],
            other=second.digest[:DIGITS],
        )

    def limitations(
        self, kernels: str, device: torch.device, precision: Precision, network: AnyStyleNetwork
    ) -> tuple[str, ...]:
        """List convolutions on PyTorch's kernels, missing CUDA graphs and missing INT8."""
        said: list[str] = []
        if kernels != "baseline":
            whole = precision in (Precision.fp32, Precision.tf32)
            if device.type == "cuda" and whole:
                title = precision.title
                said.append(tr("it has no CUDA graph in {precision}", precision=title))
            half = torch.bfloat16 if precision is Precision.bf16 else torch.float16
            native = device.type == "cuda" and not whole
            native = native and not unavailable_reason(dimensions(network.config), device, half)
            said.append(tr(_NATIVE_ENDS if native else self.kernels_remark))
        if kernels not in self.variants:
            title = ALL_VARIANTS[kernels].title
            said.insert(0, tr("it does not run with {kernels}", kernels=title))
        if precision.value.int8 and device.type == "cuda":  # on a CPU the precision itself says so
            said.append(tr("it computes in FP16, since it does not support INT8"))
        return tuple(said)

    def describe(self, network: AnyStyleNetwork) -> str:
        return f"{self.title} ({variant_name(network.config)}, {network.digest[:DIGITS]})"


def _checked(code: StyleCode, network: AnyStyleNetwork, path: Path) -> StyleCode:
    """Return `code` unchanged.

    Raises:
        CheckpointError: If the code's length is not the network's.
    """
    if code.values.shape[1] != network.config.code_dim:
        raise CheckpointError(
            tr(
                "'{file}' has {n} numbers, but its network needs {expected}",
                file=printable(path.name),
                n=number(code.values.shape[1]),
                expected=number(network.config.code_dim),
            )
        )
    return code
