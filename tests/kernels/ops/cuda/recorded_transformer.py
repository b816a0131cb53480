"""Every launch of the transformer kernels' launchers, with a stub's record of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from ctypes import c_int, sizeof
from pathlib import Path
from typing import Any

from kernels.ops.transformer import structs
from kernels.ops.transformer.launchers import Rows, Transformer
from tests.kernels.driver.launches import Told, launch
from tests.kernels.ops.cuda.recorded import template, values

FILE = Path(__file__).with_name("transformer_launches.txt")
WHAT = "Launches of transformers' kernels"
STREAM = 0x1234
GPU = 132  # multiprocessors
# The arguments of a kernel, by the name of its template.
ARGUMENTS: dict[str, tuple[type[Any], ...]] = {
    "attention::attention_sm90": (structs.TensorMaps, structs.StyleforgeAttention),
    "attention::attention_delta": (structs.StyleforgeAttentionBackward,),
    "attention::attention_backward_keys": (structs.StyleforgeAttentionBackward,),
    "attention::attention_backward_queries": (structs.StyleforgeAttentionBackward,),
    "bias_gelu": (structs.StyleforgeEpilogue,),
    "bias_residual": (structs.StyleforgeEpilogue,),
}
ATTENTION = (structs.StyleforgeAttention,)
HALVES = ("float16", "bfloat16")


def arguments_of(kernel: str) -> tuple[type[Any], ...]:
    return ARGUMENTS.get(template(kernel), ATTENTION)


def attention(queries: int, keys: int, columns: int, **fields: Any) -> structs.StyleforgeAttention:
    given: dict[str, Any] = {
        **{"q": 1 << 12, "k": 2 << 12, "v": 3 << 12, "out": 4 << 12, "lse": 5 << 12},
        **{"samples": 2, "heads": 4, "queries": queries, "keys": keys, "columns": columns},
        **{"scale": columns**-0.5, "kept_scale": 1.0},
    }
    return structs.StyleforgeAttention(**(given | fields))


def rows(length: int, columns: int, **fields: Any) -> Rows:
    """Return the rows of a packed projection of 4 heads."""
    given: dict[str, Any] = {
        **{"address": 1 << 12, "sizes": (columns, length, 4, 2)},
        "strides": (12 * columns, columns, 12 * columns * length),
        "box": min(columns, 64),
    }
    return Rows(**(given | fields))


def calls() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Yield a launcher, its arguments without the stream that follows them, and its options."""
    lengths = ((1, 1), (64, 65), (1000, 77), (4096, 4096), (5000, 5000))
    for (queries, keys), columns in itertools.product(lengths, (32, 64, 128)):
        p = attention(queries, keys, columns)
        for dtype in ("float32", *HALVES):
            yield "first_rung", (p, dtype), {}
            yield "second_rung", (p, dtype), {}
            for general in (False, True):
                yield "third_rung", (p, dtype), {"general": general}
        for dtype, causal in itertools.product(HALVES, (0, 1)):
            p = attention(queries, keys, columns, causal=causal)
            given = rows(queries, columns), rows(keys, columns), rows(keys, columns)
            yield "third_rung_sm90", (p, dtype, given, GPU), {}
            backward = structs.StyleforgeAttentionBackward(forward=p, grad_q=6 << 12)
            yield "gradients", (backward, dtype), {}
    for part, dtype, (count, columns) in itertools.product(
        ("ffn", "output_projection"), ("float32", *HALVES), ((1, 8), (1000, 512), (7, 9))
    ):
        if part == "output_projection" and dtype == "float32":
            continue  # cuBLAS and PyTorch compute that
        for address, vectorized in ((1 << 12, True), ((1 << 12) + 4, True), (1 << 12, False)):
            p = structs.StyleforgeEpilogue(x=address, y=address, rows=count, columns=columns)
            yield "epilogue", (part, p, dtype, GPU), {"vectorized": vectorized}


def expect(stub: Any, names: Mapping[str, Mapping[str, str]]) -> None:
    """Register each kernel's arguments with a stub, by the names in the images of each source."""
    for of_source in names.values():
        for kernel, name in of_source.items():
            sizes = [sizeof(argument) for argument in arguments_of(kernel)]
            stub.stub_expect(name.encode(), (c_int * len(sizes))(*sizes), len(sizes))


def record(library: Transformer, stub: Any) -> Iterator[Told]:
    """Make the calls of `calls` with the library's launchers and the stub behind them.

    Call `expect` for the stub first.
    """
    stub.stub_take()
    for launcher, arguments, options in calls():
        result = getattr(library, launcher)(*arguments, STREAM, **options)
        lines = stub.stub_take().decode().splitlines()
        yield Told(f"styleforge_{launcher}", result, tuple(map(_launch, lines)))


def _launch(line: str) -> Any:
    *fields, arguments = line.split(" ")
    kinds = arguments_of(fields[0])
    parts = [bytes.fromhex(part) for part in arguments.split(",")]
    return launch(fields, [values(kind, part) for kind, part in zip(kinds, parts, strict=True)])
