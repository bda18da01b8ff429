// A trained agent of LaserTag: a 3 x 3 convolution, an LSTM, an actor and a critic (agents/conv_lstm.py).
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const { VIEW } = game;
  const [CHANNELS, KERNEL] = [3, 3];
  const PLACES = VIEW - KERNEL + 1; // along one side, where the kernel fits

  /** Half precision, 2 bytes a number with the lower byte first, in single precision. */
  function widened(bytes) {
    const numbers = new Float32Array(bytes.length / 2);
    for (let i = 0; i < numbers.length; i += 1) {
      const bits = bytes[2 * i] | (bytes[2 * i + 1] << 8);
      const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
      const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
      numbers[i] = bits & 0x8000 ? -size : size;
    }
    return numbers;
  }

  /** The numbers of an array as the page holds it. */
  function decoded(array) {
    const text = atob(array.f16);
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const size = array.shape.reduce((product, side) => product * side, 1);
    if (bytes.length !== 2 * size) throw new Error(`${bytes.length} bytes for ${size} numbers`);
    return { shape: array.shape, numbers: widened(bytes) };
  }

  /** out += x W, W being [x.length, out.length] row by row; most inputs of a convolution are 0. */
  function addProduct(out, x, matrix) {
    const columns = out.length;
    for (let i = 0; i < x.length; i += 1) {
      const factor = x[i];
      if (factor === 0) continue;
      for (let j = 0, k = i * columns; j < columns; j += 1, k += 1) out[j] += factor * matrix[k];
    }
  }

  /** x W + b. */
  function dense(x, matrix, bias) {
    const out = Float32Array.from(bias);
    addProduct(out, x, matrix);
    return out;
  }

  function rectify(x) {
    for (let i = 0; i < x.length; i += 1) if (x[i] < 0) x[i] = 0;
    return x;
  }

  /** The features of a view: place after place, filter after filter. */
  function convolved(view, kernel, bias) {
    const patch = new Float32Array(KERNEL * KERNEL * CHANNELS);
    const features = new Float32Array(PLACES * PLACES * bias.length);
    for (let place = 0; place < PLACES * PLACES; place += 1) {
      const [row, column] = [Math.floor(place / PLACES), place % PLACES];
      for (let y = 0; y < KERNEL; y += 1) {
        const from = ((row + y) * VIEW + column) * CHANNELS;
        patch.set(view.subarray(from, from + KERNEL * CHANNELS), y * KERNEL * CHANNELS);
      }
      features.set(dense(patch, kernel, bias), place * bias.length);
    }
    return rectify(features);
  }

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  /** One step of the LSTM; column 4 u + k of its matrices is gate k of unit u: input, forget, cell, output. */
  function remembered(memory, x, cell) {
    const z = dense(x, cell.wx, cell.b);
    addProduct(z, memory.h, cell.wh);
    const [h, c] = [new Float32Array(memory.h.length), new Float32Array(memory.c.length)];
    for (let u = 0; u < h.length; u += 1) {
      c[u] = sigmoid(z[4 * u + 1]) * memory.c[u] + sigmoid(z[4 * u]) * Math.tanh(z[4 * u + 2]);
      h[u] = sigmoid(z[4 * u + 3]) * Math.tanh(c[u]);
    }
    return { h, c };
  }

  /** The layers of a head, `Dense_0` first. */
  function layers(arrays, head) {
    const found = [];
    while (arrays[`${head}.Dense_${found.length}.kernel`]) {
      const name = `${head}.Dense_${found.length}`;
      found.push({ kernel: arrays[`${name}.kernel`], bias: arrays[`${name}.bias`] });
    }
    return found;
  }

  /** The output of a head: ReLU after all layers but the last. */
  function headed(features, head) {
    return head.reduce((x, layer, i) => {
      const out = dense(x, layer.kernel, layer.bias);
      return i + 1 < head.length ? rectify(out) : out;
    }, features);
  }

  /** A policy from the arrays of an agent: `start()` is a memory, `step(memory, view)` what follows from it. */
  function policy(agent) {
    const arrays = {};
    for (const [path, array] of Object.entries(agent.arrays)) {
      arrays[path.replaceAll("/", ".")] = decoded(array).numbers;
    }
    const cell = { wx: arrays["lstm.wx"], wh: arrays["lstm.wh"], b: arrays["lstm.b"] };
    const [actor, critic] = [layers(arrays, "actor"), layers(arrays, "critic")];
    const units = cell.b.length / 4;
    return {
      start: () => ({ h: new Float32Array(units), c: new Float32Array(units) }),
      step(memory, view) {
        const after = remembered(memory, convolved(view, arrays["conv.kernel"], arrays["conv.bias"]), cell);
        return { memory: after, logits: headed(after.h, actor), value: headed(after.h, critic)[0] };
      },
    };
  }

  /** The probabilities of actions with these logits. */
  function probabilities(logits) {
    const most = Math.max(...logits);
    const weights = Array.from(logits, (logit) => Math.exp(logit - most));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  /** The action that a number between 0 and 1 picks. */
  function picked(chances, number) {
    let left = number;
    for (let action = 0; action < chances.length - 1; action += 1) {
      left -= chances[action];
      if (left < 0) return action;
    }
    return chances.length - 1;
  }

  /** Numbers in [0, 1), the same for the same seed: a xorshift over 32 bits, mixed by a product. */
  function dice(seed) {
    let bits = (Math.imul(seed ^ 0x5bd1e995, 0x2c1b3c6d) ^ 0x297a2d39) | 0 || 1;
    const roll = () => {
      bits ^= bits << 13;
      bits ^= bits >>> 17;
      bits ^= bits << 5;
      return (Math.imul(bits, 0x9e3779b1) >>> 0) / 2 ** 32;
    };
    for (let i = 0; i < 8; i += 1) roll(); // neighbouring seeds begin alike
    return roll;
  }

  Object.assign(game, { dice, picked, policy, probabilities, widened });
})(maestro);
