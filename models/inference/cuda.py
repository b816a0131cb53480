"""The network on a CUDA device as one plan per input size, with a cache of plans."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from kernels.network import dispatch
from kernels.network.graph_plan import GraphPlan
from kernels.table.registry import NETWORK, use_native
from models.inference import layerwise
from models.inference.layerwise_plan import LayerwisePlan, LoadableNetwork
from models.network_config import NetworkConfig
from models.precision import is_int8_allowed
from utils.tf32 import convolutions_use_tf32

PLANS_KEPT = 2  # input sizes; each plan owns its buffers

Weights = Callable[[], Mapping[str, Tensor]]  # returns the state dict

_VERSION = attrgetter("_version")


class PlanCache:
    """The plans of one network for the last PLANS_KEPT input sizes. Not thread-safe.

    `layers` builds a network of these dimensions, for plans that run it layer by layer.
    """

    def __init__(
        self, layers: Callable[[NetworkConfig, torch.device, torch.dtype], LoadableNetwork]
    ) -> None:
        self._layers = layers
        # Cached, since collecting the weights takes as long as running the network.
        self._weights: Mapping[str, Tensor] | None = None
        self._counted = False  # whether version counters track their changes
        self._plans: dict[Hashable, tuple[Hashable, GraphPlan]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._layers,)  # a copy of the network creates its own plans

    def plan(
        self,
        network: NetworkConfig,
        weights: Weights,
        dtype: torch.dtype,
        shape: tuple[int, int, int],  # N, H, W
        device: torch.device,
    ) -> GraphPlan | None:
        """Return the plan for N, H and W; None off CUDA or if gradients are enabled.

        `weights` returns its state dict; it is called once, and again after `forget_weights`.
        """
        if device.type != "cuda" or torch.is_grad_enabled():
            return None
        half = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
        native = (
            half in (None, torch.float16)
            and not dispatch.unsupported(network, device, dtype)
            and use_native(NETWORK)
        )
        int8 = (
            native
            and dtype is torch.float16
            and is_int8_allowed()
            and not dispatch.unsupported(network, device, dtype, int8=True)
        )
        # Autocast's FP16 factors have the 11 bits of TF32; only stored values have fewer.
        tf32 = dtype is torch.float32 and (half is not None or convolutions_use_tf32())
        if self._weights is None:
            self._weights = weights()
            # Tensors created in inference mode have no version counter: changes are not detectable.
            self._counted = not any(w.is_inference() for w in self._weights.values())
        held = self._weights.values()
        version = (*map(Tensor.data_ptr, held), *map(_VERSION, held)) if self._counted else None
        operations = None if native else layerwise.is_native(device)
        key = (shape, dtype, device, tf32, int8, operations, None if native else half)
        made, plan = self._plans.pop(key, (None, None))
        if plan is None or version is None or made != version:
            # Code outside inference mode could not write to buffers created in it.
            with torch.inference_mode(False), torch.no_grad():
                if plan is not None:
                    plan.set_weights(self._weights)
                elif operations is not None:
                    layers = self._layers(network, device, dtype)
                    plan = LayerwisePlan(
                        layers, self._weights, shape, dtype, device, native=operations
                    )
                else:
                    plan = dispatch.plan_for(
                        self._weights, network, shape, dtype, device, tf32=tf32, int8=int8
                    )
        self._plans[key] = version, plan
        while len(self._plans) > PLANS_KEPT:
            self._plans.pop(next(iter(self._plans)))
        return plan

    def forget_weights(self) -> None:
        """Collect the weights again for the next plan: their tensors may have been replaced."""
        self._weights = None
