"""Which policies a model gets by default."""

import pytest

from react_text.asking import policies_for
from react_text.profiles import PROFILES, profile_for


@pytest.mark.parametrize(
    ("parameters", "name"),
    [(135_000_000, "tiny"), (630_000_000, "small"), (1_500_000_000, "medium"), (0, "small")],
)
def test_a_profile_is_found_by_the_size_of_a_model_of_any_family(parameters, name):
    assert profile_for("never-seen", parameters).name == name


def test_a_model_above_all_profiles_is_not_steered():
    assert profile_for("llama", max(one.parameters for one in PROFILES) + 1) is None


class Sized:
    architecture = "llama"

    def __init__(self, parameters):
        self.parameter_count = parameters

    def log_probabilities(self, *asked, **options):
        return ()


def test_the_policies_of_a_backend_are_those_of_its_profile():
    assert policies_for(Sized(1_500_000_000)) == profile_for("llama", 1_500_000_000).policies
    assert policies_for(Sized(8_000_000_000)) is None


def test_an_endpoint_that_cannot_weigh_ways_to_go_on_is_not_steered():
    assert policies_for(object()) is None
