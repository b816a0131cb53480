"""A program as an ONNX model: the bytes of a file, with names for its input and output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.onnx import ONNXProgram

from models.runtimes.program import INPUT, OUTPUT, Pictures, quiet

OPSET = 18
HEIGHT, WIDTH = "height", "width"  # the names of dimensions of any size


def convert(program: ExportedProgram) -> ONNXProgram:
    """Translate a program to a model of the same weights; needs the packages onnx, onnxscript."""
    with torch.inference_mode(mode=False), quiet():
        # PyTorch: some arguments of `export` have types that are not exported.
        model = torch.onnx.export(  # pyright: ignore[reportUnknownMemberType]
            program,
            dynamo=True,
            opset_version=OPSET,
            input_names=[INPUT],
            output_names=[OUTPUT],
            verbose=False,
        )
    assert model is not None
    return model


def serialize(
    model: ONNXProgram, pictures: Pictures, texts: Mapping[str, str] | None = None
) -> bytes:
    file: Any = model.model_proto
    graph = file.graph
    rows = 2 if pictures.planes else 1
    for value in (*graph.input, *graph.output):
        shape = value.type.tensor_type.shape
        for axis, name in ((rows, HEIGHT), (rows + 1, WIDTH)):
            if shape.dim[axis].dim_param:
                shape.dim[axis].dim_param = name
    # The exporter's notes on the origin of a node name folders of this machine. Readers of the
    # model infer the shapes in between again.
    del graph.value_info[:]
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
        part.doc_string = ""
    del file.metadata_props[:]
    for key, text in (texts or {}).items():
        entry = file.metadata_props.add()
        entry.key, entry.value = key, text
    return file.SerializeToString()
