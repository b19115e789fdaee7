"""Sparse linear models: the k-support norm (thesis, section 4.2) and the elastic net for few samples."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "elastic_net": ["DistinctColumns", "ElasticNetFits", "ElasticNetGrid", "fit_elastic_nets"],
        "ksupport_estimators": ["KSupportClassifier", "KSupportPath", "KSupportRegressor", "ksupport_path"],
        "ksupport_norm": ["dual_norm", "norm", "prox"],
    },
)
