"""The paper's theory on games small enough to be solved: exact equilibria, and the loop that leads there."""
