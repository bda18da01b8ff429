"""Load a trained agent from its file and let it play, a step at a time.

python examples/play_agent.py agents/student-0.safetensors --game ring:GAME
python examples/play_agent.py runs/my-run/agents/student-0.safetensors --level FourRooms --opponent hunter
"""

import argparse

import jax
import jax.numpy as jnp

from maestro import games
from maestro.envs.players import Sight
from maestro.runs import agent_file


def play(key, env, level, players):
    """Every (state, scores of this step) of a game; `maestro.evaluation.play.episode` compiles all of it."""

    @jax.jit
    def turn(key, state, obs, memories):
        *keys, step_key = jax.random.split(key, 3)
        acted = []
        for seat, player in enumerate(players):
            view = jax.tree.map(lambda x, seat=seat: x[seat], obs)
            acted.append(player.act(keys[seat], memories[seat], view, Sight(level, state, seat)))
        memories, actions = zip(*acted, strict=True)
        state, obs, _, terminated, truncated, info = env.step(step_key, level, state, jnp.stack(actions))
        return state, obs, memories, info["score"], terminated | truncated

    state, obs = jax.jit(env.reset)(key, level)
    memories, over, steps = tuple(player.start() for player in players), False, 0
    yield state, jnp.zeros(2)
    while not over:
        steps += 1
        state, obs, memories, score, over = turn(jax.random.fold_in(key, steps), state, obs, memories)
        yield state, score


def main(arguments=None):
    """Play one game and show how it went."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("agent", help="a .safetensors file")
    parser.add_argument("--game", default="lasertag", help="a known game, or module:NAME")
    parser.add_argument("--level", default="", help="a level's name; without it a generated one")
    parser.add_argument("--opponent", default="random", help="a scripted player of the game")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    game, key = games.find(options.game), jax.random.key(options.seed)
    env = game.environment()
    level = game.levels.load(options.level) if options.level else env.sample_level(key)
    players = agent_file.load(options.agent, game), game.player(options.opponent)
    total = jnp.zeros(2)
    for steps, (state, score) in enumerate(play(key, env, level, players)):
        total += score
        print(f"step {steps}\n{game.draw.terminal(level, state)}")
    print(f"the student's score is {float(total[0]):g}, that of {options.opponent} {float(total[1]):g}")


if __name__ == "__main__":
    main()
