# Section 3.1: joint kernel support estimation.

localisation = config["joint_kernel_support"]
localisation_seeds = range(localisation["seeds"])
localisation_size = {name: localisation[name] for name in ("scenes", "crops")}
localisation_settings = {
    name: localisation[name]
    for name in (
        "n_words",
        "levels",
        "normalisation",
        "margin",
        "max_boxes",
        "max_overlap",
        "ssvm_tol",
        "C",
        "nu",
    )
}


rule prepare_car_words:
    input:
        receipt="data/receipts/uiuc_cars.json",
    output:
        words="data/processed/joint_kernel_support/words_{seed}.npz",
    params:
        seed=seed_of,
    message:
        "visual words of the car images, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/joint_kernel_support/prepare.py"


rule train_car_localisers:
    input:
        receipt="data/receipts/uiuc_cars.json",
        words="data/processed/joint_kernel_support/words_{seed}.npz",
    output:
        detections="data/processed/joint_kernel_support/detections_{seed}.csv",
        choices="data/processed/joint_kernel_support/choices_{seed}.csv",
        labels="data/processed/joint_kernel_support/labels_{seed}.csv",
        timings="data/processed/joint_kernel_support/timings_{seed}.json",
    log:
        "logs/train_car_localisers/{seed}.log",
    benchmark:
        "logs/benchmarks/train_car_localisers/{seed}.tsv"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/joint_kernel_support/train.py"),
        size=localisation_size,
        seed=config["seed"],
        noise=localisation["noise"],
        settings=localisation_settings,
    message:
        "structured SVM and joint kernel support estimation under label noise, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/joint_kernel_support/train.py"


rule train_car_controls:
    input:
        receipt="data/receipts/uiuc_cars.json",
        words="data/processed/joint_kernel_support/words_0.npz",
    output:
        variants="data/processed/joint_kernel_support/variants.csv",
        validated="data/processed/joint_kernel_support/validated.csv",
    log:
        "logs/train_car_controls.log",
    benchmark:
        "logs/benchmarks/train_car_controls.tsv"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/joint_kernel_support/train_controls.py"),
        size=localisation_size,
        controls={
            "seed": config["seed"],
            "noise": localisation["noise"],
            "cross_validated": localisation["cross_validated"],
            "folds": localisation["folds"],
        },
        settings=localisation_settings,
    message:
        "the decisions behind the localisers, and cross-validation"
    script:
        "../reproduction/experiments/joint_kernel_support/train_controls.py"


rule evaluate_joint_kernel_support:
    input:
        **{
            name: expand(
                f"data/processed/joint_kernel_support/{name}_{{seed}}.{ending}", seed=localisation_seeds
            )
            for name, ending in (
                ("detections", "csv"),
                ("choices", "csv"),
                ("labels", "csv"),
                ("timings", "json"),
            )
        },
        receipt="data/receipts/uiuc_cars.json",
        variants="data/processed/joint_kernel_support/variants.csv",
        validated="data/processed/joint_kernel_support/validated.csv",
    output:
        values="data/results/joint_kernel_support/values.json",
        curves="data/results/joint_kernel_support/curves.csv",
        variants="data/results/joint_kernel_support/variants.csv",
        validated="data/results/joint_kernel_support/validated.csv",
        examples="data/results/joint_kernel_support/examples.npz",
    log:
        "logs/evaluate_joint_kernel_support.log",
    benchmark:
        "logs/benchmarks/evaluate_joint_kernel_support.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/joint_kernel_support/evaluate.py"),
        size=localisation_size,
    message:
        "equal error rates of the localised cars"
    script:
        "../reproduction/experiments/joint_kernel_support/evaluate.py"


# Section 3.2: structured output ranking.


rule evaluate_ranking_oracle:
    output:
        values="data/results/ranking_oracle/values.json",
        timings="data/results/ranking_oracle/timings.json",
    log:
        "logs/evaluate_ranking_oracle.log",
    benchmark:
        "logs/benchmarks/evaluate_ranking_oracle.tsv"
    threads: 2
    resources:
        mem_mb=8000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/ranking_oracle/evaluate.py"),
        seed=config["seed"],
        largest=config["ranking_oracle"]["largest"],
        levels=config["ranking_oracle"]["levels"],
        training=config["ranking_oracle"]["training"],
        problems=config["ranking_oracle"]["problems"],
    message:
        "ranking oracle against brute force, numpy's sort and the clock"
    script:
        "../reproduction/experiments/ranking_oracle/evaluate.py"


rule evaluate_ranking_bounds:
    output:
        values="data/results/ranking_bounds/values.json",
        excess="data/results/ranking_bounds/excess.csv",
        ratios="data/results/ranking_bounds/ratios.csv",
        changes="data/results/ranking_bounds/changes.csv",
    log:
        "logs/evaluate_ranking_bounds.log",
    benchmark:
        "logs/benchmarks/evaluate_ranking_bounds.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/ranking_bounds/evaluate.py"),
        seed=config["seed"],
        trials=config["ranking_bounds"]["trials"],
    message:
        "generalisation bounds of ranking, and measured stability against them"
    script:
        "../reproduction/experiments/ranking_bounds/evaluate.py"


cascade_splits = range(config["window_cascade"]["splits"])


rule prepare_windows:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        train=expand("data/processed/window_cascade/train_{split}.npz", split=cascade_splits),
        test=expand("data/processed/window_cascade/test_{split}.npz", split=cascade_splits),
    log:
        "logs/prepare_windows.log",
    benchmark:
        "logs/benchmarks/prepare_windows.tsv"
    threads: 2
    resources:
        mem_mb=6000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/window_cascade/prepare.py"),
        seed=config["seed"],
        images=config["window_cascade"]["images"],
        windows=config["window_cascade"]["windows"],
    message:
        "initial windows of the images, and the cues of each"
    script:
        "../reproduction/experiments/window_cascade/prepare.py"


rule train_window_cascade:
    input:
        windows="data/processed/window_cascade/train_{split}.npz",
    output:
        model="data/processed/window_cascade/model_{split}.json",
    log:
        "logs/train_window_cascade/{split}.log",
    benchmark:
        "logs/benchmarks/train_window_cascade/{split}.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/window_cascade/train.py"),
        best_share=config["window_cascade"]["best_share"],
    message:
        "rankings of windows and a structured SVM, split {wildcards.split}"
    script:
        "../reproduction/experiments/window_cascade/train.py"


rule evaluate_window_cascade:
    input:
        receipt="data/receipts/voc2007_sample.json",
        tests=expand("data/processed/window_cascade/test_{split}.npz", split=cascade_splits),
        models=expand("data/processed/window_cascade/model_{split}.json", split=cascade_splits),
    output:
        values="data/results/window_cascade/values.json",
        curves="data/results/window_cascade/curves.csv",
        weights="data/results/window_cascade/weights.csv",
        examples="data/results/window_cascade/examples.csv",
    log:
        "logs/evaluate_window_cascade.log",
    benchmark:
        "logs/benchmarks/evaluate_window_cascade.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/window_cascade/evaluate.py"),
        seed=config["seed"],
    message:
        "recall against overlap of the windows ranked first"
    script:
        "../reproduction/experiments/window_cascade/evaluate.py"
