"""PPO of Stable-Baselines3 learns a game through the vector view; then it plays fresh games.

pip install maestro-ued[sb3]
python examples/ppo_stable_baselines3.py                       # level Empty against random, a minute or two
python examples/ppo_stable_baselines3.py --level FourRooms --opponent turret --steps 1000000
"""

import argparse
import time

import numpy as np
import torch
from stable_baselines3 import PPO

from maestro import views
from maestro.views.sb3 import StableVecEnv

WORKERS = 64  # games side by side


def scores(model, names, games, seed):
    """How each of many games ended for the model: its score in the last step."""
    view = views.vector(games, autoreset_mode="SameStep", **names)
    obs, _ = view.reset(seed=seed)
    result = np.full(games, np.nan)
    while np.isnan(result).any():
        obs, _, terminated, truncated, infos = view.step(model.predict(obs)[0])
        ended = (terminated | truncated) & np.isnan(result)  # later games in the same place do not count
        result[ended] = infos["final_info"]["score"][ended] if ended.any() else 0
    return result


def difference(before, after):
    """(low, high): a 95 % confidence interval of how much the share of wins has grown."""
    shares = [np.mean(score > 0) for score in (before, after)]
    half = 1.96 * np.sqrt(sum(p * (1 - p) / len(before) for p in shares))
    return shares[1] - shares[0] - half, shares[1] - shares[0] + half


def main(arguments=None):
    """Play, train, play again; (low, high) of the difference in wins."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", default="Empty", help="a name, a file, or random")
    parser.add_argument("--opponent", default="random", help="a name, or the .safetensors file of an agent")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--games", type=int, default=200, help="before and after training")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(
        1
    )  # for so small a network more threads wait longer for each other than they compute
    names = {"level": options.level, "opponent": options.opponent}
    env = StableVecEnv(views.vector(WORKERS, autoreset_mode="SameStep", **names))
    settings = {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}
    model = PPO("MlpPolicy", env, gamma=0.99, seed=options.seed, device="cpu", **settings)
    before = scores(model, names, options.games, seed=10_000)
    began = time.monotonic()
    model.learn(options.steps)
    seconds = time.monotonic() - began
    after = scores(model, names, options.games, seed=20_000)
    low, high = difference(before, after)
    print(f"{model.num_timesteps} steps in {seconds:.0f} s")
    for when, score in (("before", before), ("after", after)):
        won, lost = np.mean(score > 0), np.mean(score < 0)
        print(f"{when}: won {won:.1%}, lost {lost:.1%} of {options.games} games")
    print(f"the share of wins has grown by {low:+.1%} to {high:+.1%} (95 %)")
    return low, high


if __name__ == "__main__":
    main()
