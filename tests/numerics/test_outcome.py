import pytest

from logikern.numerics.outcome import Outcome

every_outcome = pytest.mark.parametrize("outcome", list(Outcome))


@every_outcome
def test_value_is_a_sentence(outcome):
    assert outcome.value[0].isupper() and outcome.value.endswith(".") and len(outcome.value.split()) > 4


@every_outcome
def test_only_convergence_has_converged(outcome):
    assert outcome.converged == (outcome.name == "CONVERGED")


def test_sentences_differ():
    assert len({outcome.value for outcome in Outcome}) == len(Outcome.__members__)
