"""What the page of a report shows large: recorded games state by state, levels, figures."""

import re
from typing import Any

from report_pages import DATA, DRAWN, focused


def test_a_recorded_game_is_replayed_state_by_state_with_keys(show):
    with show() as watched:
        page, game = watched.page, DATA["games"][0]
        page.evaluate("maestro.replay(0)")
        stage, seen = page.locator("dialog canvas.stage"), set()
        for _ in game["frames"]:
            seen.add(stage.evaluate(DRAWN))
            page.keyboard.press("ArrowRight")
        assert len(seen) == len({str(frame) for frame in game["frames"]})
        last = len(game["frames"]) - 1
        assert page.inner_text("dialog output.count") == f"{last} / {last}"
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        assert page.inner_text("dialog output.count") == f"0 / {last}"
        page.get_by_label("One state on").click()
        page.get_by_label("State of the game").focus()
        page.keyboard.press("ArrowRight")
        assert page.inner_text("dialog output.count") == f"2 / {last}"
        assert page.locator("dialog .values svg").count() == 1
        watched.check()


def test_a_recorded_game_plays_by_itself_only_where_motion_is_welcome(show):
    def reached(page: Any, state: str) -> None:
        page.locator("dialog output.count", has_text=re.compile(f"^{state} / 79$")).wait_for()

    with show(reduced_motion="no-preference") as watched:
        watched.page.evaluate("maestro.replay(8)")
        reached(watched.page, "[3-9]")
        watched.page.keyboard.press(" ")
        assert watched.page.inner_text("dialog button.primary") == "Play"
    with show() as watched:
        watched.page.evaluate("maestro.replay(8)")
        assert watched.page.inner_text("dialog button.primary") == "Play"
        watched.page.keyboard.press(" ")
        reached(watched.page, "[2-9]")
        watched.page.locator("dialog select").select_option("4")  # eight times as fast
        reached(watched.page, "79")
        watched.page.locator("dialog button.primary", has_text="Again").wait_for()
        watched.check()


def test_a_game_that_draws_nothing_is_replayed_as_text(show):
    with show() as watched:
        watched.page.evaluate("maestro.replay(9)")
        assert watched.page.inner_text("dialog pre.stage") == DATA["games"][9]["text"][0]
        watched.page.keyboard.press("End")
        assert watched.page.inner_text("dialog pre.stage") == DATA["games"][9]["text"][-1]
        watched.page.evaluate("index => maestro.enlarge(index)", DATA["games"][9]["scene"])
        assert watched.page.inner_text("dialog pre.stage") == DATA["scenes"][-1]["text"]
        watched.check()


def test_bodies_are_drawn_where_a_frame_says(show):
    with show() as watched:
        spots = watched.page.evaluate(
            """() => {
            const canvas = document.createElement("canvas");
            canvas.style.width = "200px";
            document.body.append(canvas);
            const square = (color) => [{ kind: "rects", at: [-1, -1, 2, 2], color }];
            const tall = [{ kind: "rects", at: [-0.5, -3, 1, 6], color: "#0000ff" }];
            const scene = { size: [20, 10], ground: "#ffffff", start: [], bodies: [square("#ff0000"), tall],
              shapes: [{ kind: "circle", at: [2, 2, 1], color: "#00ff00" }] };
            maestro.scene.draw(canvas, scene, [0, 10, 5, 0, 1, 16, 8, Math.PI / 2]);
            const g = canvas.getContext("2d"), scale = canvas.width / 20;
            const at = (x, y) => [...g.getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3).join();
            return [at(2, 2), at(10, 5), at(5, 5), at(18, 8), at(16, 6), canvas.height * 2 / canvas.width];
        }"""
        )
        colors = ["0,255,0", "255,0,0", "255,255,255", "0,0,255", "255,255,255"]
        assert spots == [*colors, 1]


def test_a_level_is_seen_large_and_the_focus_comes_back(show):
    with show() as watched:
        page = watched.page
        page.locator("#curriculum .picture").nth(2).click()
        assert page.locator("dialog[open] canvas.stage").count() == 1
        page.keyboard.press("Escape")
        assert page.locator("dialog[open]").count() == 0
        assert focused(page).startswith("Level 3, against")


def test_figures_are_enlarged(show):
    with show() as watched:
        page = watched.page
        assert page.locator("#figures img").count() == len(DATA["figures"])
        page.locator("#figures .plate").first.click()
        small = page.locator("dialog img").bounding_box()
        page.get_by_role("button", name="Actual size").click()
        assert page.get_by_role("button", name="Fit the window").get_attribute("aria-pressed") == "true"
        assert small and page.locator("dialog img").bounding_box() != small
        watched.check()
