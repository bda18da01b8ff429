// How a game stands, in words: for the line beside the board, and for who cannot see it.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const NAMES = ["Red", "Blue"];
  const nameOf = (table, seat) => `${NAMES[seat]} (${table.players[seat].name})`;

  /** What has happened, or what to do now. */
  function telling(table) {
    const { match } = table;
    if (match.over && match.won < 0) return `A draw after ${match.state.time} steps.`;
    if (match.over) return `${nameOf(table, match.won)} won after ${match.state.time} steps.`;
    if (table.running()) return "The game is on.";
    if (table.byHand() && !table.played()) return "Click the board, then press a key to begin.";
    if (table.byHand() && !table.pace) return "Your move.";
    return table.played() ? "Paused." : "Press Start.";
  }

  function placed(state, seat, hidden) {
    if (!state.alive[seat]) return `${NAMES[seat]} is tagged`;
    if (hidden.has(game.cellOf(state.position[seat]))) return `${NAMES[seat]} is out of sight`;
    const [row, column] = state.position[seat];
    return `${NAMES[seat]} in row ${row}, column ${column}, facing ${game.FACINGS[state.facing[seat]]}`;
  }

  /** The position, without what is in hidden cells. */
  function pictured({ state }, hidden) {
    const bolts = state.bolts.reduce((count, code, cell) => count + (code && !hidden.has(cell) ? 1 : 0), 0);
    const flying = `${bolts} ${bolts === 1 ? "bolt" : "bolts"} in flight`;
    return `${placed(state, 0, hidden)}; ${placed(state, 1, hidden)}; ${flying}.`;
  }

  /** The score: games won by A, drawn, won by B. */
  const counted = ([red, drawn, blue]) => `Games won: red ${red}, blue ${blue}; drawn ${drawn}`;

  game.words = { counted, pictured, telling };
})(maestro);
