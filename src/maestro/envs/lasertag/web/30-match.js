// One game between two players, without anything of the page; the same seed and keys give the same game.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const EVEN = [0.2, 0.2, 0.2, 0.2, 0.2];
  const plain = (name, about, act) => ({ name, about, start: () => null, act });

  // A player: `start()` is its memory; `act(memory, view, number, typed)` says {memory, action, value, chances}.
  const still = plain("stands still", "does nothing at all", () => ({ memory: null, action: game.NOOP }));
  const random = plain("random", "takes any action, all equally likely", (memory, view, number) => ({
    memory,
    action: game.picked(EVEN, number),
    chances: EVEN,
  }));
  const human = plain("you", "by the keyboard", (memory, view, number, typed) => ({ memory, action: typed }));
  human.human = true;

  /** An agent of the page as a player; its arrays are decoded when it first plays. */
  function trained(agent) {
    let network = null;
    return {
      name: agent.name,
      about: agent.about,
      start() {
        network = network || game.policy(agent);
        return network.start();
      },
      act(memory, view, number) {
        const { memory: after, logits, value } = network.step(memory, view);
        const chances = game.probabilities(logits);
        return { memory: after, action: game.picked(chances, number), value, chances };
      },
    };
  }

  /** The seat of the winner, or -1 for a draw, by the rewards of the last step. */
  function winner(reward) {
    if (reward[0] === reward[1]) return -1;
    return reward[0] > reward[1] ? 0 : 1;
  }

  /** A game that waits for its next turn. */
  function match(level, players, seed) {
    const roll = game.dice(seed);
    let memories = players.map((player) => player.start());
    const now = { level, players, state: game.reset(level), minds: [null, null], over: false, won: null };

    /** One step; `typed` is the action of whoever plays by hand. */
    now.turn = function (typed) {
      if (now.over) return;
      const numbers = [roll(), roll(), roll()]; // as many in every step, whoever plays
      now.minds = players.map((player, seat) =>
        player.act(memories[seat], game.observe(level, now.state, seat), numbers[seat], typed));
      memories = now.minds.map((mind) => mind.memory);
      const actions = now.minds.map((mind) => mind.action);
      const after = game.step(level, now.state, actions, numbers[2] < 0.5 ? 0 : 1);
      now.state = after.state;
      now.over = after.terminated || after.truncated;
      if (now.over) now.won = winner(after.reward);
    };
    return now;
  }

  Object.assign(game, { human, match, random, still, trained });
})(maestro);
