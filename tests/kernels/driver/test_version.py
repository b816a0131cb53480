from __future__ import annotations

import pytest

from kernels.driver.version import driver_version
from tests.kernels.driver import stubs

NVML = """
#include <string.h>
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
    strncpy(text, "580.82.07", bytes);
    return FAILED;
}
"""


@pytest.mark.parametrize(
    ("init", "failed", "expected"),
    [("0", "0", "580.82.07"), ("1", "0", ""), ("0", "1", "")],
    ids=["told", "no driver", "an error"],
)
def test_the_driver_tells_its_version_or_nothing(init, failed, expected, tmp_path):
    source = tmp_path / "nvml.c"
    source.write_text(NVML.replace("INIT", init).replace("FAILED", failed))
    built = stubs.shared_library(tmp_path, f"nvml{init}{failed}.so", source)
    assert driver_version(str(built)) == expected


def test_without_nvml_there_is_no_version(tmp_path):
    assert driver_version(str(tmp_path / "missing.so")) == ""
