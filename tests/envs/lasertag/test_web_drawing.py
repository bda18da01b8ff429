"""Levels are drawn in the page, by pointer, by keyboard and as text, and played there."""

import pytest

import browser
from web_page import DUEL, opened


@pytest.fixture(scope="module")
def chromium():
    with browser.launched() as chromium:
        yield chromium


@pytest.fixture
def drawing(chromium, tmp_path):
    with opened(chromium, tmp_path, {"agents": [], "levels": [{"name": "Duel", "text": DUEL}]}) as watched:
        watched.page.get_by_text("Draw a level").click()
        yield watched


def click_cell(page, row, column, to=None):
    """Click a cell of the drawing, or drag it to another; the outer wall is row 0 and column 0."""
    board = page.locator(".play-editor canvas")
    board.scroll_into_view_if_needed()
    box = board.bounding_box()
    sizes = [page.get_by_label(name, exact=True).input_value() for name in ("Rows", "Columns")]
    rows, columns = (int(size) + 2 for size in sizes)

    def place(row, column):
        across, down = (column + 0.5) / columns, (row + 0.5) / rows
        return box["x"] + box["width"] * across, box["y"] + box["height"] * down

    page.mouse.move(*place(row, column))
    page.mouse.down()
    if to:
        page.mouse.move(*place(*to))
    page.mouse.up()


def drawn(page):
    """The map of the drawing."""
    return page.get_by_label("As text").input_value().split("\n")[3:-1]


def test_a_wall_that_is_drawn_is_in_the_game(drawing):
    page = drawing.page
    assert drawn(page) == ["A....", "####.", "B...."]
    click_cell(page, 1, 3)
    click_cell(page, 2, 2)
    assert drawn(page) == ["A.#..", "#.##.", "B...."]
    page.get_by_role("button", name="Play on this level").click()
    page.locator(".play-who1").select_option("stands still")
    page.locator(".play-pace").select_option("one step per key")
    page.locator(".play-keys").focus()
    for key in ["w", "w", "w"]:  # the new wall stops the third step
        page.keyboard.press(key)
    board = page.locator(".play-keys canvas").get_attribute("aria-label")
    assert "Red in row 1, column 2, facing right" in board
    assert page.locator(".play-level").evaluate("(s) => s.selectedOptions[0].text") == "your drawing"
    drawing.keep("lasertag-drawing", "#play")


def test_walls_are_drawn_by_dragging_and_starts_are_dragged_and_turned(drawing):
    page = drawing.page
    click_cell(page, 1, 2, to=(1, 3))
    assert drawn(page)[0] == "A##.."
    click_cell(page, 3, 1, to=(3, 4))
    assert drawn(page)[2] == "...B."
    click_cell(page, 3, 4)
    assert "B faces: left" in page.get_by_label("As text").input_value()


def test_a_level_is_drawn_by_keyboard(drawing):
    page = drawing.page
    page.locator(".play-editor canvas").focus()
    for key in ["ArrowRight", "Space", "ArrowRight", "a", "t", "ArrowDown", "Space", "ArrowDown", "b"]:
        page.keyboard.press(key)
    assert drawn(page) == [".#A..", "##.#.", "..B.."]
    assert "A faces: down" in page.get_by_label("As text").input_value()


def test_what_is_no_level_is_told_in_words_and_cannot_be_played(drawing):
    page = drawing.page
    message, play = page.locator(".play-message"), page.get_by_role("button", name="Play on this level")
    assert message.inner_text() == "3 x 5 cells, 4 walls, 10 steps from A to B." and play.is_enabled()
    page.get_by_label("Rows", exact=True).fill("2")
    page.get_by_label("Rows", exact=True).press("Enter")
    assert message.inner_text() == "This is no level yet: line 4, column 1: there is no B in the map"
    assert play.is_disabled()
    drawing.keep("lasertag-no-level", ".play-draw")
    page.get_by_label("Click puts").select_option("start of B")
    click_cell(page, 2, 5)
    assert message.inner_text() == "2 x 5 cells, 4 walls, 5 steps from A to B." and play.is_enabled()
    click_cell(page, 2, 3)
    assert message.inner_text() == "B cannot start in a wall"
    page.get_by_label("As text").fill(DUEL.replace("#", "x"))
    assert message.inner_text().startswith("This is no level yet: line 5, column 1: unknown character 'x'")
    assert play.is_disabled()
