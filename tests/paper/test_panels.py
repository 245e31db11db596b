import json

import gymnasium as gym
import pytest

from cmab_gym.agents.make import make_agent
from cmab_gym.paper.panels import AGENTS, FIGURES, PANELS, find_panels
from cmab_gym.theory import analyse

BY_NAME = {panel.name: panel for panel in PANELS}


def test_there_are_23_panels_of_9_figures():
    assert len(PANELS) == len(BY_NAME) == 23
    assert {panel.figure for panel in PANELS} == set(FIGURES)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], list(BY_NAME)),
        (["10"], ["fig10a", "fig10b", "fig10c"]),
        (["fig10b"], ["fig10b"]),
        (["10b", "fig5"], ["fig5a", "fig5b", "fig10b"]),
        (["10b", "10"], ["fig10a", "fig10b", "fig10c"]),
    ],
)
def test_panels_are_found_by_figure_and_by_name(names, found):
    assert [panel.name for panel in find_panels(*names)] == found


@pytest.mark.parametrize("name", ["99", "1", "10d", "a", "", "fig"])
def test_an_unknown_panel_is_refused(name):
    with pytest.raises(ValueError, match=r"no panel .*: expected figures \(5, 7, .*panels \(5a, "):
        find_panels("10a", name)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_panel_and_option_makes_an_environment(panel):
    env = gym.make(panel.env_id, **panel.env_kwargs)
    env.reset(seed=0)
    assert env.step(0)[4]["regret"] >= 0
    for choice in panel.choices:
        own = panel.env_kwargs.get(choice.keyword, choice.options[0])
        assert own == choice.options[0]
        for option in choice.others:
            other = panel.with_option(choice, option)
            gym.make(panel.env_id, **other.env_kwargs)
            assert all(make_agent(name) for name in other.agents.values())


@pytest.mark.parametrize("figure", [5, 7, 9])
def test_known_problems_have_the_published_c(figure):
    for panel in PANELS:
        if panel.figure == figure:
            model = gym.make(panel.env_id, **panel.env_kwargs).unwrapped.model
            assert analyse(model).n_competitive == panel.competitive, panel.name


def test_only_figures_on_ratings_use_the_published_parameters():
    # B = 5 is the size of no other panel's rewards: those of figures 5 and 9 lie in 0 to 1, those
    # of figure 7 in -1 to 13.
    for panel in PANELS:
        plain = list(panel.agents.values()) == list(AGENTS)
        assert plain == (panel.figure < 10), panel.name


def test_published_values_are_those_read_from_the_figures(raw_data):
    path = raw_data.parent / "published_figures.json"
    if not path.is_file():
        pytest.skip(f"no {path}: the values read from the figures are not here to compare with")
    published = json.loads(path.read_text())
    compared = 0
    for key, figure in published.items():
        if isinstance(figure, dict):
            for letter, given in figure["panels"].items():
                panel = BY_NAME[key.split("_")[0] + letter]
                assert panel.competitive == given["C"]
                for agent in AGENTS:
                    assert panel.regret.get(agent) == given.get(agent)
                for name, keyword in {"mask_p": "mask", "pad_q": "pad"}.items():
                    if name in given:
                        assert panel.env_kwargs[keyword] == given[name]
                assert panel.env_kwargs["train_share"] == figure["train_share"]
                compared += 1
    assert compared == 16
