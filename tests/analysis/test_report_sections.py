"""The sections of a report's page: their numbers, and what sliders, cells and keys do."""

from itertools import pairwise

import pytest

from report_pages import DASH, DATA, DRAWN, MINUS, changed, focused, texts

EACH_DRAWN = f"all => Promise.all(all.map({DRAWN}))"


def test_tables_are_tables_with_heads_and_aligned_numbers(show):
    with show() as watched:
        page, (first, _) = watched.page, DATA["tables"]
        assert texts(page, "#tables .block:nth-of-type(1) thead th[scope=col]") == first["columns"]
        rows = page.locator("#tables .block:nth-of-type(1) tbody tr").all()
        assert [row.locator("th[scope=row]").inner_text() for row in rows] == [r[0] for r in first["rows"]]
        assert rows[2].locator("td").all_inner_texts() == [
            f"{MINUS}0.252",
            f"{MINUS}0.35",
            f"{MINUS}0.15",
            "780",
        ]
        assert page.locator("#tables td.num").first.evaluate("x => getComputedStyle(x).textAlign") == "right"


def test_the_slider_shows_the_levels_and_statistics_of_its_moment(show):
    with show() as watched:
        page, curriculum = watched.page, DATA["runs"][0]["curriculum"]
        slider = page.get_by_label("Moment of training")
        seen = []
        for number, moment in enumerate(curriculum["moments"]):
            slider.fill(str(number))
            levels = moment["seeds"][0]["levels"]
            words = ["the live student" if x["coplayer"] == 0 else f"member {x['coplayer']}" for x in levels]
            assert texts(page, "#curriculum .card .chip") == words
            assert f"update {moment['updates']:,}" in page.inner_text("#curriculum output")
            shares = [y["y"][0][number] for y in curriculum["statistics"]]
            shown = texts(page, "#curriculum .statistic b")
            assert [float(x) for x in shown] == pytest.approx(shares)
            assert page.locator("#curriculum .tight tbody tr").count() == moment["seeds"][0]["members"] + 1
            seen.append(page.locator("#curriculum .card canvas").evaluate_all(EACH_DRAWN))
        assert all(a != b for a, b in pairwise(seen))
        watched.check()


def test_arrow_keys_move_the_slider_and_pickers_choose_run_and_seed(show):
    with show() as watched:
        page = watched.page
        page.get_by_label("Moment of training").focus()
        page.keyboard.press("ArrowLeft")
        assert "update 1,000" in page.inner_text("#curriculum output")
        page.locator("#curriculum select").nth(1).select_option("1")
        assert "update 1,000" in page.inner_text("#curriculum output")  # the same moment of the other seed
        served = DATA["runs"][0]["curriculum"]["moments"][2]["seeds"][1]["levels"]
        assert [x.split(" ")[-1] for x in texts(page, "#curriculum .card .chip")] == [
            "student" if x["coplayer"] == 0 else str(x["coplayer"]) for x in served
        ]
        page.locator("#curriculum select").nth(0).focus()
        page.locator("#curriculum select").nth(0).select_option("1")
        assert set(texts(page, "#curriculum .card .chip")) == {"the live student"}
        assert page.evaluate("document.activeElement.dataset.key") == "Run"
        watched.check()


def test_the_player_plays_and_pauses(show):
    with show() as watched:
        page = watched.page
        play = page.locator("#curriculum button.primary")
        assert play.inner_text() == "Play"
        play.click()
        assert play.inner_text() == "Pause" and "update 0" in page.inner_text("#curriculum output")
        page.locator("#curriculum output", has_text="update 500").wait_for()
        play.click()
        assert play.inner_text() == "Play"


def test_pointing_at_a_cell_of_the_landscape_tells_its_numbers(show):
    with show() as watched:
        page, land = watched.page, DATA["landscapes"][0]
        cells = page.locator("#landscape .cell")
        assert cells.count() == 5 * 8
        for row, column in ((1, 4), (3, 1)):
            cells.nth(8 * row + column).hover()
            told = page.inner_text("#landscape .detail")
            assert land["members"][row] in told and f"{land['regret'][row][column]:.3f}".rstrip("0") in told
        assert page.locator("#landscape .cell.unknown").inner_text() == DASH
        marks = page.locator("#landscape .cell.mark").evaluate_all("all => all.map(x => x.className)")
        assert sum("joint" in x for x in marks) == 1 and sum("independent" in x for x in marks) == 1
        joint = land["joint"][0] * 8 + land["joint"][1]
        assert "a teacher of pairs" in (cells.nth(joint).get_attribute("aria-label") or "")


def hue(color):
    """`red` or `green`, by what there is most of in `rgb(r, g, b)`."""
    red, green, blue = (float(x) for x in color[4:-1].split(","))
    return "red" if red == max(red, green, blue) else "green" if green == max(red, green, blue) else "blue"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_have_the_colors_of_the_figure_red_for_independent_green_for_joint(show, scheme):
    frame = "(x, part) => getComputedStyle(x, part).borderTopColor"
    with show(color_scheme=scheme) as watched:
        page = watched.page
        for name, part, color in (("independent", "::before", "red"), ("joint", "::after", "green")):
            assert hue(page.locator(f"#landscape .cell.mark.{name}").evaluate(frame, part)) == color
            assert hue(page.locator(f"#landscape .legend .tag.{name}").evaluate(frame, None)) == color


def test_a_cell_of_the_landscape_opens_its_recorded_game(show):
    with show() as watched:
        page, land = watched.page, DATA["landscapes"][0]
        page.locator("#landscape .cell").nth(8 * 1 + 2).click()
        game = DATA["games"][land["games"][1][2]]
        assert page.inner_text("#viewer-title") == f"{game['level']}: {game['told']}"
        slider = page.get_by_label("State of the game")
        assert slider.get_attribute("max") == str(len(game["frames"]) - 1)
        watched.keep("report-viewer")
        page.keyboard.press("Escape")
        page.locator("#landscape .cell").nth(0).click()  # nothing was kept of this one
        assert page.locator("dialog[open]").count() == 0
        assert "No game of this cell" in page.inner_text("#landscape .detail")
        watched.check()


def test_heat_maps_are_walked_and_opened_with_the_keyboard_alone(show):
    with show() as watched:
        page, cross = watched.page, DATA["crossplays"][0]
        stops = "all => all.filter(x => x.tabIndex === 0).length"
        assert page.locator("#crossplay .cell").evaluate_all(stops) == 1
        page.locator("#crossplay .cell[tabindex='0']").focus()
        for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp", "Home", "End"):
            page.keyboard.press(key)
        assert focused(page).startswith(f"maestro against hunter: mean return {MINUS}0.18")
        assert page.locator("#crossplay .cell").evaluate_all(stops) == 1
        page.keyboard.press("Enter")
        assert DATA["games"][cross["games"][0][2]]["told"] in page.inner_text("#viewer-title")
        page.keyboard.press("Escape")
        assert focused(page).startswith("maestro against hunter")
        watched.check()


def test_the_cross_play_matrix_has_its_means_and_intervals(show):
    with show() as watched:
        page, cross = watched.page, DATA["crossplays"][0]
        shown = [x.replace(MINUS, "-") for x in texts(page, "#crossplay .cell")]
        means = [mean for row in cross["mean"] for mean in row]
        assert [float(x) for x in shown] == pytest.approx(means, abs=0.005)
        page.locator("#crossplay .cell").nth(3).hover()
        assert f"{MINUS}0.38 to {MINUS}0.24" in page.inner_text("#crossplay .detail")


def test_the_population_is_told_as_strips_and_as_a_table(show):
    with show() as watched:
        page, run = watched.page, DATA["runs"][0]
        members = run["members"][0]
        assert page.locator("#population .strip").count() == len(members)
        page.locator("#population summary").click()
        rows = page.locator("#population details tbody tr")
        assert rows.count() == len(members)
        rate = run["curriculum"]["moments"][-1]["seeds"][0]["win_rate"][1]
        assert "a draw as half" in page.inner_text("#population details")
        assert "a draw as half" in page.inner_text("#curriculum .partners")
        assert rows.nth(0).locator("td").last.inner_text() == f"{100 * rate:.0f} %"
        page.locator("#population .part").first.hover()
        assert "joined at update 250" in page.inner_text("#population output >> nth=0")


def test_a_strip_shows_each_win_rate_up_to_the_moment_at_which_it_was_noted(show):
    with show() as watched:
        page, run = watched.page, DATA["runs"][0]
        moments = run["curriculum"]["moments"]
        page.locator("#population .part").first.wait_for()
        first = page.locator("#population svg > g").nth(0)  # of member 1, who joined at update 250
        parts = first.locator(".part").all()
        place = "x => [Number(x.getAttribute('x')), Number(x.getAttribute('width'))]"
        left, wide = first.locator(".strip").evaluate(place)
        ends = [part.evaluate(place) for part in parts]
        begun = [250, 500, 1000]
        for (x, width), start, moment in zip(ends, begun, moments[1:], strict=True):
            assert (x - left) / wide == pytest.approx((start - 250) / 1250, abs=1e-6)
            assert (x + width - left) / wide == pytest.approx((moment["updates"] - 250) / 1250, abs=1e-6)
        for part, moment in zip(parts, moments[1:], strict=True):
            part.hover()
            rate = moment["seeds"][0]["win_rate"][1]
            told = page.inner_text("#population output >> nth=0")
            assert f"at update {moment['updates']:,} the student wins {100 * rate:.0f} %" in told
        watched.check()


def test_a_curve_that_has_ended_is_not_read_any_more(show):
    runs = [*changed()["runs"]]
    for curve in runs[1]["curves"]:
        curve.update(x=curve["x"][:10], y=[y[:10] for y in curve["y"]])
    with show(changed(runs=runs)) as watched:
        first = watched.page.locator("#curves .readable").first
        first.focus()
        first.locator("path.line").first.wait_for()
        (long, value), (short, nothing) = (x.split() for x in texts(first, "output .pair"))
        assert (long, short) == ("maestro", "dr-sp") and value != DASH and nothing == DASH
        seen = first.locator(".dot").evaluate_all("all => all.map(x => !x.classList.contains('off'))")
        assert sum(seen) == 1
        for _ in range(22):
            watched.page.keyboard.press("ArrowLeft")
        assert "update 400" in first.inner_text() and DASH not in first.locator("output").inner_text()
        watched.check()


def test_runs_of_one_label_are_told_apart_and_each_is_hidden_by_its_own_button(show):
    runs = changed()["runs"]
    for run, folder in zip(runs, ("a", "b"), strict=True):
        run.update(label="maestro", method="maestro", folder=folder, name=f"maestro ({folder})")
    with show(changed(runs=runs)) as watched:
        page = watched.page
        first = page.locator("#curves .readable").first
        first.locator("path.line").first.wait_for()
        color = "x => x.style.stroke + x.getAttribute('stroke-dasharray')"
        own = [x.evaluate(color) for x in first.locator("path.line").all()]
        page.get_by_role("button", name="maestro (b)", exact=True).click()
        first.locator("path.line").first.wait_for()
        assert [x.evaluate(color) for x in first.locator("path.line").all()] == own[:1]
        pressed = "all => all.map(x => x.getAttribute('aria-pressed'))"
        assert page.locator("#curves .toggle").evaluate_all(pressed) == ["true", "false"]
        assert texts(page, "#curves .toggle") == ["maestro (a)", "maestro (b)"]
        assert texts(page, "#curriculum select >> nth=0 >> option") == ["maestro (a)", "maestro (b)"]
        watched.check()


def test_curves_are_read_with_arrows_and_runs_are_hidden(show):
    with show() as watched:
        page = watched.page
        first = page.locator("#curves .readable").first
        first.focus()
        first.locator("path.line").first.wait_for()
        page.keyboard.press("ArrowLeft")
        told = first.locator("output").inner_text()
        assert "update 1,450" in told and "maestro" in told and "dr-sp" in told
        assert first.locator("path.line").count() == 2 and first.locator("path.faint").count() == 4
        toggle = page.get_by_role("button", name="dr-sp", exact=True)
        toggle.click()
        assert toggle.get_attribute("aria-pressed") == "false"
        first.locator("path.line").first.wait_for()
        assert first.locator("path.line").count() == 1
        toggle.click()
        first.locator("path.line").nth(1).wait_for()
