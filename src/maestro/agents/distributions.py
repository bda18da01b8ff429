"""What an agent's output means: distributions over actions, as functions of the network's output."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, digamma
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro.envs.base import Box, Discrete

FIRST_STD = 0.5  # of a Gaussian whose output is 0, in half widths of the box
LEAST_STD = 0.01
SPREAD = math.log(math.expm1(FIRST_STD - LEAST_STD))  # what is added to an output, so that 0 means FIRST_STD
MOST = 1000.0  # that a parameter of a Beta has beyond 1; a standard deviation is then .01 of the box
EDGE = 1e-6  # how far actions stay from the ends of a box, in widths, for densities there may be 0
CANDIDATES = 5  # for a gamma variate; each is accepted with probability .95 at least
FARTHEST = 100.0  # deviations from the mean; beyond, probabilities are 0 and gradients would not be finite


@runtime_checkable
class Distribution(Protocol):
    """A family of distributions; `output` is what the policy head produces."""

    @property
    def outputs(self) -> int:
        """How many numbers the policy head produces."""

    def sample(self, key: PRNGKeyArray, output: Array) -> Array: ...

    def log_prob(self, output: Array, action: Array) -> Array: ...

    def entropy(self, output: Array) -> Array: ...


@dataclass(frozen=True)
class Categorical:
    """One of finitely many actions; the output is their logits."""

    outputs: int

    def noise(self, key: PRNGKeyArray) -> Float[Array, " A"]:
        """Gumbel noise, one draw for one key."""
        return jax.random.gumbel(key, (self.outputs,))

    def pick(self, noise: Float[Array, " A"], output: Float[Array, " A"]) -> Int[Array, ""]:
        """The action that is largest with its noise."""
        return jnp.argmax(output + noise, axis=-1).astype(jnp.int32)

    def sample(self, key: PRNGKeyArray, output: Float[Array, " A"]) -> Int[Array, ""]:
        """An action, one for one key."""
        return self.pick(self.noise(key), output)

    def log_prob(self, output: Float[Array, "*b A"], action: Int[Array, "*b"]) -> Float[Array, "*b"]:
        """log p(action)."""
        chosen = jax.nn.one_hot(action, output.shape[-1], dtype=bool)
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(output), 0.0), axis=-1)

    def entropy(self, output: Float[Array, "*b A"]) -> Float[Array, "*b"]:
        """- sum p log p."""
        log_p = jax.nn.log_softmax(output)
        return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)


@dataclass(frozen=True)
class Gaussian:
    """Independent normal numbers, clipped to a box; the output is their means, then their spreads.

    What is beyond a bound becomes the bound, which thus has a probability of its own (Fujita and Maeda,
    2018); inside there is a density. Both are those of the action that is played. Lengths are in half
    widths of the box, from its center, so that outputs and entropies mean the same in every unit.
    """

    box: Box

    @property
    def outputs(self) -> int:
        return 2 * self.box.size

    @property
    def center(self) -> float:
        return (self.box.high + self.box.low) / 2

    @property
    def half(self) -> float:
        return (self.box.high - self.box.low) / 2

    def moments(self, output: Float[Array, "*b O"]) -> tuple[Float[Array, "*b A"], Float[Array, "*b A"]]:
        """Mean and standard deviation."""
        mean, spread = jnp.split(output, 2, axis=-1)
        return mean, LEAST_STD + jax.nn.softplus(spread + SPREAD)

    def deviations(self, output: Float[Array, "*b O"], place: Array | float) -> Float[Array, "*b A"]:
        """How far from the mean a place is (-1 and 1 are the ends of the box), in standard deviations."""
        mean, std = self.moments(output)
        return jnp.clip((place - mean) / std, -FARTHEST, FARTHEST)

    def sample(self, key: PRNGKeyArray, output: Float[Array, " O"]) -> Float[Array, " A"]:
        """An action inside the box, one for one key."""
        mean, std = self.moments(output)
        free = self.center + self.half * (mean + std * jax.random.normal(key, mean.shape))
        return jnp.clip(free, self.box.low, self.box.high)

    def log_prob(self, output: Float[Array, "*b O"], action: Float[Array, "*b A"]) -> Float[Array, "*b"]:
        """For each entry the logarithm of its density, or of its probability where it is a bound; summed."""
        std, low, high = self.moments(output)[1], self.deviations(output, -1.0), self.deviations(output, 1.0)
        inside = norm.logpdf(self.deviations(output, (action - self.center) / self.half)) - jnp.log(std)
        ends = jnp.where(action <= self.box.low, norm.logcdf(low), norm.logcdf(-high))
        at_end = (action <= self.box.low) | (action >= self.box.high)
        return jnp.sum(jnp.where(at_end, ends, inside), axis=-1)

    def entropy(self, output: Float[Array, "*b O"]) -> Float[Array, "*b"]:
        """- integral p log p inside, - p log p of each bound; summed over the entries."""
        std, low, high = self.moments(output)[1], self.deviations(output, -1.0), self.deviations(output, 1.0)
        share = norm.cdf(high) - norm.cdf(low)
        inside = share * (0.5 * math.log(2 * math.pi * math.e) + jnp.log(std))
        inside += 0.5 * (low * norm.pdf(low) - high * norm.pdf(high))
        ends = [norm.cdf(z) * norm.logcdf(z) for z in (low, -high)]
        return jnp.sum(inside - ends[0] - ends[1], axis=-1)


@dataclass(frozen=True)
class Beta:
    """Independent Beta numbers, stretched over a box; the output becomes their alphas, then their betas.

    Both exceed 1, so that there is one mode, and it is inside (Chou, Maturana and Scherer, 2017). Lengths
    are in widths of the box, so that outputs and entropies mean the same in every unit.
    """

    box: Box

    @property
    def outputs(self) -> int:
        return 2 * self.box.size

    @property
    def width(self) -> float:
        return self.box.high - self.box.low

    def parameters(self, output: Float[Array, "*b O"]) -> tuple[Float[Array, "*b A"], Float[Array, "*b A"]]:
        """Alpha and beta: 1 + softplus."""
        alpha, beta = jnp.split(1 + jax.nn.softplus(jnp.minimum(output, MOST)), 2, axis=-1)
        return alpha, beta

    def sample(self, key: PRNGKeyArray, output: Float[Array, " O"]) -> Float[Array, " A"]:
        """An action inside the box, one for one key: of two gamma variates the share of the first."""
        first, second = gamma(key, jnp.stack(self.parameters(output)))
        share = jnp.clip(first / (first + second), EDGE, 1 - EDGE)
        return self.box.low + self.width * share

    def log_prob(self, output: Float[Array, "*b O"], action: Float[Array, "*b A"]) -> Float[Array, "*b"]:
        """The logarithm of each density per width of the box, summed; an end counts as just inside."""
        alpha, beta = self.parameters(output)
        share = jnp.clip((action - self.box.low) / self.width, EDGE, 1 - EDGE)
        inside = (alpha - 1) * jnp.log(share) + (beta - 1) * jnp.log1p(-share)
        return jnp.sum(inside - betaln(alpha, beta), axis=-1)

    def entropy(self, output: Float[Array, "*b O"]) -> Float[Array, "*b"]:
        """- integral p log p, summed over the entries; 0 is that of the uniform distribution."""
        alpha, beta = self.parameters(output)
        both = digamma(alpha + beta)
        spread = (alpha - 1) * (both - digamma(alpha)) + (beta - 1) * (both - digamma(beta))
        return jnp.sum(betaln(alpha, beta) + spread, axis=-1)


def gamma(key: PRNGKeyArray, shape: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Gamma variates of shapes of at least 1 (Marsaglia and Tsang, 2000), without a loop.

    An accelerator waits for every turn of a loop whose end depends on data. So all candidates are drawn at
    once and the first that is accepted is taken; where none is, once in 3 million at most, the mode is near.
    """
    normal_key, uniform_key = jax.random.split(key)
    size = (CANDIDATES, *shape.shape)
    scale = shape - 1 / 3
    d = jnp.broadcast_to(scale[None], size)
    x, u = jax.random.normal(normal_key, size), jax.random.uniform(uniform_key, size)
    v = (1 + x / jnp.sqrt(9 * d)) ** 3
    accepted = (v > 0) & (jnp.log(u) < x * x / 2 + d * (1 - v + jnp.log(jnp.where(v > 0, v, 1.0))))
    first = jax.nn.one_hot(jnp.argmax(accepted, axis=0), CANDIDATES, axis=0, dtype=bool)
    found = jnp.sum(jnp.where(first & accepted, v, 0.0), axis=0)
    return scale * jnp.where(jnp.any(accepted, axis=0), found, 1.0)


def in_two(distribution: Distribution) -> tuple[Callable[..., Any], Callable[..., Array]]:
    """`sample` as (what is made of a key, the action by that and an output): the first needs no network.

    `Categorical` has both. For others, and for classes derived from it that draw in their own way, the key
    itself is the noise.
    """

    def owner(name: str) -> type | None:
        return next((kind for kind in type(distribution).__mro__ if name in vars(kind)), None)

    if isinstance(distribution, Categorical) and owner("sample") is owner("pick") is owner("noise"):
        return distribution.noise, distribution.pick
    return lambda key: key, distribution.sample


def over(action: Discrete | Box) -> Distribution:
    """The usual distribution over the actions of a game."""
    return Categorical(action.num) if isinstance(action, Discrete) else Gaussian(action)
