"""How a process of the tests traces programs: with room on its stack, and seldom looking for garbage."""

import gc
import threading


def roomy(function, *arguments):
    """Call something with a megabyte ahead on Python's stack, which otherwise grows in pieces of 16 KiB.

    Programs are traced in deep calls. Where a piece ends among them, another is mapped and given back at
    each call: a hundred thousand times for one program.
    """
    return function(*arguments)


# A piece is as large as a call asks for, rounded up to a power of two: one half here, one for what follows.
roomy.__code__ = roomy.__code__.replace(co_stacksize=(1 << 17) + 1000)


def roomy_threads():
    """Let every thread that is started from here on have as much ahead."""
    run = threading.Thread.run
    threading.Thread.run = lambda thread: roomy(run, thread)


def spare():
    """Modules stay for good, and traced programs leave little garbage: look for it seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
