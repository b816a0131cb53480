"""Models of torchvision and transformers by name, with trained or random weights."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

import torch
from torch import nn

IMAGE, TOKENS = (1, 3, 224, 224), (1, 128)


class HubError(RuntimeError):
    """Raised if a model is not available; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model with a known name; the distribution `library` defines it.

    `kind` is its configuration's name in transformers, `of_decoder` a decoder's shape of tokens.
    """

    library: str
    shape: tuple[int, ...]
    kind: str = ""
    of_decoder: tuple[int, ...] = ()


MODELS = {
    **dict.fromkeys(
        (
            "resnet18", "resnet50", "densenet121", "mobilenet_v3_large", "efficientnet_b0", "vgg16",
            "vit_b_16", "convnext_tiny", "swin_t",
        ),
        Entry("torchvision", IMAGE),
    ),
    "bert-base-uncased": Entry("transformers", TOKENS, "bert"),
    "roberta-base": Entry("transformers", TOKENS, "roberta"),
    "distilbert-base-uncased": Entry("transformers", TOKENS, "distilbert"),
    "gpt2": Entry("transformers", TOKENS, "gpt2"),
    "t5-small": Entry("transformers", TOKENS, "t5", of_decoder=(1, 32)),
}  # fmt: skip


def load(name: str, random_weights: bool = False) -> tuple[nn.Module, Any]:
    """Return a model of MODELS in evaluation, and its input: a shape, or tokens by name.

    With `random_weights`, the model has random weights and none are fetched.

    Raises:
        HubError: If the model is unknown, its library is not installed, or its weights cannot be
            fetched.
    """
    if name not in MODELS:
        raise HubError(f"there is no model '{name}'; there are {', '.join(MODELS)}")
    entry = MODELS[name]
    try:
        library = _library(entry.library)
    except ImportError as error:
        raise HubError(
            f"{name} is a model of {entry.library}, which is not installed: {error}"
        ) from error
    try:
        if entry.kind:
            model = _of_transformers(library, name, entry.kind, random_weights)
        else:
            model = library.get_model(name, weights=None if random_weights else "DEFAULT")
    # both libraries raise these if they cannot reach their server
    except (OSError, URLError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise HubError(
            f"cannot fetch the weights of {name}: {reason}; --random-weights converts the model "
            "without them"
        ) from error
    return model.eval(), _tokens(model, entry) if entry.of_decoder else entry.shape


def _library(name: str) -> Any:
    found = importlib.import_module(name)
    return importlib.import_module("torchvision.models") if name == "torchvision" else found


def _of_transformers(library: Any, name: str, kind: str, random_weights: bool) -> Any:
    if random_weights:
        model = library.AutoModel.from_config(library.AutoConfig.for_model(kind))
    else:
        model = library.AutoModel.from_pretrained(name)
    for module in model.modules():  # a decoder has a configuration of its own
        if hasattr(module, "config"):
            module.config.use_cache = False  # a graph cannot return a cache of keys and values
    return model


def _tokens(model: Any, entry: Entry) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"input_ids": entry.shape, "decoder_input_ids": entry.of_decoder}
    return {
        name: torch.randint(model.config.vocab_size, shape, generator=generator)
        for name, shape in shapes.items()
    }
