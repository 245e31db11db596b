"""A report in Chromium: one page, opened once from a file."""

import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from hostile import HOSTILE
from playwright.sync_api import sync_playwright

from cmab_gym import evaluate
from cmab_gym.evaluation.results.results import Results
from cmab_gym.report import write_report

pytestmark = pytest.mark.browser

SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
NAMES = (SCRIPT, "datum.mean'] + 1", *filter(None, HOSTILE))
DRAWN = "() => document.querySelectorAll('.drawing > svg').length === 4"
LINES, WHISKERS = ".mark-line path", ".mark-rule.role-mark line"
DESKTOP, PHONE = {"width": 1100, "height": 800}, {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report about agents and arms with hostile names; the first and the second are C-Bandits."""
    names = [name for name in NAMES if name.encode("utf-8", "ignore").decode() == name]
    policies = ["c-ucb", "c-ts", *(len(names) - 2) * ["ucb"]]
    agents = dict(zip(names, policies, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMAB_GYM_COMPILED", "0")  # loading compiled loops takes seconds
        found = evaluate("CMAB-Tabular-v0", agents, 60, 8)
    arms = [SCRIPT, HOSTILE[-3], "line\nbreak"][: len(found.manifest["arm_names"])]
    results = Results(found.checkpoints, found.runs, {**found.manifest, "arm_names": arms})
    return write_report(results, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # Without a sandbox, because CI runs as root.
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def events():
    """What the page asked for, and what it wrote to the console."""
    return {"requests": [], "console": []}


@pytest.fixture(scope="module")
def page(browser, report, events):
    opened = browser.new_page(viewport=DESKTOP)
    opened.on("request", lambda request: events["requests"].append(request.url))
    opened.on("console", lambda message: events["console"].append(message.text))
    opened.on("pageerror", lambda error: events["console"].append(str(error)))
    opened.goto(report.as_uri())
    opened.wait_for_function(DRAWN)
    return opened


@pytest.fixture(autouse=True)
def as_before(page):
    """Undo what a test did to the page."""
    yield
    page.emulate_media(media="screen", color_scheme="light")
    page.set_viewport_size(DESKTOP)


def figure(page, title):
    return page.locator(f"h3:text-is('{title}') ~ figure.chart").first


def wait_for(page, figure, marks, count):
    """Wait until a chart has so many marks."""
    condition = "([figure, marks, count]) => figure.querySelectorAll(marks).length === count"
    page.wait_for_function(condition, arg=[figure.element_handle(), marks, count])


def wait_for_axes(page, figure, texts, same):
    """Wait until the labels of the axes are the given ones, or are not."""
    condition = """([figure, texts, same]) => {
        const labels = [...figure.querySelectorAll(".role-axis-label text")];
        return labels.length && (labels.map((each) => each.textContent).join() === texts) === same;
    }"""
    page.wait_for_function(condition, arg=[figure.element_handle(), ",".join(texts), same])


def test_hovering_names_the_agent_the_round_and_the_mean(page):
    plot = figure(page, "Regret").locator(".plot")
    plot.scroll_into_view_if_needed()
    plot.hover(position={"x": 600, "y": 200})
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    text = tooltip.inner_text()
    assert re.search(r"round\s+\d+\s+mean\s+\d+\.\d\s+± 1 sd\s+-?\d+\.\d to \d+\.\d", text)
    assert "undefined" not in text


def test_an_agent_is_hidden_by_keyboard_in_every_chart_of_its_environment(page):
    regret, distribution = figure(page, "Regret"), figure(page, "Distribution of final regret")
    boxes = [each.locator("input[value='2']") for each in (regret, distribution)]
    agents = regret.locator(LINES).count()
    assert distribution.locator(WHISKERS).count() == agents
    boxes[0].focus()
    page.keyboard.press("Space")
    wait_for(page, regret, LINES, agents - 1)
    wait_for(page, distribution, WHISKERS, agents - 1)
    assert not any(box.is_checked() for box in boxes)
    boxes[1].check()
    wait_for(page, regret, LINES, agents)
    assert boxes[0].is_checked()


def test_an_axis_is_switched_by_keyboard_and_hidden_agents_stay_hidden(page):
    regret = figure(page, "Regret")
    box, button = regret.locator("input[value='1']"), regret.locator("button[data-axis='y']")
    agents = regret.locator(LINES).count()
    box.uncheck()
    wait_for(page, regret, LINES, agents - 1)
    linear = regret.locator(".role-axis-label text").all_text_contents()
    for pressed in ("true", "false"):
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == pressed
        wait_for_axes(page, regret, linear, pressed == "false")
        wait_for(page, regret, LINES, agents - 1)
    box.check()


def test_all_agents_can_be_hidden_and_shown(page):
    regret, distribution = figure(page, "Regret"), figure(page, "Distribution of final regret")
    agents = regret.locator(LINES).count()
    regret.get_by_text("Hide all").click()
    wait_for(page, regret, LINES, 0)
    wait_for(page, distribution, WHISKERS, 0)
    distribution.get_by_text("Show all").click()
    wait_for(page, regret, LINES, agents)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page)
    assert found.response["violations"] == [], found.generate_report()


def test_a_phone_shows_the_page_without_scrolling_sideways(page):
    page.set_viewport_size(PHONE)
    page.wait_for_function("() => document.documentElement.scrollWidth === innerWidth")
    page.wait_for_function(
        "() => document.querySelector('.plot svg').clientWidth > 0.8 * innerWidth"
    )


def test_paper_has_the_charts_and_no_controls(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("button").first.is_visible()
    assert not page.locator("input").first.is_visible()
    assert page.locator(".plot svg").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.pdf().startswith(b"%PDF")


def test_names_are_text(page):
    assert page.title() == "CMAB-Tabular-v0: cmab-gym report"  # no script changed it
    assert page.locator("img").count() == 0
    assert page.locator("script:not([type])").count() == 1
    assert SCRIPT in page.locator("tbody th").all_inner_texts()
    assert "<script>" in page.locator(".plot").nth(1).text_content()


def test_nothing_is_requested_and_the_console_is_silent(page, report, events):
    assert events == {"requests": [report.as_uri()], "console": []}
