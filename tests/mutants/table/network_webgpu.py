"""Mutants of the network in WebGPU's shaders."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAYERS = "tests/kernels/network/webgpu/test_layers.py::"
_PLAN = "tests/kernels/network/webgpu/test_plan.py::"
_ADAPTERS = "tests/kernels/network/webgpu/test_adapters.py::"
_FOLDER = "kernels/network/webgpu"

MUTANTS = (
    Mutant(
        "a shader repeats the border in place of reflecting it",
        f"{_FOLDER}/wgsl.py",
        "return clamp(last - abs(last - abs(at)), vec2<i32>(), last);",
        "return clamp(at, vec2<i32>(), last);",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "a shader enlarges the rounding of a picture of one color",
        f"{_FOLDER}/transform_in.py",
        "let x{y}_{x} = z{y}_{x} - first;",
        "let x{y}_{x} = z{y}_{x};",
        (f"{_PLAN}test_pictures_of_one_color_are_exact",),
    ),
    Mutant(
        "a shader's ReLU drops NaN",
        f"{_FOLDER}/wgsl.py",
        "return select(x, vec4<f32>(), x < vec4<f32>());",
        "return select(vec4<f32>(), x, x > vec4<f32>());",
        (f"{_PLAN}test_a_pixel_that_is_no_number_spoils_the_picture_and_not_the_next",),
    ),
    Mutant(
        "a shader's moments count pixels beyond the result",
        f"{_FOLDER}/convolution.py",
        "let covered = min(TILE, end - corner);",
        "let covered = TILE;",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "merging forgets how far the means of parts are apart",
        f"{_FOLDER}/moments.py",
        "sum += fma(apart * apart, vec4<f32>(part.count), part.squares);",
        "sum += part.squares;",
        (f"{_LAYERS}test_a_plain_convolution_equals_pytorch",),
    ),
    Mutant(
        "a software GPU is taken unasked",
        f"{_FOLDER}/adapters.py",
        "if not adapter.software:",
        "if adapter:",
        (f"{_ADAPTERS}test_software_is_used_only_by_name",),
    ),
    Mutant(
        "a picture may be larger than a GPU's buffers",
        f"{_FOLDER}/plan.py",
        "if max(buffer_sizes(network, size).values()) > device.adapter.binding_bytes:",
        "if min(buffer_sizes(network, size).values()) > device.adapter.binding_bytes:",
        (f"{_PLAN}test_unsupported_pictures_and_gpus_are_refused_in_words",),
    ),
    Mutant(
        "an error of wgpu leaves the library as it is",
        f"{_FOLDER}/library.py",
        "except (wgpu().GPUError, RuntimeError, MemoryError, ValueError) as error:",
        "except MemoryError as error:",
        (f"{_ADAPTERS}test_failures_of_wgpu_are_one_class_of_errors",),
        breaks=("WebGpuError",),
    ),
)
