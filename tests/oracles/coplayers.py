"""Slow twins of the rules that weigh the co-players, over the N frozen members only (Eq. 2, FSP, PFSP).

What Eq. 2 compares may be another estimate than the highest score, with optimism: not in the paper.
"""

import math


def uniform(N):
    """FSP: every member alike."""
    return [1.0 / N] * N


def highest_regret(max_scores, lam, empty="pessimistic"):
    """Eq. 2: P(k) = lambda/N + [k in M] (1 - lambda)/|M|, M the members of highest maximum score."""
    N = len(max_scores)
    if empty not in ("pessimistic", "optimistic"):
        raise ValueError(f"empty is {empty!r}, allowed: 'pessimistic', 'optimistic'")
    if all(score == -math.inf for score in max_scores):
        return uniform(N)
    stand_in = math.inf if empty == "optimistic" else -math.inf
    scores = [stand_in if score == -math.inf else score for score in max_scores]
    maximizers = [k for k in range(N) if scores[k] == max(scores)]
    return [lam / N + (1 - lam) / len(maximizers) * (k in maximizers) for k in range(N)]


def expected_score(scores, chances):
    """What would be served: the mean of the scores by the chances of their levels; -inf of nothing."""
    return sum(p * s for p, s in zip(chances, scores, strict=True)) if scores else -math.inf


def top_mean(scores):
    """Mean of the highest tenth of the scores, rounded up, ten at least, all if fewer; -inf of nothing."""
    if not scores:
        return -math.inf
    count = min(len(scores), max(10, math.ceil(len(scores) / 10)))
    return sum(sorted(scores, reverse=True)[:count]) / count


def optimistic(estimates, c, played, since):
    """m_k + c D sqrt(log(1 + C_k) / (1 + n_k)), D the range of the finite m; infinite ones stay."""
    finite = [m for m in estimates if math.isfinite(m)]
    spread = max(finite) - min(finite) if finite else 0.0
    raised = []
    for m, n, cycles in zip(estimates, played, since, strict=True):
        extra = c * spread * math.sqrt(math.log(1 + max(cycles, 1)) / (1 + n))
        raised.append(m + extra if math.isfinite(m) else m)
    return raised


def hardest(win_rates, power=2.0, smooth=0.1):
    """PFSP: f_hard(x) = (1 - x)^power normalized (uniform if all are 0), `smooth` added, normalized again."""
    worst = max(1.0 - x for x in win_rates)  # relative to it, so that not all underflow
    weights = [((1.0 - x) / worst) ** power if worst > 0 else 0.0 for x in win_rates]
    total = sum(weights)
    shares = [w / total for w in weights] if total > 0 else uniform(len(weights))
    raised = [share + smooth for share in shares]
    return [share / sum(raised) for share in raised]


def restricted(weights, warm):
    """Weights renormalized among the warm members; uniform among them where they have no weight at all."""
    if not any(warm):
        raise ValueError("warm has no true entry: nothing can be replayed")
    kept = [w if is_warm else 0.0 for w, is_warm in zip(weights, warm, strict=True)]
    if sum(kept) == 0:
        kept = [1.0 if is_warm else 0.0 for is_warm in warm]
    return [w / sum(kept) for w in kept]


def outcome(student_return, coplayer_return):
    """1 for a win of the student, 0.5 for a draw, 0 for a loss; rounding decides no game."""
    largest = 1 + abs(student_return) + abs(coplayer_return)
    if abs(student_return - coplayer_return) <= 1e-6 * largest:
        return 0.5
    return 1.0 if student_return > coplayer_return else 0.0


class WinMemory:
    """The outcomes of the last `size` finished episodes against each member, oldest forgotten first."""

    def __init__(self, size=128):
        self.size = size
        self.outcomes: dict[int, list[float]] = {}

    def record(self, member, outcomes):
        """Append outcomes in the order given."""
        for result in outcomes:
            self.outcomes.setdefault(member, []).append(result)
            self.outcomes[member] = self.outcomes[member][-self.size :]

    def win_rate(self, member):
        """Mean outcome against the member, 0.5 before the first episode."""
        seen = self.outcomes.get(member, [])
        return sum(seen) / len(seen) if seen else 0.5
