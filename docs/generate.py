"""Pages of the site that are made from docstrings, from the registries, and from other files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
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
# The problem on which a family of agents is drawn, if it is not the genres of MovieLens.
_LATENT = ("CMAB-Latent-v0", {"preset": "three-arm-a"})
_PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "heavy tails": ("CMAB-Independent-v0", {"rewards": "student"}),
    "many arms": ("CMAB-MovieLens-v0", {"task": "movie"}),
    "from the lower bound": ("CMAB-Tabular-v0", {"preset": "three-armed"}),
    "told more": _LATENT,
}
_GENRES = ("CMAB-MovieLens-v0", {})
# These need ratings or an extra that the site's build does not have.
_NOT_DRAWN = ("from the factors of a survey", "from the classes of a survey", "learning")
_CANNOT_PLAY = {"ucb-n": "needs joint outcomes", "ucucb": "", "npts": "slow"}
_ROUNDS, _TRIALS = 1000, 20


def write(folder: Path) -> None:
    """Write all pages into a folder; pictures that exist are kept."""
    for name in ("environments", "agents"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for entry in ENVIRONMENTS:
        picture = folder / "environments" / f"{entry.id}.png"
        _write(picture.with_suffix(".md"), _environment_page(entry.id, picture))
    for idea, agents in agents_by_idea().items():
        if idea.startswith(("your own", "from installed")):
            continue
        picture = folder / "agents" / f"{idea.replace(' ', '-')}.png"
        _write(picture.with_suffix(".md"), _family_page(idea, agents, picture))
    for page, path in PAGES_OUTSIDE.items():
        _write(folder / f"{page}.md", _copied(path))
    licence = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    _write(folder / "licence.md", f"# Licence of the code\n\n```text\n{licence}```\n")


def _write(path: Path, text: str) -> None:
    """Write a page if it has changed, so that Sphinx does not read it again for nothing."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


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
    drawn = [name for name in agents if name not in _CANNOT_PLAY]
    if idea not in _NOT_DRAWN and drawn:
        env_id, env_kwargs = _PROBLEMS.get(idea, _GENRES)
        if not picture.exists():
            _draw_family(env_id, env_kwargs, drawn, picture)
        lines += [
            f"![Regret of these agents]({picture.name})",
            "",
            f"*Mean regret of {_TRIALS} trials on `{env_id}`"
            + "".join(f", `{key}={value!r}`" for key, value in env_kwargs.items())
            + ".*",
            "",
        ]
    for name, cls in agents.items():
        lines += [f"## {name}", "", *_agent(cls), ""]
    return "\n".join(lines)


def _agent(cls: Any) -> Iterator[str]:
    """Yield the lines about an agent."""
    for name, text in sections(cls.__doc__ or "").items():
        if name == "Args":
            yield from (_argument_table(text), "")
        elif name != "Examples":
            yield from (f"**{name}:** {text}" if name else text, "")
    path = Path(inspect.getfile(cls))
    yield f"Class `{cls.__name__}` in `{path.parent.name}/{path.name}`."


def _draw_family(env_id: str, env_kwargs: dict[str, Any], agents: list[str], path: Path) -> None:
    compared = [*agents, *({"ucb", "random"} - set(agents))]
    results = evaluate(env_id, compared, _ROUNDS, _TRIALS, env_kwargs=env_kwargs, on_error="keep")
    plot_regret(results, path)


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
