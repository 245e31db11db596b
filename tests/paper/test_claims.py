import numpy as np
import pytest

from cmab_gym.paper.claims import CLAIMS, Claim, judge
from cmab_gym.paper.panels import AGENTS, PANELS

ROUNDS = np.arange(50, 5001, 50)


def curves(shape, level=100.0, noise=1.0, trials=50, seed=0):
    """Make curves of a shape (rounds -> regret), with levels that vary over trials."""
    rng = np.random.default_rng(seed)
    return shape(ROUNDS) * level * (1 + noise / 100 * rng.normal(size=(trials, 1)))


def flat(t):
    return np.minimum(t, 500) / 500


def logarithmic(t):
    return np.log(t) / np.log(5000)


def holds(kind, own, other=None, earlier=None):
    agents = {"c-ucb": own, "ucb": own if other is None else other}
    claim = Claim(kind, "c-ucb", "here", "" if other is None else "ucb")
    return judge(claim, agents, ROUNDS, earlier).holds


def test_bounded_and_growing_curves_are_told_apart():
    assert holds("bounded", curves(flat)) is True
    assert holds("grows", curves(flat)) is False
    assert holds("grows", curves(logarithmic)) is True
    assert holds("bounded", curves(logarithmic)) is False


def test_growth_is_judged_by_the_share_of_the_second_half():
    measured = judge(Claim("grows", "ucb", "here"), {"ucb": curves(logarithmic)}, ROUNDS, None)
    assert measured.value == pytest.approx(np.log(2) / np.log(5000))
    # The limit is half a logarithm's share.
    for part, grows in ((0.4, False), (0.6, True)):
        own = curves(lambda t, part=part: 1 - part + part * logarithmic(t))
        assert holds("grows", own) is grows
        assert holds("bounded", own) is not grows


def test_errors_that_are_too_large_leave_a_statement_open():
    rough = np.vstack([curves(flat, trials=3), curves(lambda t: t / 5000, trials=1)])
    assert holds("bounded", rough) is None
    assert holds("grows", rough[:1]) is None  # one trial has no standard error
    assert holds("below", rough[:1], rough[1:2]) is None


@pytest.mark.parametrize(
    ("kind", "ratio", "expected"),
    [
        ("below", 0.9, True),
        ("below", 1.0, None),
        ("below", 1.1, False),
        ("no worse", 0.9, True),
        ("no worse", 1.0, True),
        ("no worse", 1.1, False),
        ("similar", 1.05, True),
        ("similar", 0.95, True),
        ("similar", 1.2, False),
        ("similar", 0.8, False),
        ("similar", 1.1, None),
    ],
)
def test_two_agents_are_compared_by_the_ratio_of_their_regrets(kind, ratio, expected):
    own, other = curves(logarithmic, 100 * ratio), curves(logarithmic, seed=1)
    assert holds(kind, own, other) is expected


def test_the_gain_is_compared_with_that_of_the_earlier_panel():
    other = curves(logarithmic, seed=1)
    half, most = curves(logarithmic, 50), curves(logarithmic, 80)
    earlier = {"c-ucb": half, "ucb": other}
    assert holds("gain shrinks", most, other, earlier) is True
    assert holds("gain shrinks", half, other, {"c-ucb": most, "ucb": other}) is False
    assert holds("gain shrinks", half, other, earlier) is None
    assert holds("gain shrinks", most, other) is None  # the earlier panel was not run


def test_every_panel_has_statements_about_known_agents_and_panels_with_their_place():
    names = {panel.name: panel for panel in PANELS}
    assert set(CLAIMS) == set(names)
    for name, claims in CLAIMS.items():
        assert len({claim.what for claim in claims}) == len(claims)
        for claim in claims:
            assert claim.agent in AGENTS
            assert claim.other in ("", *AGENTS)
            assert claim.place
            if claim.earlier:
                assert names[claim.earlier].competitive < names[name].competitive


def test_regret_is_said_to_be_bounded_exactly_where_c_is_1():
    for panel in PANELS:
        bounded = {claim.agent for claim in CLAIMS[panel.name] if claim.kind == "bounded"}
        assert bounded == ({"c-ucb", "c-ts"} if panel.competitive == 1 else set())
