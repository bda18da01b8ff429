"""Levels in the page: the package's texts, its refusals, and what may be drawn."""

import json

import jax
import numpy as np
import pytest

import web_games
from maestro.envs.lasertag import levels, maps, text
from web_page import scripts

HEADER = "time limit: 350\nA faces: right\nB faces: left\n"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with scripts(tmp_path_factory.mktemp("page")) as page:
        yield page


READ = """(texts) => JSON.stringify(texts.map((text) => {
  const game = maestro.lasertag;
  const { level, problem } = game.read(text);
  if (!level) return problem;
  const again = game.toText({ ...level, name: "" });
  return [Array.from(level.walls), level.height, level.width, level.position, level.facing, level.timeLimit,
    again, game.shortestPath(level)];
}))"""


shortest_path = jax.jit(levels.shortest_path)
wall_grid = jax.jit(levels.wall_grid)


def as_told(level):
    """A level of the package as the page tells of one."""
    walls = np.asarray(wall_grid(level)).astype(int).ravel().tolist()
    numbers = [
        x.tolist() for x in (level.height, level.width, level.position, level.facing, level.time_limit)
    ]
    return [walls, *numbers, text.to_text(level), int(shortest_path(level))]


def test_named_and_generated_levels_are_read_written_and_measured_alike(page):
    generated = web_games.generated(6, 30)
    texts = [content for _, content in maps.LEVELS.named]
    texts += [text.to_text(web_games.one(generated, i), "a: name") for i in range(30)]
    found = json.loads(page.evaluate(READ, texts))
    assert len(texts) == 45 and found == [as_told(text.parse(content)) for content in texts]


LOOSE = (
    "B faces:LEFT\r\nName: mine: best\r\n\r\n  a  Faces : Right\r\ntime limit: 0350\r\n\r\nA.#\r\n..B\r\n\r\n"
)
GOOD = [
    "\ufeff" + HEADER + "AB",
    LOOSE,
    HEADER + "A\nB\n",
    HEADER + ("#" * 15 + "\n") * 14 + "A" + "." * 13 + "B",
]
BAD = {
    "an unknown character": HEADER + "A.B\n.x.\n",
    "a lower case start": HEADER + "a.B\n",
    "two A's": HEADER + "A.B\n..A\n",
    "two B's": HEADER + "AB\n.B\n",
    "no A": HEADER + "..B\n",
    "no B": HEADER + "A..\n",
    "a short row": HEADER + "A.B\n..\n",
    "a long row": HEADER + "A.B\n....\n",
    "a gap in the map": HEADER + "A.B\n\n...\n",
    "a row over 15 wide": HEADER + "A.B" + "." * 13 + "\n",
    "a map over 15 high": HEADER + "A.B\n" + "...\n" * 15,
    "nothing": "",
    "blank lines": "\n \n",
    "no map": HEADER,
    "no header": "A.B\n",
    "no facing of B": "time limit: 9\nA faces: up\nA.B\n",
    "an unknown header": "time limt: 9\n" + HEADER + "A.B\n",
    "a header twice": "A faces: up\n" + HEADER + "A.B\n",
    "a time limit of zero": HEADER.replace("350", "0") + "A.B\n",
    "a time limit beyond the largest": HEADER.replace("350", "10001") + "A.B\n",
    "a time limit in words": HEADER.replace("350", "ten") + "A.B\n",
    "a fraction as time limit": HEADER.replace("350", "1.5") + "A.B\n",
    "an unknown facing": HEADER.replace("left", "west") + "A.B\n",
    "a NUL": HEADER + "A.\0B\n",
    "a long text": HEADER + "A.B\n" * 1100,
}


def test_texts_that_are_unusual_but_levels_are_read(page):
    for content, told in zip(GOOD, json.loads(page.evaluate(READ, GOOD)), strict=True):
        assert told == as_told(text.parse(content))


def refusal(content):
    with pytest.raises(text.TextError) as raised:
        text.parse(content)
    return str(raised.value)


def test_what_is_no_level_is_refused_in_the_same_words_at_the_same_place(page):
    found = dict(zip(BAD, json.loads(page.evaluate(READ, list(BAD.values()))), strict=True))
    expected = {name: refusal(content) for name, content in BAD.items()}
    nearest = "nearest: 'time limit'; "  # the page does not look for the nearest name
    expected["an unknown header"] = expected["an unknown header"].replace(nearest, "")
    assert found == expected


def test_random_levels_of_the_page_have_the_measures_of_the_generator(page):
    make = """() => {
      const game = maestro.lasertag;
      const roll = game.dice(7);
      return Array.from({ length: 600 }, () => game.toText(game.generated(roll)));
    }"""
    found = [text.parse(content) for content in page.evaluate(make)]
    many = jax.vmap(levels.statistics)
    ours = jax.jit(many)(web_games.stacked(found))
    theirs = jax.jit(many)(web_games.generated(8, 600))
    for name, values in theirs.items():
        spread = float(np.std(values)) * (2 / 600) ** 0.5
        assert abs(float(np.mean(values) - np.mean(ours[name]))) < 4 * spread, name
    assert {int(level.height) for level in found} == set(range(5, 16))


DRAW = """() => {
  const game = maestro.lasertag;
  const draft = game.draftOf(game.parse("time limit: 9\\nA faces: up\\nB faces: up\\nA.#\\n..B\\n"));
  const told = [
    game.setWall(draft, game.cellAt(1, 1), true),
    game.setStart(draft, 0, game.cellAt(2, 3)),
    game.setStart(draft, 0, game.cellAt(1, 3)),
    game.setStart(draft, 0, game.cellAt(2, 1)),
    game.setWall(draft, game.cellAt(1, 1), true),
    game.setWall(draft, game.cellAt(1, 3), false),
  ];
  const cut = game.resized(draft, 3, 2);
  const low = game.resized(draft, 1, 3);
  const problem = (one) => game.read(game.toText(one)).problem;
  return [told, game.toText(draft), game.toText(cut), problem(cut), problem(low)];
}"""


def test_a_drawing_keeps_the_rules_of_a_level_or_says_what_is_missing(page):
    told, drawn, cut, narrow, low = page.evaluate(DRAW)
    assert told == [
        "A starts here: no wall can stand in this cell",
        "B starts here: two agents cannot share a cell",
        "A cannot start in a wall",
        *[""] * 3,
    ]
    assert drawn == "time limit: 9\nA faces: up\nB faces: up\n#..\nA.B\n"
    assert cut == "time limit: 9\nA faces: up\nB faces: up\n#.\nA.\n..\n"
    assert narrow == refusal(cut) == "line 4, column 1: there is no B in the map"
    assert low == "line 4, column 1: there is no A in the map"


def test_a_level_without_a_way_is_called_a_draw(page):
    tell = "(text) => maestro.lasertag.described(maestro.lasertag.parse(text))"
    apart, near = page.evaluate(tell, HEADER + "A#B\n"), page.evaluate(tell, HEADER + "A.B\n##.\n")
    assert apart == "1 x 3 cells, 1 wall. No way leads from A to B: every game here ends in a draw."
    assert near == "2 x 3 cells, 2 walls, 2 steps from A to B."
