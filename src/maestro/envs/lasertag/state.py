"""A moment of LaserTag."""

from flax.struct import PyTreeNode

from maestro.trees import Leaf


class State(PyTreeNode):
    """Where everything is. A cell holds at most one of wall, agent and bolt."""

    position: Leaf  # [2, 2]; (row, column), the outer wall being row 0 and column 0
    facing: Leaf  # [2]; 0 up, 1 right, 2 down, 3 left
    alive: Leaf  # bool [2]
    bolts: Leaf  # uint8 [17, 17]; code (see bolts.py) of the bolt in each cell, 0 for none
    time: Leaf  # steps played
