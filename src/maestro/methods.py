"""The names: each method is a rule that weighs the co-players, and a source of levels."""

from maestro.curriculum import Method, Source, hardest, highest_regret, self_play, uniform

METHODS = {
    "dr-sp": Method(self_play, Source.NEW),
    "dr-fsp": Method(uniform, Source.NEW),
    "dr-pfsp": Method(hardest, Source.NEW),
    "plr-sp": Method(self_play, Source.SHARED),
    "plr-fsp": Method(uniform, Source.SHARED),
    "plr-pfsp": Method(hardest, Source.SHARED),
    "maestro": Method(highest_regret, Source.PER_COPLAYER),
    "maestro-r": Method(uniform, Source.PER_COPLAYER),
    "maestro-p": Method(hardest, Source.PER_COPLAYER),
}
