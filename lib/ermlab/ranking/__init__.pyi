from .estimator import RankingSVM as RankingSVM
from .invariant_ranking import InvariantRankingRisk as InvariantRankingRisk
from .invariant_ranking import InvariantRankingSVM as InvariantRankingSVM
from .oracle import Oracle as Oracle
from .oracle import most_violated as most_violated
from .oracle import pairwise_risk as pairwise_risk
from .risk import RankingRisk as RankingRisk
