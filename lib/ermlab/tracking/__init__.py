"""Tracking of cells by assignment with learned scores (cheap-data chapter).

Detect cells (`detect`, `film_of_images`), train a `CellTracker` on fully or partially annotated films, choose
what to annotate with an `ActiveLearner`, and read and write files of the Cell Tracking Challenge.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, extra="tracking")
