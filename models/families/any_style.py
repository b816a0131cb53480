"""The any-style network: one network paints every style, and a style is a code.

See models.vit_style_transfer. Its kernels are PyTorch's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

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
from models.families.style_codes import (
    StyleCode,
    header_texts,
    load_code,
    save_code,
    second_path,
)
from models.precision import Precision
from models.transformer_net import VARIANTS
from models.vit_checkpoints import FORMAT as NETWORK_FORMAT
from models.vit_checkpoints import load_vit
from models.vit_config import VitConfig, variant_name
from models.vit_style_transfer import MIN_SIDE, StyleForgeTransformer
from utils.images.opening import ImageError
from utils.images.reading import read_pixels
from utils.text import printable

log = logging.getLogger(__name__)

STYLE_SIZE = 320  # long side in pixels at which a style picture is encoded
DIGITS = 12  # of a digest in a text for users


@dataclass(frozen=True, slots=True)
class AnyStyleNetwork:
    """A network that was read; equal if digests and dimensions are.

    Attributes:
        digest: Of its weights, in hexadecimal.
        config: Its dimensions.
        state: Its state dict, float32, on the CPU.
    """

    digest: str
    config: VitConfig
    state: State = field(compare=False, repr=False)

    @classmethod
    def load(cls, path: Path) -> AnyStyleNetwork:
        """Read a file of `styleforge train-vit`. CheckpointError if it is none."""
        found = load_vit(path)
        return cls(found.metadata["sha256"], found.config, found.state)

    def module(self, *, fused: bool = True) -> StyleForgeTransformer:
        """Make the network, for inference, on the CPU in float32; its weights are those of `state`,
        not copies."""
        with torch.device("meta"):  # or random weights would be drawn first, for half a second
            network = StyleForgeTransformer(self.config, fused=fused)
        network.load_state_dict(self.state, assign=True)
        return network.requires_grad_(False).eval()

    def encode(self, pixels: NDArray[np.uint8]) -> StyleCode:
        """Make the code of a style picture, on the CPU in float32.

        Args:
            pixels: [H, W, 3] uint8, RGB, of any size; it is scaled to STYLE_SIZE.

        Raises:
            ValueError: It is too narrow; a clause without the picture's name.
        """
        height, width = pixels.shape[:2]
        scale = STYLE_SIZE / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        if min(size) < MIN_SIDE:
            raise ValueError(
                f"it is too narrow for a style picture: of {width}x{height} pixels, the long side "
                f"is more than {STYLE_SIZE // MIN_SIDE} times the short one"
            )
        scaled = Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
        picture = torch.tensor(np.asarray(scaled)).permute(2, 0, 1)[None].float()
        with torch.inference_mode():
            values = self.module().encode_style(picture)
        return StyleCode(values.clone(), self.digest)


class StylePainter(nn.Module):
    """The network with the code of one style at a time.

    Args:
        network: The network.

    Attributes:
        by_layer: Has no effect: its times are those of the whole network.
    """

    code: Tensor

    def __init__(self, network: StyleForgeTransformer) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("code", torch.zeros(1, network.config.code_dim))
        self.by_layer = False

    def forward(self, x: Tensor, mark: object = None) -> Tensor:  # noqa: ARG002
        """Paint [N, 3, H, W], 0-255, in the style of the code."""
        return self.network.stylize(x, self.code)


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
        "fused": FamilyVariant("PyTorch"),
    }
    # Measured in FP32 on a CPU at 1280x720: both variants 1,530.
    bytes_per_pixel = 1700
    lite_fps = 8.0  # on two cores of a CPU, 15 would leave 128x72 pixels
    unavailable_options = {  # noqa: RUF012
        "precision": {"int8": "the any-style network has no products of integers"},
        "kernels": {"norm": f"there is no {VARIANTS['norm'].title} for the any-style network"},
    }
    unavailable_actions = {  # noqa: RUF012
        "layers": "the times of the any-style network are told as a whole"
    }
    kernels_remark = "the any-style network runs on PyTorch's kernels"

    def read(self, path: Path) -> StyleCode:
        """Read the file of a code."""
        if header_texts(path).get("format") == NETWORK_FORMAT:
            raise CheckpointError(
                f"'{printable(path.name)}' is an any-style network and not a style: `styleforge "
                "styles add-picture PICTURE --network FILE` makes a style of a picture with it"
            )
        return load_code(path)

    def write(self, path: Path, contents: StyleCode, metadata: Mapping[str, str]) -> None:
        """Write the file of a code."""
        save_code(path, contents, metadata)

    def has_lite(self, files: StyleFiles, networks: SharedNetworks) -> bool:
        """Whether there is one beside the network of its code, and the style can be read for it."""
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
        """Read a code. Where another network paints, full or lite, its code is made from the style
        picture, and kept beside the first one."""
        code = load_code(files.weights)
        progress("Reading the network")
        network = networks.for_code(code.network, lite=lite)
        if network is not None and network.digest == code.network:
            return LoadedStyle(network, {CODE: _checked(code, network, files.weights).values})
        belongs = f"its code belongs to the any-style network {code.network[:DIGITS]}"
        if network is None:
            raise CheckpointError(f"{belongs}, which is not there, and no other one is")
        digits = network.digest[:DIGITS]
        remark = f"its code was made again from its picture for the network {digits}"
        if networks.is_there(code.network):
            remark = ""  # full and lite take a code each
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
                f"{belongs}, and the network {digits} runs here; for that one it would have to be "
                "made again from its picture, which was not kept"
            )
        progress("Reading the picture")
        try:
            pixels = read_pixels(files.picture)
            progress("Finding its style")
            again = network.encode(pixels)
        except ImageError as error:
            raise CheckpointError(str(error)) from error
        except ValueError as error:
            raise CheckpointError(f"'{printable(files.picture.name)}': {error}") from error
        try:
            save_code(second, again)
        except OSError as error:  # a folder that cannot be written costs the time once more
            log.warning("a code could not be kept in '%s': %s", second.parent, error.strerror)
        return LoadedStyle(network, {CODE: again.values}, remark)

    def build(self, network: AnyStyleNetwork, kernels: str) -> nn.Module:
        """Make the network; the baseline has plain layers, everything else the wrappers."""
        module = StylePainter(network.module(fused=kernels != "baseline"))
        return module.requires_grad_(False).eval()

    def load_into(self, module: nn.Module, state: State) -> None:
        """Load a code."""
        assert isinstance(module, StylePainter)
        module.code.copy_(state[CODE])

    def difference(self, first: AnyStyleNetwork, second: AnyStyleNetwork) -> str:
        """Codes of two networks have nothing in between."""
        if first == second:
            return ""
        return (
            "their codes belong to two any-style networks "
            f"({first.digest[:DIGITS]}; {second.digest[:DIGITS]})"
        )

    def limitations(
        self,
        kernels: str,
        device: torch.device,
        precision: Precision,
        network: AnyStyleNetwork,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """That there are no kernels of ours for it, and none of integers."""
        said = [self.kernels_remark] if kernels != "baseline" else []
        if kernels not in self.variants:
            said.insert(0, f"there is no {VARIANTS[kernels].title} for it")
        if precision.value.int8 and device.type == "cuda":  # on a CPU the precision itself says so
            said.append("it computes in FP16, since it has no products of integers")
        return tuple(said)

    def describe(self, network: AnyStyleNetwork) -> str:
        """Name the network: "Any style (small, 1a2b3c4d5e6f)"."""
        return f"{self.title} ({variant_name(network.config)}, {network.digest[:DIGITS]})"


def _checked(code: StyleCode, network: AnyStyleNetwork, path: Path) -> StyleCode:
    """The code itself; CheckpointError if it is not as long as the network's codes."""
    if code.values.shape[1] != network.config.code_dim:
        raise CheckpointError(
            f"'{printable(path.name)}' has {code.values.shape[1]} numbers, and "
            f"its network takes {network.config.code_dim}"
        )
    return code
