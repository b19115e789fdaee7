# Chapter 2: regularization, and loss functions of structured prediction.


rule evaluate_structured_losses:
    output:
        values="data/results/structured_losses/values.json",
        curves="data/results/structured_losses/curves.csv",
    message:
        "both rescaled hinge losses and the step loss"
    script:
        "../reproduction/experiments/structured_losses/evaluate.py"


# Sections 2.1 and 2.2: regularization.


rule evaluate_two_moons:
    output:
        values="data/results/two_moons/values.json",
        accuracies="data/results/two_moons/accuracies.csv",
        example="data/results/two_moons/example.npz",
    message:
        "two moons with few labels, with and without a Laplacian"
    script:
        "../reproduction/experiments/two_moons/evaluate.py"


rule evaluate_few_labels:
    output:
        values="data/results/few_labels/values.json",
        accuracies="data/results/few_labels/accuracies.csv",
    message:
        "digits with few labels, with and without a Laplacian"
    script:
        "../reproduction/experiments/few_labels/evaluate.py"


rule evaluate_level_sets:
    output:
        values="data/results/level_sets/values.json",
        zeros="data/results/level_sets/zeros.csv",
        example="data/results/level_sets/example.npz",
    message:
        "minima of random risks on level sets of regularizers"
    script:
        "../reproduction/experiments/level_sets/evaluate.py"
