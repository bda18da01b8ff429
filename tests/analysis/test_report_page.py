"""The page of a report in a real browser: what is on it, who can use it, and what it never does."""

import copy
import json
import re
from typing import Any

import pytest

from report_pages import DASH, DATA, DRAWN, PAGE, SECTIONS, changed, focused, links, sections, texts

PHONE = {"viewport": {"width": 360, "height": 780}, "has_touch": True}
HOSTILE = "</script><img src=x onerror=alert(1)><b>&amp;"
READABLE = 4.5  # the contrast of text that WCAG asks for

# The contrast of an element's text with the first ground below it that is not transparent.
CONTRAST = """element => {
  const dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (color) => {
    dot.clearRect(0, 0, 1, 1);
    dot.fillStyle = color;
    dot.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...dot.getImageData(0, 0, 1, 1).data].map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let below = element;
  while (getComputedStyle(below).backgroundColor === "rgba(0, 0, 0, 0)") below = below.parentElement;
  const grounds = [getComputedStyle(element).color, getComputedStyle(below).backgroundColor].map(light);
  return (Math.max(...grounds) + 0.05) / (Math.min(...grounds) + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_every_section_without_an_error_or_a_request(show, scheme):
    with show(color_scheme=scheme) as watched:
        page = watched.page
        assert page.title() == page.inner_text("h1") == DATA["title"]
        assert texts(page, "#answer p") == [DATA["question"], *DATA["answer"]]
        assert sections(page) == ["top", *SECTIONS] and links(page) == SECTIONS
        for name in sections(page):
            watched.keep(f"report-{scheme}-{name}", f"#{name}")
        watched.check()


def test_the_page_may_run_only_its_own_scripts(show):
    with show() as watched:
        watched.page.evaluate(
            """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'taken over'";
            document.body.append(script);
            document.body.setAttribute("style", "opacity: 0");
            const image = document.createElement("img");
            image.src = "https://example.org/seen.png";
            document.body.append(image);
            return fetch("https://example.org/").catch(() => null);
        }"""
        )
        assert watched.page.title() == DATA["title"]
        assert watched.page.evaluate("getComputedStyle(document.body).opacity") == "1"
        assert len(watched.errors) >= 4 and not watched.strangers  # refused before anybody was asked


@pytest.mark.parametrize("name", ["tables", "figures", "landscapes", "crossplays", "left_out"])
def test_a_section_without_data_is_absent(show, name):
    section = {"landscapes": "landscape", "crossplays": "crossplay", "left_out": "left-out"}.get(name, name)
    with show(changed(**{name: []})) as watched:
        assert watched.page.locator(f"#{section}").count() == 0
        assert links(watched.page) == [x for x in SECTIONS if x != section]
        watched.check()


def test_a_page_without_any_data_says_only_what_is_missing(show):
    empty = {name: [] for name in ("tables", "figures", "scenes", "games", "runs", "landscapes", "left_out")}
    with show(changed(**empty, crossplays=[], answer=["Nothing was found."])) as watched:
        assert texts(watched.page, "#nav a") == []
        assert texts(watched.page, "#answer p") == [DATA["question"], "Nothing was found."]
        watched.check()


def test_a_run_without_curriculum_curves_or_members_takes_their_sections_along(show):
    runs = [{**run, "curriculum": None, "members": None, "curves": []} for run in DATA["runs"]]
    with show(changed(runs=runs)) as watched:
        assert not {"curriculum", "population", "curves"} & set(sections(watched.page))
        watched.check()


def hostile(value: Any, name: str = "") -> Any:
    """The same data with every text that a run or a file could hold turned against the page."""
    if isinstance(value, dict):
        return {key: hostile(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, name) for inner in value]
    fixed = ("kind", "color", "ground", "image", "seat_colors", "game", "result", "score", "status")
    return f"{HOSTILE}{value}" if isinstance(value, str) and name not in fixed else value


def test_hostile_texts_are_shown_as_texts(show):
    with show(hostile(DATA)) as watched:
        page = watched.page
        assert page.inner_text("h1") == HOSTILE + DATA["title"] == page.title()
        assert page.locator("b:has-text('&amp;amp;'), img[onerror], img[src=x]").count() == 0
        assert texts(page, "#tables thead th")[0] == HOSTILE + "method"
        page.evaluate("maestro.replay(9)")
        assert page.inner_text("dialog pre.stage").startswith(HOSTILE)
        page.keyboard.press("Escape")
        page.evaluate("maestro.replay(0)")
        page.keyboard.press("Escape")
        assert page.locator("script").count() == 1 + len(list(PAGE.glob("*.js")))
        watched.check()


def test_pictures_that_are_no_pictures_are_not_shown(show):
    bad = ["https://example.org/x.png", "javascript:alert(1)", "data:text/html;base64,PGI+"]
    with show(changed(figures=[{**DATA["figures"][0], "image": image} for image in bad])) as watched:
        assert watched.page.locator("#figures").count() == 0
        watched.check()


def test_unknown_numbers_are_dashes_and_not_errors(show):
    def blank(value: Any) -> Any:
        if isinstance(value, list):
            return [blank(inner) for inner in value]
        return None

    runs, land, cross = copy.deepcopy((DATA["runs"], DATA["landscapes"], DATA["crossplays"]))
    for run in runs:
        for curve in [*run["curves"], *run["curriculum"]["statistics"]]:
            curve["y"] = blank(curve["y"])
        for moment in run["curriculum"]["moments"]:
            for seed in moment["seeds"]:
                seed["win_rate"] = blank(seed["win_rate"])
    land[0].update(regret=blank(land[0]["regret"]), joint=None, independent=None)
    cross[0].update({name: blank(cross[0][name]) for name in ("mean", "low", "high", "games")})
    with show(changed(runs=runs, landscapes=land, crossplays=cross)) as watched:
        page = watched.page
        assert set(texts(page, "#crossplay .cell")) == set(texts(page, "#landscape .cell")) == {DASH}
        assert "NaN" not in page.inner_text("main") and "undefined" not in page.inner_text("main")
        watched.check()


def test_a_phone_is_never_scrolled_sideways(show):
    with show(**PHONE) as watched:
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        for name in ["top", *SECTIONS]:
            watched.keep(f"report-phone-{name}", f"#{name}")
        page.locator("#landscape .cell").nth(10).tap()
        assert page.locator("dialog[open]").count() == 1
        assert page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
        watched.keep("report-phone-viewer")
        watched.check()


def test_long_names_do_not_widen_the_page(show):
    long = "a_method_with_a_very_long_name_" * 6
    data = json.loads(json.dumps(DATA).replace('"maestro"', f'"{long}"'))
    for width in (360, 1280):
        with show(data, viewport={"width": width, "height": 800}) as watched:
            assert watched.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(show, scheme):
    with show(color_scheme=scheme) as watched:
        page = watched.page
        for selector in ("h1", "#answer p", ".muted", "button", "select", "#nav a", ".cell", "summary", "td"):
            found = page.locator(f"{selector}:visible").evaluate_all(f"all => all.map({CONTRAST})")
            assert found and min(found) >= READABLE, (selector, min(found))


def test_the_switch_changes_the_colors_of_page_and_pictures_and_is_remembered(show):
    with show(color_scheme="light") as watched:
        page = watched.page
        ground = "getComputedStyle(document.body).backgroundColor"
        level = page.locator("#curriculum canvas").first
        before, picture = page.evaluate(ground), level.evaluate(DRAWN)
        page.click("#theme")
        dark = page.evaluate(ground)
        assert dark != before and level.evaluate(DRAWN) != picture
        page.reload()
        assert page.evaluate(ground) == dark
        page.click("#theme")
        assert page.evaluate(ground) == before and level.evaluate(DRAWN) == picture
        watched.check()


def test_everything_is_reached_by_tab_with_a_focus_that_is_seen(show):
    with show() as watched:
        page, reached = watched.page, []
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert page.evaluate(outline) != "none", focused(page)
            reached.append(page.evaluate("document.activeElement.closest('section, header')?.id || ''"))
        assert {*SECTIONS} - {"left-out"} <= set(reached)
        unnamed = page.locator("button, a, select, input, [role=group], canvas").evaluate_all(
            "all => all.filter(x => !(x.ariaLabel || x.textContent || x.labels?.length)).map(x => x.id)"
        )
        assert not unnamed


def test_a_live_page_follows_new_data_and_keeps_what_was_chosen(show):
    with show() as watched:
        page = watched.page
        page.locator("#curriculum select").nth(1).select_option("1")
        longer, runs = copy.deepcopy(DATA), copy.deepcopy(DATA["runs"])
        for run in runs:
            run["curriculum"]["moments"].append({**run["curriculum"]["moments"][-1], "updates": 2000})
            for statistic in run["curriculum"]["statistics"]:
                statistic["y"] = [[*y, y[-1]] for y in statistic["y"]]
        longer.update(runs=runs, tables=[], title="later", notice="something <b>went</b> on")
        page.evaluate("document.querySelector('#landscape .cell').dataset.kept = 'yes'")
        page.evaluate("data => maestro.render(data)", longer)
        assert "update 2,000" in page.inner_text("#curriculum output")
        assert page.locator("#curriculum select").nth(1).input_value() == "1"
        assert page.inner_text("h1") == "later" and page.locator("#tables").count() == 0
        assert page.inner_text("#notice") == "something <b>went</b> on"
        assert page.locator("#landscape [data-kept=yes]").count() == 1  # what did not change was left alone
        page.evaluate("data => maestro.render(data)", DATA)
        assert sections(page) == ["top", *SECTIONS] and page.locator("#notice").is_hidden()
        watched.check()


def test_the_game_itself_is_started_where_it_can_be_played(show):
    with show() as watched:
        page = watched.page
        page.evaluate(
            """data => {
            maestro.games.lasertag = { start: (element, play) => element.append(play.levels[0].name) };
            maestro.render({ ...data, play: { agents: [], levels: [{ name: "Cross", text: "" }] } });
        }""",
            DATA,
        )
        assert page.inner_text("#play .play") == "Cross"
        assert "Play" in texts(page, "#nav a")


def test_no_script_reads_text_as_markup_or_code():
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setTimeout\([\"'`]"
    )
    files = [*PAGE.glob("*.js"), PAGE / "page.html"]
    assert len(files) > 10
    assert not [path.name for path in files if re.search(forbidden, path.read_text())]
    markup = (PAGE / "page.html").read_text()
    assert not re.search(r"\son\w+=|\sstyle=|https?:|<script|<style", markup)
    style = "".join(path.read_text() for path in PAGE.glob("*.css"))
    assert "--paper" in style and not re.search(r"url\(|@import|https?:", style)
