from .chain_crf import ChainCRF as ChainCRF
from .chains import chain_marginals as chain_marginals
from .chains import max_sum_chain as max_sum_chain
from .labeling import Labeling as Labeling
from .marginals import Marginals as Marginals
from .marginals import tree_marginals as tree_marginals
from .potentials import labeling_score as labeling_score
from .trees import max_sum_tree as max_sum_tree
