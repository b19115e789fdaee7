"""Four structured prediction problems for one learner (cheap data, Figure 1.1)."""
