"""MAESTRO: a joint curriculum over levels and co-players for two-player games."""

__version__ = "0.2.0"
