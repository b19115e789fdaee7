"""Structured output support vector machines and related methods.

- `StructuredSVM` and `StructuredRisk` for any `Task`; `MultiClassTask` is the simplest one;
- `TransferSVM` and `minimize_transfer`: learning from several data sets;
- `InvariantSVM` and `EquivariantTask`: invariance and equivariance under transformations of the inputs;
- `JKSE` and `LinearJKSE`: joint kernel support estimation;
- `BridgeRisk`: learning from partial annotations;
- losses, generalization bounds, and vicinal risks as functions.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "bounds": [
            "admissibility",
            "fitted_rate",
            "loss_stability",
            "partial_annotation_bound",
            "ranking_excess",
            "score_stability",
            "tight_score_stability",
        ],
        "bridge": ["BridgeRisk"],
        "equivariant": [
            "AngleRange",
            "EquivariantTask",
            "FiniteSet",
            "Identity",
            "Rotation",
            "Transformation",
        ],
        "invariant": ["InvariantSVM"],
        "jkse": ["JKSE", "LinearJKSE", "mirrored_svm", "one_class_weights"],
        "losses": [
            "convexity_violation",
            "margin_rescaled_hinge",
            "rescaled_hinge",
            "slack_rescaled_hinge",
            "step_loss",
        ],
        "structured_svm": [
            "BatchTask",
            "BlockTask",
            "MultiClassTask",
            "StructuredRisk",
            "StructuredSVM",
            "Task",
            "VirtualTask",
        ],
        "transfer": ["DifferenceRisk", "TransferResult", "minimize_transfer", "transfer_cccp"],
        "transfer_svm": ["TransferSVM"],
        "vicinal": [
            "equivariant_losses",
            "is_ordered",
            "lemma_bound",
            "scaled_family",
            "scaled_step_losses",
            "smallest_members",
            "step_family",
            "vicinal_risk",
        ],
    },
)
