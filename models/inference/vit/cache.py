"""The cache of an any-style network's executor, and of its plans for the last few sizes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch
from torch import Tensor

from kernels.network import dispatch
from kernels.network.ends import ends_for
from kernels.table.registry import NETWORK, TRANSFORMER, in_use, use_native
from models.inference.cuda import PLANS_KEPT
from models.inference.vit.executor import VitExecutor
from models.inference.vit.native_plan import NativeVitPlan, dimensions, end_weights
from models.inference.vit.parts import VitParts
from models.inference.vit.plan import CODE, VitPlan
from models.inference.vit.weights import VitWeights, prepare
from models.vit_config import VitConfig

AnyPlan = VitPlan | NativeVitPlan
State = Callable[[], Mapping[str, Tensor]]  # returns the state dict


class VitCache:
    """The executor and the plans of one network. Not thread-safe; with gradients disabled only."""

    def __init__(self, config: VitConfig) -> None:
        self._config = config
        self._key: Hashable = None  # dtype and device of the weights
        self._weights: VitWeights | None = None
        self._executor: VitExecutor | None = None
        self._plans: dict[Hashable, AnyPlan] = {}  # by shape, and whether the ends are native
        # The code of each executor or plan, with its version. An address would not do: it is reused
        # after a code is freed.
        self._codes: dict[object, tuple[Tensor, int]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._config,)  # a copy of the network prepares its own

    def executor(
        self, state: State, code: Tensor, dtype: torch.dtype, device: torch.device
    ) -> VitExecutor:
        """Return the executor for these tensors, with the code, [1, code_dim], set.

        `state` returns the network's state dict; it is called if the executor is not prepared.
        """
        weights = self._prepared(state, dtype, device)
        if self._executor is None:
            self._executor = VitExecutor(self._config, weights)
        if self._is_new(self._executor, code):
            self._executor.set_code(code)
        return self._executor

    def plan(
        self,
        state: State,
        code: Tensor,
        dtype: torch.dtype,
        device: torch.device,
        shape: tuple[int, int, int],
    ) -> AnyPlan:
        """Return the plan for N, H and W, with the code set; see `executor`.

        Its ends are the native network's layers if these support the shapes and are loaded.
        """
        weights = self._prepared(state, dtype, device)
        network = dimensions(self._config)
        native = not dispatch.unsupported(network, device, dtype) and use_native(NETWORK)
        # A graph captured without a library never uses it, even once the library is loaded.
        key = shape, native, in_use(TRANSFORMER, "cuda")
        plan = self._plans.pop(key, None)
        # Code outside inference mode could not write to buffers created in it.
        if plan is None:
            with torch.inference_mode(False), torch.no_grad():
                if native:
                    ends = ends_for(end_weights(weights), network, shape, dtype, device)
                    plan = NativeVitPlan(VitParts(self._config, weights), ends)
                else:
                    plan = VitPlan(VitExecutor(self._config, weights), shape)
        if self._is_new(plan, code):
            with torch.inference_mode(False), torch.no_grad():
                plan.set_weights({CODE: code})
        self._plans[key] = plan  # last in the dict: the first is the least recently used
        if len(self._plans) > PLANS_KEPT:
            self._codes.pop(self._plans.pop(next(iter(self._plans))), None)
        return plan

    def forget_weights(self) -> None:
        """Prepare the weights again: their tensors may have been replaced."""
        self._key = self._weights = self._executor = None
        self._plans.clear()
        self._codes.clear()

    def _prepared(self, state: State, dtype: torch.dtype, device: torch.device) -> VitWeights:
        if self._weights is None or self._key != (dtype, device):
            self.forget_weights()
            with torch.inference_mode(False), torch.no_grad():
                self._weights = prepare(state(), self._config, dtype, device)
            self._key = dtype, device
        return self._weights

    def _is_new(self, holder: object, code: Tensor) -> bool:
        """Return whether the holder has a code other than `code`, and record `code` for it."""
        if code.is_inference():  # without a version: changes are not detectable
            self._codes.pop(holder, None)
            return True
        known = self._codes.get(holder)
        self._codes[holder] = code, code._version
        return known is None or known[0] is not code or known[1] != code._version
