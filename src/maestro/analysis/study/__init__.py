"""A study as one file: what it trains, plays and draws, what of that is done, and how long the rest takes."""
