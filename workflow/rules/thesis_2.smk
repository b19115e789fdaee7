# Chapter 2: loss functions of structured prediction.


rule evaluate_structured_losses:
    output:
        values="data/results/structured_losses/values.json",
        curves="data/results/structured_losses/curves.csv",
    message:
        "both rescaled hinge losses and the step loss"
    script:
        "../reproduction/experiments/structured_losses/evaluate.py"
