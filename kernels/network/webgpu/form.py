"""The steps of a plan for pictures of one dtype, and the pictures in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.network.cpu.work import finished_shares
from kernels.network.webgpu.device import Buffer, Device
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.native import Step
from kernels.network.webgpu.paced import MOST, STREAMED, Paced, estimated
from kernels.network.webgpu.started import Place
from kernels.network.webgpu.steps import Pair, Steps
from kernels.network.webgpu.submissions import Part, Stopwatch, measured, packed
from kernels.network.webgpu.weights import Weights

IN_FLIGHT = 2  # pictures


class Form:
    """The steps for pictures of one dtype, and those in flight.

    Attributes:
        submissions: Parts of layers; empty until a picture has been measured.
    """

    def __init__(self, device: Device, steps: Steps) -> None:
        self._device, self.steps = device, steps
        self.stopwatch = Stopwatch(device, steps.result)
        self._places = [Place(device, steps, steps.picture)]
        self.submissions: list[list[Part]] = []
        self._times: dict[Part, float] = {}
        self._pace = 1.0  # of the estimated time
        self._paced: Paced | None = None

    @property
    def left(self) -> int:
        """How many more pictures may be started."""
        return IN_FLIGHT - sum(not place.free and not place.lost for place in self._places)

    def place(self) -> Place:
        """Return a free place.

        Raises:
            ValueError: If there is none.
        """
        self._places = [place for place in self._places if not place.lost]
        for place in self._places:
            if place.free:
                return place
        if len(self._places) == IN_FLIGHT:
            raise ValueError(f"{IN_FLIGHT} pictures are in flight; wait for one of them first")
        self._places.append(Place(self._device, self.steps, self.steps.another_picture()))
        return self._places[-1]

    def measure(self, layers: Mapping[str, Sequence[Step]], longest: float) -> None:
        """Paint layer by layer, and divide the work into submissions of at most `longest` ms."""
        times = measured(layers, self.stopwatch, longest)
        self._times, self.submissions, self._paced = times, packed(times, longest), None

    def share(self, other: Form) -> None:
        """Take the submissions of another form."""
        self._times, self.submissions = other._times, other.submissions

    def paced(self, network: Network, size: Pair) -> Paced:
        """Return the pieces, by measured times, the time of an earlier picture, or estimates."""
        if self._paced is None:
            slow = estimated(network, size)
            times = self._times or {part: self._pace * ms for part, ms in slow.items()}
            self._paced = self._divided(network, times, self.steps.picture, MOST)
        return self._paced

    @property
    def measured(self) -> float:
        """The ms of a picture, or 0 before one has been measured."""
        return sum(self._times.values())

    def streamed(self, network: Network, place: Place) -> Paced:
        """Return the pieces of a stream's picture in a place, by measured times."""
        if place.paced is None:
            place.paced = self._divided(network, self._times, place.picture, STREAMED)
        return place.paced

    def _divided(
        self, network: Network, times: Mapping[Part, float], picture: Buffer, most: float
    ) -> Paced:
        shares = finished_shares(network)
        return Paced(self._device, self.steps, times, shares, picture=picture, most=most)

    def record(self, taken: float) -> None:
        """Divide the next picture by the ms of the first one, if layers were not measured."""
        if self._paced is not None and not self._times and self._pace == 1.0:
            self._pace, self._paced = taken / self._paced.expected, None

    def layers(self, weights: Weights, place: Place) -> dict[str, list[Step]]:
        """Return the steps of each layer, where the first one reads the picture of a place."""
        layers = self.steps.grouped(weights, str)
        name, (first, *others) = next(iter(layers.items()))
        return {**layers, name: [first._replace(bound=place.reading), *others]}
