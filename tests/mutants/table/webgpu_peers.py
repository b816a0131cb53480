"""Mutants of the measurement of other runtimes beside ours, and of WebGPU's time model."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_MEASURE = "tests/benchmarks/webgpu_peers/test_measure.py::"
_TABLE = "tests/benchmarks/tables/test_webgpu.py::"
_MODEL = "tests/kernels/time_model/test_webgpu.py::"
_FIT = "tests/benchmarks/time_model/test_webgpu.py::"
_PAGE = "tests/benchmarks/time_model/test_page.py::"
_FOLDER = "benchmarks/webgpu_peers"

MUTANTS = (
    Mutant(
        "the ways to run a network are measured one after another",
        f"{_FOLDER}/measure.py",
        "for way in orders.sample(ways, len(ways)):",
        "for way in ways:",
        (f"{_MEASURE}test_the_ways_take_turns",),
    ),
    Mutant(
        "a way that refuses a network ends the measurement",
        f"{_FOLDER}/measure.py",
        "except (RuntimeFault, torch.cuda.OutOfMemoryError) as fault:",
        "except torch.cuda.OutOfMemoryError as fault:",
        (f"{_MEASURE}test_a_way_that_does_not_run_has_a_reason_and_no_time",),
    ),
    Mutant(
        "PyTorch on another GPU is measured beside ours",
        f"{_FOLDER}/torch_eager.py",
        'return "" if found == gpu else',
        'return "" if found else',
        (f"{_MEASURE}test_peers_of_another_gpu_do_not_run",),
    ),
    Mutant(
        "a runtime's result is rounded up",
        f"{_FOLDER}/peer.py",
        "styled.clamp(0, 255).round().to(torch.uint8)",
        "styled.clamp(0, 255).ceil().to(torch.uint8)",
        (f"{_MEASURE}test_planes_round_and_clamp_to_bytes",),
    ),
    Mutant(
        "a runtime's time is compared with ours of another precision",
        "benchmarks/tables/webgpu.py",
        'row["size"], row["precision"]), wall)',
        'row["size"], ""), wall)',
        (f"{_TABLE}test_times_are_compared_with_ours_of_the_same_precision",),
    ),
    Mutant(
        "ONNX Runtime computes on the CPU in place of the GPU",
        f"{_FOLDER}/onnx_webgpu.py",
        'if session.get_providers()[0] == "CPUExecutionProvider":',
        "if False:",
        (f"{_MEASURE}test_onnx_runtime_never_computes_on_the_cpu",),
    ),
    Mutant(
        "a GPU's products and bytes take no time beside each other",
        "kernels/time_model/webgpu.py",
        "max(layer.products / rate, layer.bytes / bandwidth)",
        "min(layer.products / rate, layer.bytes / bandwidth)",
        (f"{_MODEL}test_a_layer_takes_the_slower_of_its_products_and_bytes",),
    ),
    Mutant(
        "enlarging layers are predicted with the products of nine taps",
        "kernels/time_model/webgpu.py",
        "results * form.inputs * form.outputs * form.side**2",
        "results * form.inputs * form.outputs * 9",
        (f"{_MODEL}test_the_work_of_the_full_network_is_that_of_its_layers",),
    ),
    Mutant(
        "a larger GPU of the same family is predicted as the smaller one",
        "kernels/time_model/webgpu_cards.py",
        "re.search(card.adapter, name, re.IGNORECASE)",
        're.search(card.adapter.rstrip("$"), name, re.IGNORECASE)',
        (f"{_MODEL}test_a_driver_names_a_card_of_the_table_or_none",),
    ),
    Mutant(
        "the fit takes the times of passes for times of layers",
        "benchmarks/time_model/webgpu.py",
        "found.layers_ms[name] + values[PASS] / 1e3",
        "found.layers_ms[name]",
        (f"{_FIT}test_the_fit_finds_the_constants_that_made_the_times",),
    ),
    Mutant(
        "the predictions of GPUs change without the page",
        "benchmarks/time_model/webgpu.py",
        "found = [predict(card, *size, name, told=told) for",
        "found = [predict(card, *size, name, told=told, half=False) for",
        (f"{_PAGE}test_the_page_agrees_with_the_calibration_and_the_check",),
    ),
)
