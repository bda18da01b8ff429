"""LaserTag is played in the page: by a person at the keyboard, by two agents, on levels drawn there."""

import re

import pytest

import browser
import web_games
from maestro.envs.lasertag import maps
from maestro.games.lasertag import GAME
from web_page import DUEL, opened

WAY = (
    ["ArrowUp"] * 4 + ["ArrowRight"] + ["ArrowUp"] * 2 + ["ArrowRight", "Space"]
)  # around the wall, and fire


@pytest.fixture(scope="module")
def chromium():
    with browser.launched() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def play():
    """Two agents and some levels, as a report holds them."""
    agents = [
        {"name": name, "about": f"agent {name}", "hidden": 256, "arrays": web_games.packed(params)}
        for name, (_, params) in ((name, web_games.shipped_agent(name)) for name in ("maestro", "dr-sp"))
    ]
    named = dict(maps.LEVELS.named)
    levels = [{"name": name, "text": named[name]} for name in ("Cross", "SixteenRooms", "Corridor1")]
    return {"agents": agents, "levels": [{"name": "Duel", "text": DUEL}, *levels]}


@pytest.fixture
def alone(chromium, tmp_path):
    """A page without agents."""
    turned = {"name": "Turned", "text": DUEL.replace("A faces: right", "A faces: left")}
    levels = [{"name": "Duel", "text": DUEL}, turned]
    with opened(chromium, tmp_path, {"agents": [], "levels": levels}) as watched:
        yield watched


@pytest.fixture
def full(chromium, tmp_path, play):
    with opened(chromium, tmp_path, play) as watched:
        yield watched


def told(page):
    return page.locator(".play-told").inner_text()


def stop_the_clock(page):
    """Begin anew; time stands still from here on, but where a test lets it run, however busy the machine."""
    page.clock.install(time=0)
    page.reload()
    page.clock.pause_at(3600)  # seconds, more than loading takes


def against_nobody(page):
    """A person in the red seat, someone who stands still in the blue one."""
    page.locator(".play-who0").select_option("you")
    page.locator(".play-who1").select_option("stands still")


def test_a_person_wins_by_keyboard(alone):
    page = alone.page
    against_nobody(page)
    page.locator(".play-pace").select_option("one step per key")
    assert told(page) == "Click the board, then press a key to begin."
    page.locator(".play-keys").click()
    for key in [*WAY, "ArrowDown", "ArrowDown"]:
        page.keyboard.press(key)
    assert told(page) == "Your move."
    alone.keep("lasertag-by-keyboard", "#play")
    page.keyboard.press("s")
    assert told(page) == "Red (you) won after 12 steps."
    assert page.locator(".play-score").inner_text() == "Games won: red 1, blue 0; drawn 0"
    page.keyboard.press("n")
    assert told(page) == "Click the board, then press a key to begin."
    assert page.locator(".play-clock").inner_text() == "Step 0 of 40"


def test_keys_play_in_real_time_and_a_key_held_down_goes_on(alone):
    page = alone.page
    stop_the_clock(page)
    against_nobody(page)
    page.locator(".play-keys").focus()
    page.keyboard.down("w")
    page.clock.run_for(1000)  # 4 steps
    page.keyboard.up("w")
    assert told(page) == "The game is on."
    for key in WAY[4:]:
        page.keyboard.press(key)
        page.clock.run_for(250)
    page.clock.run_for(750)
    assert told(page) == "Red (you) won after 12 steps."


def test_the_clock_stops_at_pause_and_the_pace_is_that_of_the_menu(alone):
    page = alone.page
    stop_the_clock(page)
    page.locator(".play-who0").select_option("stands still")
    page.locator(".play-who1").select_option("random")
    clock = page.locator(".play-clock")
    page.locator(".play-pace").select_option("8 steps a second")
    page.locator(".play-run").click()
    page.clock.run_for(1000)
    assert clock.inner_text() == "Step 8 of 40"
    page.keyboard.press("p")
    page.clock.run_for(1000)
    assert (clock.inner_text(), told(page)) == ("Step 8 of 40", "Paused.")
    page.locator(".play-step").click()
    assert clock.inner_text() == "Step 9 of 40"
    page.locator(".play-restart").click()
    assert (clock.inner_text(), told(page)) == ("Step 0 of 40", "Press Start.")


def test_buttons_play_for_who_has_no_keyboard(alone):
    page = alone.page
    against_nobody(page)
    page.locator(".play-pace").select_option("one step per key")
    names = {"ArrowUp": "Forward", "ArrowRight": "Turn right", "Space": "Shoot"}
    for name in [*(names[key] for key in WAY), *["Wait"] * 3]:
        page.get_by_role("button", name=name, exact=True).click()
    assert told(page) == "Red (you) won after 12 steps."


def watch(page, level, seed):
    """The end of a game of both agents, and the values that they had last."""
    page.locator(".play-who0").select_option("maestro")
    page.locator(".play-who1").select_option("dr-sp")
    page.locator(".play-level").select_option(level)
    page.locator(".play-seed").fill(str(seed))
    page.locator(".play-seed").press("Enter")
    page.locator(".play-pace").select_option("32 steps a second")
    page.locator(".play-run").click()
    page.clock.run_for(12_000)
    return told(page), page.locator(".play-mind").all_inner_texts()


def test_two_agents_play_to_the_end_and_the_same_seed_is_the_same_game(full):
    page = full.page
    stop_the_clock(page)
    games = [watch(page, "SixteenRooms", seed) for seed in (1, 2, 3, 1)]
    assert games[0] == games[3] and games[0] != games[1]
    assert all("won after" in end or end == "A draw after 250 steps." for end, _ in games)
    assert all("expects" in mind for _, minds in games for mind in minds)
    score = page.locator(".play-score").inner_text()
    assert sum(map(int, re.findall(r"\d+", score))) == 4
    full.keep("lasertag-two-agents", "#play")


def test_a_person_changes_seats_instead_of_taking_both(full):
    page = full.page
    page.locator(".play-who1").select_option("you")
    chosen = "(select) => select.selectedOptions[0].text"
    assert page.locator(".play-who0").evaluate(chosen) == "maestro"
    page.locator(".play-who0").select_option("you")
    assert page.locator(".play-who1").evaluate(chosen) == "maestro"


HOSTILE = "<img src=x onerror=alert(1)></script><script>document.title='taken'</script>"


def test_names_of_agents_and_levels_are_text_whatever_they_hold(chromium, tmp_path, play):
    agent = {**play["agents"][0], "name": HOSTILE, "about": HOSTILE}
    level = {"name": HOSTILE, "text": f"name: {HOSTILE}\n{DUEL}"}
    with opened(chromium, tmp_path, {"agents": [agent], "levels": [level]}) as watched:
        page = watched.page
        page.locator(".play-who0").select_option("random")
        page.locator(".play-step").click()
        assert page.locator("#play img, #play script").count() == 0 and page.title() != "taken"
        assert HOSTILE in page.locator(".play-seat1").inner_text()
        assert page.locator(".play-level").evaluate("(s) => s.selectedOptions[0].text") == HOSTILE


UNNAMED = """() => {
  const label = (e) => [...(e.labels || [])].map((label) => label.textContent).join("");
  const name = (e) => e.getAttribute("aria-label") || e.textContent || label(e);
  const controls = document.querySelectorAll("#play :is(button, input, select, textarea, [tabindex])");
  return [...controls].filter((e) => !name(e).trim()).map((e) => e.outerHTML);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_everything_has_a_name(
    chromium, tmp_path, play, scheme
):
    settings = {"viewport": {"width": 375, "height": 740}, "color_scheme": scheme, "has_touch": True}
    with opened(chromium, tmp_path, play, **settings) as watched:
        page = watched.page
        page.get_by_text("Draw a level").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        assert page.evaluate(UNNAMED) == []
        watched.keep(f"lasertag-phone-{scheme}", "#play")


CELL = """([row, column]) => {
  const board = document.querySelector(".play-keys canvas");
  const size = board.width / 7;
  const pen = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
  pen.drawImage(board, -column * size, -row * size);
  return pen.getImageData(0, 0, size, size).data.join();
}"""  # the pixels of a cell of a level that is 5 cells wide


BOARD = "document.querySelector('.play-keys canvas').toDataURL()"


def test_who_sees_only_what_an_agent_sees_does_not_see_the_rest(alone):
    page = alone.page
    against_nobody(page)
    board = page.locator(".play-keys canvas")
    seen, other, floor = (page.evaluate(CELL, cell) for cell in ([1, 2], [3, 1], [3, 5]))
    assert other != floor and "Blue in row 3, column 1" in board.get_attribute("aria-label")
    page.locator(".play-who0").select_option("stands still")
    page.locator(".play-who1").select_option("you")  # it looks down, at a wall, and red is behind it
    page.get_by_label("See only what your agent would").check()
    alone.keep("lasertag-dark-board", ".panel.play-stage")
    assert page.evaluate(CELL, [1, 1]) == page.evaluate(CELL, [1, 5])  # where red is, and where nobody is
    assert page.evaluate(CELL, [1, 2]) != seen
    dark = page.evaluate(BOARD)
    page.locator(".play-level").select_option("Turned")
    assert page.evaluate(BOARD) == dark  # nor where red looks
    assert "Red is out of sight; Blue in row 3, column 1" in board.get_attribute("aria-label")


def test_a_section_that_is_filled_anew_leaves_no_clock_behind(alone):
    page = alone.page
    stop_the_clock(page)
    page.locator(".play-who0").select_option("random")
    page.locator(".play-run").click()
    page.clock.run_for(500)
    before = page.locator(".play-clock").element_handle()
    page.evaluate("maestro.rebuild('play')")
    page.clock.run_for(5000)
    assert before.text_content() == "Step 2 of 40"
    assert page.locator(".play-clock").all_inner_texts() == ["Step 0 of 40"]


def test_no_script_reads_text_as_markup_or_as_code():
    for path in GAME.page.glob("*.js"):
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("):
            assert word not in path.read_text(), (path.name, word)
