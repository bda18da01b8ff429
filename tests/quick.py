"""How the tests compile: quickly, as compiling takes longer here than running."""

from importlib.metadata import version

QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 1}
if tuple(map(int, version("jax").split(".")[:2])) < (0, 11):  # later ones know no other way
    QUICK["xla_cpu_use_fusion_emitters"] = False


def flags(**more):
    """As `XLA_FLAGS` for a process: one thread, and what is named."""
    wanted = {**QUICK, "xla_cpu_multi_thread_eigen": False, **more}
    return " ".join(f"--{name}={str(value).lower()}" for name, value in wanted.items())
