"""The 13 test levels of LaserTag (paper, appendix: evaluation environments) and two specialist levels."""

from pathlib import Path

from maestro.envs.lasertag import text
from maestro.envs.levels import Levels

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

TEXTS = {drawn.split("\n", 1)[0].removeprefix("name: "): drawn for drawn in DRAWN.strip().split("\n\n")}
SPECIALIST = ("Empty", "Corridor-Easy")  # published nowhere: our design
TEST = tuple(name for name in TEXTS if name not in SPECIALIST)
LEVELS = Levels(
    text.parse,
    text.to_text,
    tuple((name, TEXTS[name]) for name in TEST + SPECIALIST),
    max_bytes=text.MAX_BYTES,
    decode=text.decode,
)
NAMES = LEVELS.names
VALIDATION = Path(__file__).parent / "validation.json"  # 256 levels of the generator
