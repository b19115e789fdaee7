# Chapter 2: regularization, and loss functions and inference of structured prediction.


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


# Inference and loss-augmented inference (section 2.3.2).


rule evaluate_exact_inference:
    output:
        values="data/results/exact_inference/values.json",
        trials="data/results/exact_inference/trials.csv",
        learned="data/results/exact_inference/learned.csv",
    message:
        "every inference method against enumeration"
    script:
        "../reproduction/experiments/exact_inference/evaluate.py"


rule prepare_words:
    input:
        receipt="data/receipts/letters.json",
    output:
        words="data/processed/handwritten_words/words.npz",
    message:
        "letters of the handwritten words"
    script:
        "../reproduction/experiments/handwritten_words/prepare.py"


rule train_words:
    input:
        words="data/processed/handwritten_words/words.npz",
    output:
        trials="data/processed/handwritten_words/trials_{study}.csv",
        models="data/processed/handwritten_words/models_{study}.npz",
    wildcard_constraints:
        study="given|shuffled|unseen",
    params:
        study="{study}",
        folds=lambda wildcards: config["handwritten_words"][
            "folds" if wildcards.study == "given" else "control_folds"
        ],
    message:
        "letters alone and chains, words {wildcards.study}"
    script:
        "../reproduction/experiments/handwritten_words/train.py"


rule evaluate_words:
    input:
        receipt="data/receipts/letters.json",
        words="data/processed/handwritten_words/words.npz",
        models="data/processed/handwritten_words/models_given.npz",
        trials=expand(
            "data/processed/handwritten_words/trials_{study}.csv", study=["given", "shuffled", "unseen"]
        ),
    output:
        values="data/results/handwritten_words/values.json",
        trials="data/results/handwritten_words/trials.csv",
        examples="data/results/handwritten_words/examples.npz",
    message:
        "letter and word errors of both models"
    script:
        "../reproduction/experiments/handwritten_words/evaluate.py"


snake_models = ["window_3", "window_7", "forest_7", "directions", "colors", "shuffled"]


rule prepare_snakes:
    input:
        receipt="data/receipts/snakes.json",
    output:
        images="data/processed/snake_fields/images.npz",
    message:
        "cells of the snakes"
    script:
        "../reproduction/experiments/snake_fields/prepare.py"


rule train_snakes:
    input:
        images="data/processed/snake_fields/images.npz",
    output:
        labels="data/processed/snake_fields/labels_{model}.npz",
    wildcard_constraints:
        model="|".join(snake_models),
    params:
        model="{model}",
    message:
        "snakes labeled by {wildcards.model}"
    script:
        "../reproduction/experiments/snake_fields/train.py"


rule evaluate_snakes:
    input:
        receipt="data/receipts/snakes.json",
        labels=expand("data/processed/snake_fields/labels_{model}.npz", model=snake_models),
    output:
        values="data/results/snake_fields/values.json",
        images="data/results/snake_fields/images.csv",
        labels="data/results/snake_fields/labels.npz",
    message:
        "accuracies on the snakes"
    script:
        "../reproduction/experiments/snake_fields/evaluate.py"
