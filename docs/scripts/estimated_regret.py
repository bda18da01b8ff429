"""Print the tables of docs/theory.md on estimated regrets.

python docs/scripts/estimated_regret.py [games] [steps] [seed]
"""

import sys

import numpy as np

from maestro.theory import chance

GAMES, STEPS, SEED = 20, 5_000, 0


def table(found):
    """A row for each variant: median excess, that of the worst game, and the share of hopeless levels."""
    excesses, shares = found
    heads = [cell for view in chance.VIEWS for cell in (view, "hopeless")]
    print("| " + " | ".join(["score, rule", *heads]) + " |")
    print("|---" * (1 + len(heads)) + "|")
    ends = {(one.view, one.name): one.end for one in excesses}
    for name in dict.fromkeys(one.name for one in excesses):
        cells = []
        for view in chance.VIEWS:
            end = ends[view, name]
            cells += [f"{np.median(end):.3f} ({end.max():.2f})", f"{shares[view, name]:.0%}"]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)
    print()


def main():
    given = [int(word) for word in sys.argv[1:]]
    games, steps, seed = given + [GAMES, STEPS, SEED][len(given) :]
    table(chance.estimates(seed, games, steps))
    table(chance.populations(seed, games, steps))


if __name__ == "__main__":
    main()
