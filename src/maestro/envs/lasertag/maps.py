"""The 13 test levels of LaserTag (paper, appendix: evaluation environments) and two specialist levels."""

import difflib

from maestro.envs.lasertag.levels import Level
from maestro.envs.lasertag.text import parse

DRAWN = """\
name: Cross
time limit: 350
A faces: right
B faces: left
A..........
....#.#....
....#.#....
....#.#....
.####.####.
...........
.####.####.
....#.#....
....#.#....
....#.#....
..........B

name: FourRooms
time limit: 250
A faces: down
B faces: up
......#......
......#......
..A...#......
.............
......#......
......#......
###.#####.###
......#......
......#......
.............
......#...B..
......#......
......#......

name: SixteenRooms
time limit: 250
A faces: down
B faces: left
...#..#..#...
.A.......#...
...#..#......
#.###.##.###.
...#.........
......#..#...
##.#.##.###.#
...#.....#...
...#..#......
.####.##.#.##
...#..#..#...
......#....B.
...#.....#...

name: Ruins
time limit: 250
A faces: right
B faces: left
.............
.#.#.#.#.#.#.
A............
.#.#.#.#.#.#.
.............
.#.#.#.#.#.#.
.............
.#.#.#.#.#.#.
.............
.#.#.#.#.#.#.
............B
.#.#.#.#.#.#.
.............

name: Ruins2
time limit: 250
A faces: down
B faces: up
A...........
.##..##..##.
.##..##..##.
............
............
.##..##..##.
.##..##..##.
............
............
.##..##..##.
.##..##..##.
...........B

name: Star
time limit: 350
A faces: up
B faces: down
##.###.###.##
#...#...#...#
..#...#...#.B
.###.###.###.
..#...#...#..
#...#...#...#
##.###.###.##
#...#...#...#
..#...#...#..
.###.###.###.
A.#...#...#..
#...#...#...#
##.###.###.##

name: LargeCorridor
time limit: 350
A faces: up
B faces: down
...........
.#.#.#.#.#.
.#.#.#.#.#.
.#.#.#.#.#.
.#A#.#.#.#.
.#########.
.#.#.#.#B#.
.#.#.#.#.#.
.#.#.#.#.#.
.#.#.#.#.#.
...........

name: Maze1
time limit: 350
A faces: up
B faces: up
.....#B...#..
.###.####.##.
.#...........
.########.###
........#....
######.#####.
....#..#.....
.##...##.####
..#.#..#...#.
#.#.##.###.#.
#.#..#...#...
#.##.###.###.
...#..A#.#...

name: Maze2
time limit: 350
A faces: up
B faces: up
...#.#....#..
.#.#.####...#
.#........#..
.########.###
...#..#.#.#.B
##.#.##.#.#..
A#.#....#.##.
.#.##.###..#.
.#..#..###.#.
.##.##.#.#.#.
.#...#.#.#.#.
.#.#.#.#.#.#.
...#...#.....

name: Arena1
time limit: 200
A faces: up
B faces: up
.............
.#.#.#.#.#.#.
.###########.
.###########.
A###########B
.###########.
.###########.
.#.#.#.#.#.#.
.............

name: Arena2
time limit: 200
A faces: down
B faces: up
.###########.
A###########.
.###########.
.............
.#.#.#.#.#.#.
.###########B
.###########.

name: Corridor1
time limit: 200
A faces: down
B faces: up
A###.
.###.
.###.
.....
.###.
.###.
.###B

name: Corridor2
time limit: 200
A faces: up
B faces: up
.....
.###.
.###.
A###B
.###.
.###.
.....

name: Empty
time limit: 200
A faces: down
B faces: up
.............
.............
..A..........
.............
.............
.............
.............
.............
.............
.............
..........B..
.............
.............

name: Corridor-Easy
time limit: 200
A faces: right
B faces: left
A....
.###.
.....
.###.
....B
"""

TEXTS = {text.split("\n", 1)[0].removeprefix("name: "): text for text in DRAWN.strip().split("\n\n")}
SPECIALIST = ("Empty", "Corridor-Easy")  # published nowhere: our design
TEST = tuple(name for name in TEXTS if name not in SPECIALIST)
NAMES = TEST + SPECIALIST


def load(name: str) -> Level:
    """A drawn level by its name, in upper or lower case."""
    return parse(TEXTS[resolve(name)])


def resolve(name: str) -> str:
    """The name as it is spelled here; an unknown one raises an error that names the nearest."""
    by_lower = {known.lower(): known for known in NAMES}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    nearest = by_lower[difflib.get_close_matches(name.lower(), by_lower, 1, 0.0)[0]]
    raise ValueError(f"unknown level {name!r} (nearest: {nearest!r}; allowed: {', '.join(NAMES)})")
