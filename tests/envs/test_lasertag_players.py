"""The scripted players and the duels between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.lasertag import levels, maps, players, text
from maestro.envs.lasertag.game import FORWARD, NOOP, SHOOT, TURN_LEFT, TURN_RIGHT, LaserTag, observe
from maestro.envs.players import Sight
from maestro.evaluation.play import episode, play, step_bound
from maestro.games.lasertag import GAME

ENV = LaserTag()
HUNTER = GAME.player("hunter")
NOTHING = np.zeros((5, 5, 3), np.uint8)

hunter_acts = jax.jit(lambda key, sight: HUNTER.act(key, (), observe(sight.level, sight.state)[0], sight)[1])


def scene(rows, facing=("right", "left"), bolts=()):
    """A level drawn as rows, at its start, with bolts at (row, column, direction)."""
    header = f"time limit: 50\nA faces: {facing[0]}\nB faces: {facing[1]}\n"
    level = text.parse(header + "\n".join(rows))
    state, _ = ENV.reset(jax.random.key(0), level)
    codes = np.zeros((17, 17), np.uint8)
    for row, column, direction in bolts:
        codes[row + 1, column + 1] = 1 << 3 | 1 << 2 | direction
    return Sight(level, state.replace(bolts=jnp.asarray(codes)), jnp.int32(0))


def chosen(sight, tries=20):
    """The actions the hunter takes over several keys."""
    return {int(hunter_acts(jax.random.key(i), sight)) for i in range(tries)}


def connected_levels(key, count):
    """Random levels on which the agents can meet, with a short time limit."""
    batch = jax.vmap(ENV.sample_level)(jax.random.split(key, 2 * count))
    linked = np.flatnonzero(jax.vmap(levels.shortest_path)(batch) > 0)[:count]
    return jax.tree.map(lambda x: x[linked], batch)


@pytest.mark.parametrize("facing", ["up", "right", "down", "left"])
def test_the_hunter_shoots_when_the_other_is_ahead_with_a_clear_line(facing):
    row = {"right": ["A..B"], "left": ["B..A"], "down": ["A", ".", ".", "B"], "up": ["B", ".", ".", "A"]}
    assert chosen(scene(row[facing], (facing, facing))) <= {SHOOT, NOOP}
    assert SHOOT in chosen(scene(row[facing], (facing, facing)))


def test_the_hunter_does_not_shoot_at_a_wall_or_point_blank():
    assert SHOOT not in chosen(scene(["A#.B", "...."], ("right", "up")))
    assert SHOOT not in chosen(scene(["A.#.B", "....."], ("right", "up")))
    assert SHOOT not in chosen(scene(["AB..", "...."], ("right", "up")))


def test_the_hunter_turns_towards_a_target():
    assert chosen(scene(["A...B"], ("up", "right"))) <= {TURN_RIGHT, NOOP}
    assert chosen(scene(["A...B"], ("down", "right"))) <= {TURN_LEFT, NOOP}


def test_the_hunter_walks_the_shortest_way_to_a_shot():
    rows = ["A#...", ".#.#.", "...#B"]
    assert chosen(scene(rows, ("down", "up"))) <= {FORWARD, NOOP}
    assert FORWARD in chosen(scene(rows, ("down", "up")))


@pytest.mark.parametrize("direction", [levels.UP, levels.DOWN])
def test_the_hunter_sidesteps_a_bolt_about_to_hit_it(direction):
    row = 3 if direction == levels.UP else 1
    rows = [".....", ".....", "A....", ".....", "....B"]
    assert chosen(scene(rows, ("right", "up"), [(row, 0, direction)])) == {FORWARD}


def test_the_hunter_parries_in_a_corridor_where_it_cannot_dodge():
    near, far = [(0, 2, levels.LEFT)], [(0, 3, levels.LEFT)]
    assert chosen(scene(["A......B"], ("right", "left"), near)) == {SHOOT}
    assert SHOOT not in chosen(scene(["A......B"], ("right", "left"), far))


def test_the_hunter_turns_in_time_to_parry_what_comes_from_behind():
    sight = scene(["......A", "######B"], ("right", "up"), [(0, 2, levels.RIGHT)])
    assert chosen(sight) <= {TURN_LEFT, TURN_RIGHT}


def test_the_turret_alternates_and_keeps_its_aim_at_a_target():
    turret, view, sight = GAME.player("turret"), NOTHING.copy(), scene(["A.B"])
    memory, actions = turret.start(), []
    for obs in (view, view, view, view):
        memory, action = turret.act(jax.random.key(0), memory, jnp.asarray(obs), sight)
        actions.append(int(action))
    assert actions == [SHOOT, TURN_RIGHT, SHOOT, TURN_RIGHT]
    view[2, 2, players.AGENT] = 1
    memory, action = turret.act(jax.random.key(0), jnp.bool_(True), jnp.asarray(view), sight)
    assert int(action) == SHOOT


@pytest.mark.parametrize(
    ("row", "wall_row", "seen"), [(2, None, True), (3, None, False), (1, 2, False), (1, 0, True)]
)
def test_a_target_counts_only_two_or_more_cells_ahead_and_not_behind_a_wall(row, wall_row, seen):
    view = NOTHING.copy()
    view[4, 2, players.AGENT] = view[row, 2, players.AGENT] = 1
    if wall_row is not None:
        view[wall_row, 2, players.WALL] = 1
    assert bool(players.target_ahead(jnp.asarray(view))) is seen


def duel(key, level, a, b):
    return episode(key, ENV, level, a, b, step_bound(level))


def duel_many(key, levels, a, b):
    """(won, drawn, lost) by `a`, one episode on each level."""
    keys = jax.random.split(key, len(levels.time_limit))
    outcome = np.asarray(play(keys, ENV, a, b, levels, step_bound(levels)).outcome)
    return tuple(int((outcome == kind).sum()) for kind in (1, 0, -1))


def test_the_wall_follower_walks_all_around_a_room():
    level = text.parse("time limit: 50\nA faces: up\nB faces: up\n....#.\n....#.\n....#.\nA...#B\n")
    game = duel(jax.random.key(0), level, GAME.player("wall-follower"), GAME.player("random"))
    cells = {tuple(cell) for cell in np.asarray(game.states.position[: int(game.length) + 1, 0])}
    rim = {(y, x) for y in range(1, 5) for x in range(1, 5) if y in (1, 4) or x in (1, 4)}
    assert cells >= rim


@pytest.mark.long
def test_the_hunter_beats_random_play_clearly_from_either_seat():
    batch = connected_levels(jax.random.key(11), 100)
    first = duel_many(jax.random.key(12), batch, HUNTER, GAME.player("random"))
    second = duel_many(jax.random.key(13), batch, GAME.player("random"), HUNTER)
    assert sum(first) == 100
    assert first[0] >= 85 and second[2] >= 85


@pytest.mark.long
def test_the_hunter_beats_the_turret_more_often_than_it_loses():
    batch = connected_levels(jax.random.key(21), 100)
    won, _, lost = duel_many(jax.random.key(22), batch, HUNTER, GAME.player("turret"))
    assert won > 2 * lost


def test_an_episode_stands_still_after_its_end_and_its_rewards_name_the_winner():
    level = maps.LEVELS.load("Corridor-Easy")
    game = jax.device_get(duel(jax.random.key(5), level, HUNTER, GAME.player("random")))
    length = int(game.length)
    assert game.states.time.tolist() == [min(t, length) for t in range(201)]
    assert np.all(game.rewards[length:] == 0) and np.all(game.rewards[: length - 1] == 0)
    assert int(game.outcome) == int(game.rewards[length - 1, 0])
    assert length == 200 or not game.states.alive[length].all()


@pytest.mark.parametrize("name", players.PLAYERS)
def test_players_are_found_by_name(name):
    assert GAME.player(name.upper()).name == name
    assert hash(GAME.player(name)) == hash(GAME.player(name))


def test_an_unknown_player_is_refused_naming_the_nearest():
    with pytest.raises(ValueError, match=r"unknown player 'hunt'; did you mean hunter"):
        GAME.player("hunt")
