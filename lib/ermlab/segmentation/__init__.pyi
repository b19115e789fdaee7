from .labeling import Labeling as Labeling
from .potentials import labeling_score as labeling_score
