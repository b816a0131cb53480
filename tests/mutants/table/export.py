"""Mutants of exported networks, and of other runtimes behind `--kernels`."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_EXPORT = "tests/app/export/network/test_export.py"
_VARIANTS = "tests/models/runtimes/test_variants.py"
_ENGINE = "tests/app/engine/test_runtimes.py"
_SITE = "tests/app/export/web/test_site.py::"

MUTANTS = (
    Mutant(
        "two threads import OpenVINO at once",
        "models/runtimes/openvino.py",
        "with _importing:",
        "if True:",
        (f"{_VARIANTS}::test_openvino_may_be_asked_by_several_threads_at_once",),
    ),
    Mutant(
        "a file is kept whatever it paints",
        "app/export/network/exporter.py",
        "if not verified.agrees:",
        "if False:",
        (f"{_EXPORT}::test_what_paints_something_else_is_not_kept",),
    ),
    Mutant(
        "a file that paints no numbers is kept",
        "app/export/network/verification.py",
        "agrees and finite",
        "True",
        (f"{_EXPORT}::test_what_paints_no_numbers_is_not_kept",),
    ),
    Mutant(
        "files that are there are replaced without being asked",
        "app/export/network/exporter.py",
        "if not wanted.overwrite:",
        "if False:",
        (f"{_EXPORT}::test_what_is_there_is_replaced_only_if_that_is_asked_for",),
        breaks=("ExportError",),
    ),
    Mutant(
        "a file says where it was made",
        "models/runtimes/program.py",
        'node.meta.pop("stack_trace", None)',
        "pass",
        (f"{_EXPORT}::test_the_files_say_nothing_of_this_machine",),
    ),
    Mutant(
        "a runtime paints the style before",
        "models/runtimes/executor.py",
        '        self._bytes = b""\n        self._compiled.clear()',
        "        pass",
        (f"{_VARIANTS}::test_new_weights_paint_the_next_picture",),
    ),
    Mutant(
        "OpenVINO computes in another precision, and nobody says so",
        "models/runtimes/openvino.py",
        "if used != TYPES[precision]:",
        "if False:",
        (f"{_VARIANTS}::test_openvino_that_would_compute_in_something_else_is_not_used",),
        breaks=("RuntimeFault",),
    ),
    Mutant(
        "OpenVINO reports over the network that it is used",
        "models/runtimes/openvino.py",
        "        sys.modules[TELEMETRY] = None  # pyright: ignore[reportArgumentType]"
        "  (Python allows it)\n",
        "",
        (f"{_VARIANTS}::test_openvino_is_used_without_what_reports_its_use",),
    ),
    Mutant(
        "another runtime is compared with the baseline instead of our kernels",
        "app/engine/comparison.py",
        "return BASELINE if family.variant(kernels).runtime is None else FUSED",
        "return BASELINE",
        (f"{_ENGINE}::test_a_runtime_paints_what_we_paint_and_is_named",),
    ),
    Mutant(
        "what runs in another runtime is shown on PyTorch's device",
        "app/engine/run_info.py",
        "title(device) if runtime is None else runtime.device_title(),",
        "title(device),",
        (f"{_ENGINE}::test_a_runtime_paints_what_we_paint_and_is_named",),
    ),
    Mutant(
        "a fault of a runtime ends the program",
        "app/engine/engine/faults.py",
        "raise EngineError(str(exc)) from exc\n    except (RuntimeError, MemoryError",
        "raise\n    except (RuntimeError, MemoryError",
        (f"{_ENGINE}::test_a_fault_of_the_runtime_is_an_error_and_not_another_network",),
        breaks=("EngineError",),
    ),
    Mutant(
        "a stored choice of a runtime that is gone keeps the window from starting",
        "app/ui/controllers/settings_mapping.py",
        "and not (kernels in RUNTIMES and RUNTIMES[kernels].refusal())",
        "",
        (
            "tests/app/ui/controllers/test_settings_mapping.py"
            "::test_a_runtime_that_is_gone_becomes_the_default",
        ),
    ),
    Mutant(
        "the window imports the runtimes of others when it opens",
        "app/ui/speed/engine_controls.py",
        "        session.styles_changed.connect(self._follow_family)\n",
        "        session.styles_changed.connect(self._follow_family)\n"
        "        self._query_runtimes()\n",
        (
            "tests/app/ui/window/test_panel.py"
            "::test_the_runtimes_that_are_found_can_be_chosen_and_name_their_device",
        ),
    ),
    Mutant(
        "the list of kernels never offers the runtimes of others",
        "app/ui/speed/engine_controls.py",
        "        self.kernels.focused.connect(self._query_runtimes)\n",
        "",
        (
            "tests/app/ui/window/test_panel.py"
            "::test_the_runtimes_that_are_found_can_be_chosen_and_name_their_device",
        ),
    ),
    Mutant(
        "a page keeps silent where the browser has no GPU",
        "app/export/web/page/page.js",
        "adapter().then(() => say(HINT), fail);",
        "adapter().then(() => say(HINT), () => {});",
        (f"{_SITE}test_a_browser_without_a_gpu_shows_the_lake_in_every_style",),
    ),
    Mutant(
        "the strength on a page is the share of the picture before",
        "app/export/web/page/view.js",
        "context.globalAlpha = share;",
        "context.globalAlpha = 1 - share;",
        (f"{_SITE}test_a_browser_without_a_gpu_shows_the_lake_in_every_style",),
    ),
    Mutant(
        "a page shows its lake without paint",
        "app/export/web/site.py",
        "webp(painted(lake(), state))",
        "webp(lake())",
        (f"{_SITE}test_the_lake_is_painted_by_the_network_of_each_style",),
    ),
    Mutant(
        "the documentation's page waits for weights",
        "app/export/web/page/page.js",
        "await (now.kind === SCENE ? showScene(now) : paintNow(now));",
        "await fetch(now.style.weights).then(() => showScene(now));",
        ("tests/docs/test_try_page.py::test_the_page_starts_below_a_path_with_no_large_file",),
    ),
    Mutant(
        "a page shows black where the GPU refuses a command",
        "app/export/web/page/paint.js",
        "if (memory || refusal) {",
        "if (false) {",
        (f"{_SITE}test_a_gpu_that_refuses_a_picture_raises_one_sentence_and_paints_no_black",),
    ),
)
