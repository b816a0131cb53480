"""The networks in memory: one per variant, precision, device and kind of network."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from app.engine.post.blending import Pixels, join_bands
from app.engine.result import Timings
from app.engine.stage_timer import Stopwatch
from app.engine.style_weights import ActiveWeights
from kernels.network.cpu.plan import BytesNetwork
from kernels.network.cpu.work import finished_shares
from kernels.network.graph_plan import GraphPlan, PlannedNetwork, group_of
from kernels.network.webgpu.library import WebGpuError
from kernels.network.webgpu.plan import Before
from models.families.family import NetworkFamily
from models.inference.cuda import PLANS_KEPT
from models.inference.frame_matting import PictureThere
from models.inference.frame_pipeline import SingleFrameRunner
from models.inference.painted_frames import Finish, KeptPainting
from models.inference.two_resolution import TwoResolutionRunner
from models.network_config import NetworkConfig
from models.precision import Precision, int8_allowed, tf32_allowed
from models.webgpu.network import WebGpuNetwork
from models.webgpu_devices import host_of
from utils.free_memory import free_bytes
from utils.translation.numbers import number
from utils.translation.texts import tr

# Shares of a device's memory that was free at its first use: for a picture at once, and for a
# picture in bands of rows, whose memory use is known more exactly.
AT_ONCE, IN_BANDS = 0.5, 0.9
# The default limits of a batch on a GPU, in pictures and in pixels. At 1280x720, a batch of eight
# pictures takes an H200 0.556 ms per picture, and one picture alone 0.650. Larger pictures fill a
# GPU by themselves.
BATCH = 8
BATCH_PIXELS = BATCH * 1280 * 720
NETWORKS_KEPT = 4  # bounds the memory of their buffers
Size = tuple[int, int]  # width, height
Deep = NDArray[np.uint16]  # [H, W, 3] RGB
BetweenLayers = Callable[[float | None], object]
_PER_DEEP = 257  # 16-bit steps in one 8-bit step


@dataclass(frozen=True, slots=True, eq=False)
class Rendering:
    """The output of a network for a frame.

    Attributes:
        timings: From uint8 input to uint8 output.
        broken: Whether the output was constant or not finite.
        raws: The unrounded output for each size; empty if the network returned only uint8.
        displayed: The steps applied to the output on the GPU: `pixels` is then the displayed
            picture, and the timings include scaling and blending. None for the output itself.
        screen: The copy of the displayed picture that a window paints, if requested; see
            `Frame.screen`.
        batch: How many frames were computed together; the timings are the share of this one.
        kept: The network's result on the GPU, if it is to be moved with the scene.
        there: The displayed picture on the GPU; None if it was not displayed from there.
    """

    pixels: Pixels
    timings: Timings
    broken: bool
    raws: tuple[Tensor, ...] = ()
    displayed: Finish | None = None
    screen: Pixels | None = None
    batch: int = 1
    deep: Deep | None = None
    kept: KeptPainting | None = None
    there: PictureThere | None = None

    @property
    def network_ms(self) -> float:
        """Milliseconds of upload, network and download, without scaling and joining two sizes."""
        return self.timings.upload + self.timings.network + self.timings.download


class _Painted(NamedTuple):
    """A picture, and the least and the greatest value before rounding, or NaN."""

    pixels: Pixels
    limits: tuple[float, float]
    raws: tuple[Tensor, ...] = ()
    deep: Deep | None = None


class StartedPicture:
    """A picture under way on a GPU that WebGPU reaches."""

    def __init__(
        self, network: WebGpuNetwork, pixels: Pixels, before: Before, pieces_from: float
    ) -> None:
        begun = time.perf_counter()
        self._started = network.start(pixels, before, pieces_from)
        self._upload_ms = (time.perf_counter() - begun) * 1e3

    def ready(self) -> bool:
        """Return whether `wait` would return at once, perhaps with an error."""
        try:
            return self._started.ready()
        except WebGpuError:
            return True

    def wait(self) -> Rendering:
        """Wait for the picture.

        Without timestamps of the GPU, the whole wait counts as the network's time, or the time of
        all pieces.
        """
        begun = time.perf_counter()
        pixels = self._started.result()
        waited_ms = (time.perf_counter() - begun) * 1e3
        measured, spent_ms = self._started.milliseconds, self._started.spent
        if measured is None and spent_ms is not None:
            waited_ms = spent_ms  # the engine moved an earlier painting meanwhile
        timings = _by_timestamps(measured, self._upload_ms, waited_ms)
        return Rendering(pixels, timings, _broken(*self._started.limits))


def _in_pieces(network: WebGpuNetwork, pixels: Pixels, between: BetweenLayers) -> Rendering:
    """Paint a picture on a GPU that WebGPU reaches, which can be given up; see `Network.render`."""
    begun, others = time.perf_counter(), 0.0

    def passed(_: str, share: float) -> None:
        nonlocal others
        since = time.perf_counter()
        between(share)
        others += time.perf_counter() - since

    started = network.paint(pixels, passed)
    spent_ms = (time.perf_counter() - begun - others) * 1e3
    timings = _by_timestamps(started.milliseconds, 0.0, spent_ms)
    return Rendering(started.result(), timings, _broken(*started.limits))


class NetworkPool:
    """A cache of the last NETWORKS_KEPT networks; `free` returns free bytes. Not thread-safe."""

    def __init__(self, free: Callable[[torch.device], float] = free_bytes) -> None:
        self._free, self._free_bytes = free, dict[torch.device, float]()
        self._networks: dict[tuple[str, Precision, torch.device, Hashable], Network] = {}

    def get(
        self,
        kernels: str,
        precision: Precision,
        device: torch.device,
        active: ActiveWeights,
        *,
        by_layer: bool = False,
    ) -> Network:
        """Return a network with these weights; timing layers (`by_layer`) takes longer on a GPU."""
        key = (kernels, precision, device, active.network)
        network = self._networks.pop(key, None) or Network(*key, active.family)
        self._networks[key] = network  # last in the dict: the first is the least recently used
        if len(self._networks) > NETWORKS_KEPT:
            self._networks.pop(next(iter(self._networks)))
        network.load_weights(active)
        network.time_layers(by_layer)
        return network

    def memory(self, device: torch.device) -> float:
        """Return the bytes free on a device at first use: a run's own use changes no picture."""
        if device not in self._free_bytes:
            self._free_bytes[device] = self._free(device)
        return self._free_bytes[device]

    def bands_reason(
        self, family: NetworkFamily[Any], precision: Precision, device: torch.device, size: Size
    ) -> str:
        """Return why pictures of a size have to run in bands of rows, as a clause, or "".

        Raises:
            MemoryError: If the pictures do not fit into memory in bands either.
        """
        at_once = size[0] * size[1] * family.memory_per_pixel(device, precision)
        free, in_bands = self.memory(device), family.banded_bytes(size, precision)
        if at_once <= AT_ONCE * free or in_bands is None:
            return ""
        if in_bands > IN_BANDS * free:
            raise MemoryError
        return tr(
            "computed in bands of rows, since the whole picture needs {needed} GB and {free} "
            "GB are free",
            needed=number(at_once / 1e9, 1),
            free=number(free / 1e9, 1),
        )

    def clear(self) -> None:
        self._networks.clear()


class Network:
    """A network of one variant, precision and device. Not thread-safe."""

    def __init__(
        self,
        kernels: str,
        precision: Precision,
        device: torch.device,
        network: Hashable,
        family: NetworkFamily[Any],
    ) -> None:
        self.device, self._precision = device, precision
        self._host = host_of(device)
        self._family = family
        self._memory_format = family.variant(kernels).memory_format
        self._module = family.build_on(network, kernels, device, precision)
        self._on_webgpu = self._module if isinstance(self._module, WebGpuNetwork) else None
        self._planned = self._module if isinstance(self._module, PlannedNetwork) else None
        self._in_bytes = self._module if isinstance(self._module, BytesNetwork) else None
        self._loaded: Hashable = None
        self._by_layer = False
        shape = network if isinstance(network, NetworkConfig) else None
        self._shares = {} if shape is None else finished_shares(shape)
        self._runners: dict[Size, SingleFrameRunner] = {}  # by the size of their pictures

    def load_weights(self, active: ActiveWeights) -> None:
        """Load `active`, unless these weights are already loaded."""
        if active.key != self._loaded:
            self._family.load_into(self._module, active.state)
            self._loaded = active.key

    @property
    def by_layer(self) -> bool:
        return self._by_layer

    def time_layers(self, on: bool) -> None:
        """Set whether the network times every layer, or only groups of layers (the default)."""
        self._by_layer = on
        # On a CPU, marks cost nothing, and `between` of `render` runs at each.
        every = on or self.device.type == "cpu"
        if every != self._module.by_layer:  # setting an attribute of a module is slow
            self._module.by_layer = every  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]

    @property
    def overlaps(self) -> bool:
        """Whether `start` paints a picture while the CPU prepares the next one."""
        return self._on_webgpu is not None

    def start(
        self,
        pixels: Pixels,
        before: Before = lambda picture: (),
        pieces_from: float = math.inf,
    ) -> StartedPicture:
        """Start a picture on a GPU that WebGPU reaches, where one more may be under way.

        `WebGpuPlan.start` describes `before` and `pieces_from`.
        """
        assert self._on_webgpu is not None
        return StartedPicture(self._on_webgpu, pixels, before, pieces_from)

    def render_all(
        self,
        inputs: tuple[Pixels, ...],
        *,
        deep: bool = False,
        banded: Callable[[float], object] | None = None,
        between: BetweenLayers = lambda share: None,
    ) -> Rendering:
        """Render a frame that was scaled to one or two sizes.

        Args:
            inputs: The frame at each size, the larger first.
            banded: If set, the larger size is computed in bands of rows, and this function is
                called with the finished share. An exception it raises ends the computation.
            between: Called between layers if the network runs at once and without a plan, as on a
                CPU, or between pieces on a GPU that WebGPU reaches, with the finished share, or
                None if the network's shares are unknown. An exception it raises ends the
                computation.

        Returns:
            The output for the larger size. With two sizes, its low frequencies come from the
            smaller one, see `join_bands`.
        """
        detail = None if banded is None else self._render_in_bands(inputs[0], banded, deep=deep)
        if len(inputs) == 1:
            return detail or self.render(inputs[0], deep=deep, between=between)
        large, small = inputs
        if detail is None and not deep:
            joined = self.render_two(large, (small.shape[1], small.shape[0]))
            if joined is not None:
                return joined
        part = large.size / (large.size + small.size)
        detail = detail or self.render(
            large, deep=deep, between=lambda share: between(share and share * part)
        )
        strokes = self.render(
            small, deep=deep, between=lambda share: between(share and part + share * (1 - part))
        )
        return joined_sizes(detail, strokes)

    def render(
        self,
        pixels: Pixels,
        *,
        deep: bool = False,
        between: BetweenLayers = lambda share: None,
    ) -> Rendering:
        """Run the network on a picture along the fastest path, with timings."""
        if self._on_webgpu is not None and not deep:
            return _in_pieces(self._on_webgpu, pixels, between)
        clock = Stopwatch(self.device)
        with self.computing():
            size = pixels.shape[1], pixels.shape[0]
            if not deep and (runner := self._runner(size)) is not None:
                result = runner.style(pixels, clock.mark)
                return Rendering(result.pixels, clock.read(), result.broken)
        (rendering,) = self._render_layers((pixels,), clock, deep=deep, between=between)
        return rendering

    def _render_in_bands(
        self, pixels: Pixels, progress: Callable[[float], object], *, deep: bool
    ) -> Rendering:
        size = pixels.shape[1], pixels.shape[0]
        painted = np.empty(pixels.shape, np.uint8)
        painted_deep = np.empty(pixels.shape, np.uint16) if deep else None
        dtype, ranges = self._precision.value.dtype, list[tuple[float, float]]()

        def rows(top: int, bottom: int) -> Tensor:
            band = torch.as_tensor(pixels[top:bottom].copy()).to(self.device)
            return band.permute(2, 0, 1)[None].to(dtype, memory_format=torch.channels_last)

        def write(top: int, values: Tensor) -> None:
            raw = values[0].permute(1, 2, 0).float()
            low, high = torch.aminmax(raw)  # aminmax propagates NaN
            ranges.append((float(low), float(high)))
            place = slice(top, top + len(raw))
            painted[place] = _rounded(raw)
            if painted_deep is not None:
                painted_deep[place] = _rounded_deep(raw)

        clock = Stopwatch(self.device)
        with self.computing():
            self._family.run_in_bands(self._module, rows, write, size, progress)
            clock.mark("network")
        values = [value for each in ranges for value in each]
        broken = not all(map(math.isfinite, values)) or min(values) == max(values)
        return Rendering(painted, clock.read(), broken, deep=painted_deep)

    def render_batch(self, pictures: Sequence[Pixels]) -> list[Rendering]:
        """Run pictures of one size as a batch, or singly if the fastest path accepts no more."""
        height, width = pictures[0].shape[:2]
        with self.computing():
            single = self.overlaps or self.plan((width, height)) is not None
        if single:
            return [self.render(pixels) for pixels in pictures]
        return self._render_layers(pictures, Stopwatch(self.device))

    def _render_layers(
        self,
        pictures: Sequence[Pixels],
        clock: Stopwatch,
        *,
        deep: bool = False,
        between: BetweenLayers = lambda share: None,
    ) -> list[Rendering]:
        def passed(stage: str) -> None:
            begun = time.perf_counter()
            between(self._shares.get(stage))
            clock.exclude(time.perf_counter() - begun)
            clock.mark(stage if self._by_layer else group_of(stage))

        with self.computing():
            painted = None if deep else self._bytes(pictures, passed)
            if painted is None:
                painted = self._rounded_raws(pictures, passed, deep=deep)
            clock.mark("download")
        share = clock.read().share(len(pictures))
        return [
            Rendering(
                each.pixels,
                share,
                not all(map(math.isfinite, each.limits)) or each.limits[0] == each.limits[1],
                each.raws,
                batch=len(pictures),
                deep=each.deep,
            )
            for each in painted
        ]

    def _bytes(
        self, pictures: Sequence[Pixels], passed: Callable[[str], None]
    ) -> list[_Painted] | None:
        """Paint pictures without their values before rounding; None if the network cannot here."""
        if self._in_bytes is None or self._host.type != "cpu":
            return None
        painted = self._in_bytes.paint_bytes(self._frames(pictures), passed)
        if painted is None:
            return None
        rounded, limits = painted
        return [
            _Painted(pixels, (float(low), float(high)))
            for pixels, (low, high) in zip(rounded.numpy(), limits, strict=True)
        ]

    def _rounded_raws(
        self, pictures: Sequence[Pixels], passed: Callable[[str], None], *, deep: bool
    ) -> list[_Painted]:
        raws = self._raws(pictures, passed)
        # aminmax propagates NaN, so its two values reveal any value that is not finite.
        limits = [tuple(map(float, torch.aminmax(raw))) for raw in raws]
        deeps = list(map(_rounded_deep, raws)) if deep else [None] * len(raws)
        return [
            _Painted(pixels, (low, high), (raw,), of_16_bits)
            for pixels, raw, (low, high), of_16_bits in zip(
                _rounded(raws), raws, limits, deeps, strict=True
            )
        ]

    def render_two(self, pixels: Pixels, strokes: Size) -> Rendering | None:
        """Run the native network at two sizes and join the results on the GPU.

        `pixels` has the larger size; `strokes` is the smaller one, (width, height). Return None
        without a GPU, or if a size has no native plan.
        """
        if self.device.type != "cuda":
            return None
        clock = Stopwatch(self.device)
        with self.computing():
            small = self._runner(strokes)
            large = self._runner((pixels.shape[1], pixels.shape[0]))
            if small is None or large is None:
                return None
            result = TwoResolutionRunner(small, large).style(pixels, clock.mark)
        return Rendering(result.pixels, clock.read(), result.broken)

    def raw(self, pixels: Pixels) -> Tensor:
        """Return a picture's unrounded values, [H, W, 3] float32, about 0-255, on the device."""
        with self.computing():
            return self._raws((pixels,), lambda _: None)[0]

    def _raws(self, pictures: Sequence[Pixels], passed: Callable[[str], None]) -> Tensor:
        """Return [N, H, W, 3] float32, the values of `raw` for each picture."""
        frames = self._frames(pictures)
        x = frames.permute(0, 3, 1, 2).to(self._precision.value.dtype)  # [N, 3, H, W]
        x = x.contiguous(memory_format=self._memory_format)
        passed("upload")
        raws = self._module(x, passed).permute(0, 2, 3, 1).float()
        passed("network")
        return raws

    def _frames(self, pictures: Sequence[Pixels]) -> Tensor:
        stacked = np.stack(pictures) if len(pictures) > 1 else pictures[0][None]
        return torch.as_tensor(stacked).to(self._host)

    def plan(self, size: Size, samples: int = 1) -> GraphPlan | None:
        """Return the plan for batches of a size, or None; call it within `computing`."""
        if self._planned is None:
            return None
        return self._planned.plan((samples, size[1], size[0]), self.device)

    def _runner(self, size: Size) -> SingleFrameRunner | None:
        """Return the runner of the plan for a size, or None; each runner holds a plan."""
        plan = self.plan(size)
        runner = self._runners.pop(size, None)
        if plan is None:
            return None
        if runner is None or runner.plan is not plan:
            runner = SingleFrameRunner(plan)
        self._runners[size] = runner  # last in the dict: the first is the least recently used
        if len(self._runners) > PLANS_KEPT:
            self._runners.pop(next(iter(self._runners)))
        return runner

    @contextmanager
    def computing(self) -> Generator[None]:
        """Make PyTorch compute in this network's precision, in inference mode."""
        mode, kind = self._precision.value, self._host.type
        half = torch.float16 if kind == "cuda" else torch.bfloat16
        # Entering and leaving autocast takes 15 us per frame.
        autocast: AbstractContextManager[object] = nullcontext()
        if mode.autocast or torch.is_autocast_enabled(kind):
            autocast = torch.autocast(kind, half, enabled=mode.autocast)
        with (
            torch.inference_mode(),
            tf32_allowed(mode.tf32),
            int8_allowed(mode.int8),
            autocast,
        ):
            yield


def joined_sizes(detail: Rendering, strokes: Rendering) -> Rendering:
    """Return the output of the larger size with the low frequencies of the smaller one."""
    start = time.perf_counter()
    pixels = join_bands(strokes.pixels, detail.pixels)
    both = strokes.deep, detail.deep
    joined_deep = None if both[0] is None or both[1] is None else join_bands(both[0], both[1])
    joining = Timings(blend=(time.perf_counter() - start) * 1e3)
    return Rendering(
        pixels,
        detail.timings + strokes.timings + joining,
        detail.broken or strokes.broken,
        detail.raws + strokes.raws,
        deep=joined_deep,
    )


def _broken(low: float, high: float) -> bool:
    return not (math.isfinite(low) and math.isfinite(high)) or low == high


def _by_timestamps(
    measured: Mapping[str, float] | None, upload_ms: float, waited_ms: float
) -> Timings:
    """Return the times of a picture from a GPU's times by layer or group of layers, if any."""
    if measured is None:
        return Timings(upload=upload_ms, network=waited_ms)
    network = sum(measured.values())
    groups: dict[str, float] = {}
    for name, ms in measured.items():
        groups[group_of(name)] = groups.get(group_of(name), 0.0) + ms
    layers = tuple((name, ms) for name, ms in measured.items() if name not in groups)
    download = max(0.0, waited_ms - network)
    return Timings(
        upload=upload_ms,
        network=network,
        download=download,
        groups=tuple(groups.items()),
        layers=layers,
    )


def _rounded(raw: Tensor) -> Pixels:
    """Convert a network's values [..., 3] to 8 bits."""
    return (raw.clamp(0, 255) + 0.5).to(torch.uint8).contiguous().cpu().numpy()


def _rounded_deep(raw: Tensor) -> Deep:
    """Convert a network's values [..., 3] to 16 bits."""
    steps = (raw.clamp(0, 255) * _PER_DEEP + 0.5).to(torch.int32)  # NaN becomes 0
    return steps.contiguous().cpu().numpy().astype(np.uint16)
