"""LaserTag's rules one thing at a time: loops over a list of bolts in processing order."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

AHEAD = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left; x to the right, y down
LEFT, FORWARD, RIGHT, SHOOT = 1, 2, 3, 4


@dataclass(eq=False)
class Bolt:
    """A projectile; `fresh` until the step in which it was fired is over."""

    x: int
    y: int
    dir: int
    owner: int
    fresh: bool = True


@dataclass
class Game:
    """Walls with the outer ring, two agents [x, y, dir] (None when tagged), bolts in processing order."""

    walls: np.ndarray  # bool [rows, columns], the ring included
    agents: list[list[int] | None]
    bolts: list[Bolt] = field(default_factory=list)


def ahead(thing: tuple[int, int, int]) -> tuple[int, int]:
    """The cell that (x, y, dir) faces."""
    x, y, direction = thing
    return x + AHEAD[direction][0], y + AHEAD[direction][1]


def agent_at(game: Game, cell: tuple[int, int]) -> int | None:
    """Who stands in the cell, if anyone."""
    for player, agent in enumerate(game.agents):
        if agent is not None and (agent[0], agent[1]) == cell:
            return player
    return None


def bolt_at(game: Game, cell: tuple[int, int]) -> bool:
    """Whether a bolt is in the cell."""
    return any((bolt.x, bolt.y) == cell for bolt in game.bolts)


def is_free(game: Game, cell: tuple[int, int]) -> bool:
    """Neither wall, agent nor bolt."""
    x, y = cell
    return not game.walls[y, x] and agent_at(game, cell) is None and not bolt_at(game, cell)


def act(game: Game, player: int, action: int) -> Bolt | None:
    """Apply one player's action; a fired bolt goes on the board at once, at the end of the list."""
    agent = game.agents[player]
    assert agent is not None
    x, y, direction = agent
    if action == LEFT:
        agent[2] = (direction - 1) % 4
    elif action == RIGHT:
        agent[2] = (direction + 1) % 4
    cell = ahead((x, y, direction))
    if action == FORWARD and is_free(game, cell):
        agent[0], agent[1] = cell
    if action == SHOOT and is_free(game, cell):
        bolt = Bolt(*cell, direction, player)
        game.bolts.append(bolt)
        return bolt
    return None


def move(game: Game, bolt: Bolt) -> list[int]:
    """Process one bolt: vanish, hit or advance; returns the two rewards."""
    reward = [0, 0]
    cell = ahead((bolt.x, bolt.y, bolt.dir))
    if is_free(game, cell):
        bolt.x, bolt.y = cell
        return reward
    victim = agent_at(game, cell)
    if victim is not None:
        game.agents[victim] = None
        reward[bolt.owner] += 1
        reward[victim] -= 1
    game.bolts.remove(bolt)
    return reward


def step(game: Game, actions: Any, first: int) -> list[int]:
    """One step in place, `first` acting before the other; returns the two rewards."""
    fired = [act(game, player, int(actions[player])) for player in (first, 1 - first)]
    shots = [bolt for bolt in fired if bolt is not None]
    older = [bolt for bolt in game.bolts if not bolt.fresh]
    game.bolts = shots + older
    rewards = [0, 0]
    for bolt in older:
        hit = move(game, bolt)
        rewards = [rewards[0] + hit[0], rewards[1] + hit[1]]
    for bolt in shots:
        bolt.fresh = False
    return rewards


def observe(game: Game, player: int) -> np.ndarray:
    """A player's 5 x 5 view [row, column, (agent, bolt, wall)], row 4 its own; zeros once it is tagged."""
    view = np.zeros((5, 5, 3), np.uint8)
    agent = game.agents[player]
    if agent is None:
        return view
    x, y, direction = agent
    forward, right = AHEAD[direction], AHEAD[(direction + 1) % 4]
    for row in range(5):
        for column in range(5):
            far, side = 4 - row, column - 2
            cell = (x + far * forward[0] + side * right[0], y + far * forward[1] + side * right[1])
            if 0 <= cell[0] < game.walls.shape[1] and 0 <= cell[1] < game.walls.shape[0]:
                seen = (agent_at(game, cell) is not None, bolt_at(game, cell), game.walls[cell[1], cell[0]])
                view[row, column] = seen
    return view


def shortest_path(walls: np.ndarray, start: tuple[int, int], goal: tuple[int, int]) -> int:
    """Steps from start to goal, both (x, y), by breadth-first search; 0 when there is no path."""
    distance = {start: 0}
    queue = deque([start])
    while queue:
        x, y = queue.popleft()
        for dx, dy in AHEAD:
            cell = (x + dx, y + dy)
            if cell not in distance and not walls[cell[1], cell[0]]:
                distance[cell] = distance[x, y] + 1
                queue.append(cell)
    return distance.get(goal, 0)
