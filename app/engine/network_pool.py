"""The networks in memory: one for each variant, precision, device and shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from app.engine.blending import Pixels
from app.engine.result import Timings
from app.engine.stage_timer import Stopwatch
from app.engine.style_weights import ActiveWeights
from models.inference.cuda import PLANS_KEPT
from models.inference.frame_pipeline import SingleFrameRunner
from models.inference.two_resolution import TwoResolutionRunner
from models.network_config import NetworkConfig
from models.precision import Precision, tf32_allowed
from models.transformer_net import VARIANTS, TransformerNetFused

NETWORKS_KEPT = 4  # their buffers are what fills memory
Size = tuple[int, int]  # width, height


@dataclass(frozen=True, slots=True, eq=False)
class Rendering:
    """One network's picture: `pixels` as shown, and the milliseconds it took from bytes to bytes.

    `raws` are its values before they were rounded, see Network.raw, for each size it worked at;
    empty where the native network made bytes at once.
    """

    pixels: Pixels
    timings: Timings
    broken: bool  # not finite, or one constant
    raws: tuple[Tensor, ...] = ()

    @property
    def network_ms(self) -> float:
        """What the network's own path took: all but scaling, and joining two sizes."""
        return self.timings.upload + self.timings.network + self.timings.download


class NetworkPool:
    """Keeps NETWORKS_KEPT networks. For one thread."""

    def __init__(self) -> None:
        self._networks: dict[tuple[str, Precision, torch.device, NetworkConfig], Network] = {}

    def get(
        self, kernels: str, precision: Precision, device: torch.device, active: ActiveWeights
    ) -> Network:
        """The network with these weights in it; `kernels` is a key of VARIANTS."""
        key = (kernels, precision, device, active.shape)
        network = self._networks.pop(key, None) or Network(*key)
        self._networks[key] = network  # last in the dict, so the first is the longest unused
        if len(self._networks) > NETWORKS_KEPT:
            self._networks.pop(next(iter(self._networks)))
        network.load_weights(active)
        return network

    def clear(self) -> None:
        """Give the memory back."""
        self._networks.clear()


class Network:
    """A network of one variant, precision, device and shape, with one set of weights at a time."""

    def __init__(
        self, kernels: str, precision: Precision, device: torch.device, shape: NetworkConfig
    ) -> None:
        self._device, self._precision = device, precision
        self._memory_format = VARIANTS[kernels].memory_format
        module = VARIANTS[kernels](**asdict(shape))
        module.requires_grad_(False).eval()
        self._module = module.to(device, precision.value.dtype)
        self._loaded: Hashable = None
        self._runners: dict[Size, SingleFrameRunner] = {}  # by the size of their pictures

    def load_weights(self, active: ActiveWeights) -> None:
        """Load `active`, unless these weights are loaded already."""
        if active.key != self._loaded:
            self._module.load_state_dict(active.state)
            self._loaded = active.key

    def render(self, pixels: Pixels) -> Rendering:
        """The picture of `pixels` [H, W, 3] by the fastest path there is, timed from bytes to
        bytes: upload, network (in groups), download."""
        clock = Stopwatch(self._device)
        with self._computing():
            if (runner := self._runner((pixels.shape[1], pixels.shape[0]))) is not None:
                result = runner.style(pixels, clock.mark)
                return Rendering(result.pixels, clock.read(), result.broken)
            raw = self._raw(pixels, clock.mark)
            # NaN spreads through aminmax, so the two ends tell of any broken pixel.
            low, high = (float(value) for value in torch.aminmax(raw))
            out = (raw.clamp(0, 255) + 0.5).to(torch.uint8).contiguous().cpu().numpy()
            clock.mark("download")
        broken = not (math.isfinite(low) and math.isfinite(high)) or low == high
        return Rendering(out, clock.read(), broken, (raw,))

    def render_two(self, pixels: Pixels, strokes: Size) -> Rendering | None:
        """`pixels` at their own size and at `strokes`, joined on the GPU; None where the native
        network does not run there."""
        if self._device.type != "cuda":
            return None
        clock = Stopwatch(self._device)
        with self._computing():
            small = self._runner(strokes)
            large = self._runner((pixels.shape[1], pixels.shape[0]))
            if small is None or large is None:
                return None
            result = TwoResolutionRunner(small, large).style(pixels, clock.mark)
        return Rendering(result.pixels, clock.read(), result.broken)

    def raw(self, pixels: Pixels) -> Tensor:
        """The network's own values for `pixels`: [H, W, 3] float32 on the device, 0-255, neither
        clamped nor rounded. Slower than `render`: for measuring, not for showing."""
        with self._computing():
            return self._raw(pixels, lambda _: None)

    def _raw(self, pixels: Pixels, mark: Callable[[str], None]) -> Tensor:
        frames = torch.as_tensor(pixels)[None].to(self._device)
        x = frames.permute(0, 3, 1, 2).to(self._precision.value.dtype)  # [1, 3, H, W]
        x = x.contiguous(memory_format=self._memory_format)
        mark("upload")
        raw = self._module(x, mark)[0].permute(1, 2, 0).float()  # [H, W, 3]
        mark("network")
        return raw

    def _runner(self, size: Size) -> SingleFrameRunner | None:
        """The native network for pictures of `size`; None where there is none. Runners hold plans
        that the module keeps, so no more of them are kept than of those."""
        if not isinstance(self._module, TransformerNetFused):
            return None
        plan = self._module.plan((1, size[1], size[0]), self._device)
        runner = self._runners.pop(size, None)
        if plan is None:
            return None
        if runner is None or runner.plan is not plan:
            runner = SingleFrameRunner(plan)
        self._runners[size] = runner  # last in the dict, so the first is the longest unused
        if len(self._runners) > PLANS_KEPT:
            self._runners.pop(next(iter(self._runners)))
        return runner

    @contextmanager
    def _computing(self) -> Generator[None]:
        """Within, PyTorch computes in this network's precision."""
        half = torch.float16 if self._device.type == "cuda" else torch.bfloat16
        with (
            torch.inference_mode(),
            tf32_allowed(self._precision.value.tf32),
            torch.autocast(self._device.type, half, enabled=self._precision.value.autocast),
        ):
            yield
