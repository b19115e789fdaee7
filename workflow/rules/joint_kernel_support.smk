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
    log:
        "logs/prepare_car_words/{seed}.log",
    benchmark:
        "logs/benchmarks/prepare_car_words/{seed}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/joint_kernel_support/prepare.py"),
        size=localisation_size,
        seed=config["seed"],
        features={name: localisation[name] for name in ("n_words", "sample", "step", "scales")},
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
