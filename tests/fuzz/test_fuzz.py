"""A sample of the fuzzing with a fixed seed; `make fuzz` uses a new seed and runs until stopped."""

from __future__ import annotations

import pytest

from tests.fuzz.engine import Campaign
from tests.fuzz.targets import TARGETS

SEED = 1
SAMPLED = [target for target in TARGETS if target.sample]


@pytest.mark.parametrize("part", [24, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("target", SAMPLED, ids=lambda target: target.name)
def test_hostile_input_is_read_or_refused_in_a_sentence(target, part) -> None:
    cases = -(-target.sample // part)
    campaign = Campaign([target], SEED)
    campaign.run(iter(range(cases)))
    assert campaign.tallies[target.name].cases == cases
    if campaign.findings:
        told = [str(finding)[:1500] for finding in campaign.findings]
        pytest.fail("\n\n".join(told), pytrace=False)
