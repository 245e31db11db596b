import pytest

from cmab_gym.agents import fast

FORMS = {"compiled": "1", "numpy": "0"}


@pytest.fixture(scope="module", params=FORMS)
def loops(request):
    """The form of the agents' inner loops: both have to behave as the tests say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMAB_GYM_COMPILED", FORMS[request.param])
        assert fast.is_wanted() == (request.param == "compiled")
        assert fast.kernels() is not None
        yield request.param
