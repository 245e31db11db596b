"""Pages of the site that are made from docstrings, from the registries, and from other files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium.envs.registration import load_env_creator

from cmab_gym import evaluate, plot_regret
from cmab_gym.agents.registry import agents_by_idea
from cmab_gym.envs.registration import ENVIRONMENTS

REPOSITORY = Path(__file__).resolve().parent.parent
# Pages whose text is a file outside docs/.
PAGES_OUTSIDE = {
    "contributing": "CONTRIBUTING.md",
    "changelog": "CHANGELOG.md",
    "security": "SECURITY.md",
    "benchmarks": "benchmarks/README.md",
    "bundled-tables": "envs_data/bundled/README.md",
}
# The problem on which a family of agents is drawn, if it is not the genres of MovieLens. The
# bundled tables hold neither factors nor classes; made-up ratings do.
_MADE_UP = "CMAB-Ratings-v0"
_PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "heavy tails": ("CMAB-Independent-v0", {"rewards": "student"}),
    "many arms": ("CMAB-MovieLens-v0", {"task": "movie"}),
    "from the lower bound": ("CMAB-Tabular-v0", {"preset": "three-armed"}),
    "told more": ("CMAB-Latent-v0", {"preset": "three-arm-a", "draws": "rounds"}),
    "from the factors of a survey": (_MADE_UP, {"factors": 2}),
    "from the classes of a survey": (_MADE_UP, {"classes": 4}),
}
_GENRES = ("CMAB-MovieLens-v0", {})
# Agents that are drawn with parameters.
_DRAWN = {"robust-ucb": "robust-ucb(sigma=1)"}
_MADE_UP_RATINGS = (
    "made-up ratings: 2,000 users in six groups, of which one is the new population, rate half of "
    "20 films each, and their tastes differ in two directions, in which the groups differ too"
)
_ROUNDS, _TRIALS = 1000, 20
_LEARNING_TRIALS = 5  # a learner takes seconds for a trial


def write(folder: Path) -> None:
    """Write all pages into a folder, and delete others; pictures that exist are kept."""
    for name in ("environments", "agents"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    pages = dict(_pages(folder))
    for path, text in pages.items():
        # Only if it has changed, so that Sphinx does not read it again for nothing.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in {*folder.rglob("*.md")} - pages.keys():
        path.unlink()


def _pages(folder: Path) -> Iterator[tuple[Path, str]]:
    """Draw the pictures that are missing, and yield the path and the text of each page."""
    for entry in ENVIRONMENTS:
        picture = folder / "environments" / f"{entry.id}.png"
        yield picture.with_suffix(".md"), _environment_page(entry.id, picture)
    for idea, agents in agents_by_idea().items():
        if idea.startswith(("your own", "from installed")):
            continue
        picture = folder / "agents" / f"{idea.replace(' ', '-')}.png"
        yield picture.with_suffix(".md"), _family_page(idea, agents, picture)
    for page, path in PAGES_OUTSIDE.items():
        yield folder / f"{page}.md", _copied(path)
    licence = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    yield folder / "licence.md", f"# Licence of the code\n\n```text\n{licence}```\n"


def sections(docstring: str) -> dict[str, str]:
    r"""Split a docstring into its sections; the summary and the text after it are "".

    Examples:
        >>> sections("Do it.\n\nMore.\n\nArgs:\n    a: b\n\nSource: a book.")
        {'': 'Do it.\n\nMore.', 'Args': 'a: b', 'Source': 'a book.'}
    """
    summary, *lines = inspect.cleandoc(docstring).splitlines()
    found: dict[str, list[str]] = {"": [summary]}
    name = ""
    for line in lines:
        heading = re.match(r"([A-Z][A-Za-z ]{2,24}):(?: (.*))?$", line)
        if heading:
            name = heading[1]
            found[name] = [heading[2] or ""]
        else:
            found[name].append(line)
    return {name: inspect.cleandoc("\n".join(lines)).strip() for name, lines in found.items()}


def arguments(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of a section of arguments."""
    for part in re.split(r"\n(?=\S)", text):
        name, _, about = part.partition(":")
        yield name.strip(), " ".join(about.split())


def _argument_table(text: str) -> str:
    rows = [f"| `{name}` | {about.replace('|', '&#124;')} |" for name, about in arguments(text)]
    return "\n".join(["| argument | meaning |", "| --- | --- |", *rows])


def _environment_page(env_id: str, picture: Path) -> str:
    cls: Any = load_env_creator(str(gym.spec(env_id).entry_point))
    parts = sections(cls.__doc__)
    lines = [f"# {env_id}", ""]
    if _draw_environment(env_id, picture):
        lines += [f"![A picture of {env_id}]({picture.name})", ""]
    lines += [parts.pop(""), "", "| | |", "| --- | --- |"]
    for name in ("Arms", "Observation", "Reward"):
        lines.append(f"| {name} | {' '.join(parts.pop(name).split())} |")
    del parts["Registered ids"]  # the title
    needs = ", data=..." if env_id == "CMAB-Ratings-v0" else ""
    lines += [f'| Make | `gym.make("{env_id}"{needs})`, `gym.make_vec(...)` |', ""]
    for name, text in parts.items():
        if name in ("Arguments", "Args"):
            text = _argument_table(text)
        elif text.startswith(">>>"):
            text = f"```python\n{text}\n```"
        lines += [f"## {name}", "", text, ""]
    return "\n".join(lines)


def _draw_environment(env_id: str, picture: Path) -> bool:
    """Draw an environment after some rounds; return whether it can be made without data."""
    if env_id == "CMAB-Ratings-v0":
        return False
    if not picture.exists():
        import matplotlib.image

        env = gym.make(env_id, render_mode="rgb_array", disable_env_checker=True)
        env.reset(seed=0)
        n_arms = int(env.action_space.n)  # type: ignore[attr-defined]
        for t in range(60):
            env.step(t * 7 % n_arms if t < 2 * n_arms else t % 2)
        matplotlib.image.imsave(picture, env.render())
        env.close()
    return True


def _family_page(idea: str, agents: dict[str, Any], picture: Path) -> str:
    lines = [f"# Agents: {idea}", ""]
    trials = _LEARNING_TRIALS if idea == "learning" else _TRIALS
    env_id, env_kwargs = _PROBLEMS.get(idea, _GENRES)
    problem = "".join([f"`{env_id}`", *(f", `{k}={v!r}`" for k, v in env_kwargs.items())])
    if env_id == _MADE_UP:
        problem = _MADE_UP_RATINGS
    drawn = [_DRAWN.get(name, name) for name in agents]
    if not picture.exists():
        _draw_family(env_id, env_kwargs, drawn, trials, picture)
    caption = f"*Mean regret of {trials} trials on {problem}.*"
    lines += [f"![Regret of these agents]({picture.name})", "", caption, ""]
    for name, cls in agents.items():
        lines += [f"## {name}", "", *_agent(cls), ""]
    return "\n".join(lines)


def _agent(cls: Any) -> Iterator[str]:
    """Yield the lines about an agent."""
    docstring = re.sub(r"\bdocs/([\w-]+)\.md", r"[\1](../../\1.md)", cls.__doc__ or "")
    for name, text in sections(docstring).items():
        if name == "Args":
            yield from (_argument_table(text), "")
        elif name not in ("Attributes", "Examples"):
            yield from (f"**{name}:** {text}" if name else text, "")
    path = Path(inspect.getfile(cls))
    yield f"Class `{cls.__name__}` in `{path.parent.name}/{path.name}`."


def _draw_family(
    env_id: str, env_kwargs: dict[str, Any], agents: list[str], trials: int, path: Path
) -> None:
    others, title = ["ucb", "random"], None
    with TemporaryDirectory() as folder:
        if env_id == _MADE_UP:
            others, title = ["warm-ts", *others], "Made-up ratings of 20 films"
            env_kwargs = {**env_kwargs, **_made_up_ratings(Path(folder, "ratings.csv"))}
        compared = [*agents, *(name for name in others if name not in agents)]
        results = evaluate(env_id, compared, _ROUNDS, trials, env_kwargs=env_kwargs)
    plot_regret(results, path, title)


def _made_up_ratings(path: Path) -> dict[str, Any]:
    """Write these ratings; return the keyword arguments that read them."""
    rng = np.random.default_rng(0)
    users, films, groups = 2000, 20, 6
    group = rng.integers(0, groups, users)
    centre = rng.normal(0, 0.5, (groups, 2))
    taste = centre[group] + rng.normal(0, 0.6, (users, 2))
    likes = rng.normal(0, 0.5, (films, 2))
    level = rng.normal(3.2, 0.3, films)
    noise = rng.normal(0, 0.8, (users, films))
    stars = np.clip(np.rint(level + taste @ likes.T + noise), 1, 5)
    user, film = np.nonzero(rng.random(stars.shape) < 0.5)
    columns = {"user": user, "film": film, "stars": stars[user, film], "group": group[user]}
    pd.DataFrame(columns).to_csv(path, index=False)
    names = {"data": str(path), "user": "user", "item": "film", "rating": "stars"}
    return {**names, "segment_by": "group", "segment": "0", "n_arms": films}


def _copied(path: str) -> str:
    """Return the text of a file with links that hold in the folder of the generated pages."""
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    pages = {other: f"{page}.md" for page, other in PAGES_OUTSIDE.items()} | {
        "LICENSE": "licence.md",
        "README.md": "../index.md",
        "docs/README.md": "../index.md",
    }

    def link(found: re.Match[str]) -> str:
        target = (REPOSITORY / path).parent.joinpath(found[1]).resolve()
        if not target.is_relative_to(REPOSITORY):
            return found[0]
        name = str(target.relative_to(REPOSITORY))
        return f"]({pages.get(name, '../../' + name)}".replace("../../docs/", "../")

    return re.sub(r"\]\((?!https?:|#)([^)#]+)", link, text)
