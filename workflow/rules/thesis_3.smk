# Section 3.1: joint kernel support estimation.

car_seeds = range(config["joint_kernel_support"]["seeds"])


rule prepare_car_words:
    input:
        receipt="data/receipts/uiuc_cars.json",
    output:
        words="data/processed/joint_kernel_support/words_{seed}.npz",
        scenes="data/processed/joint_kernel_support/scenes_{seed}.json",
        pictures="data/processed/joint_kernel_support/pictures_{seed}.npz",
    params:
        seed=seed_of,
    message:
        "visual words of the car images, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/joint_kernel_support/prepare.py"


rule select_car_settings:
    input:
        # Training images alone, with clean labels.
        words="data/processed/joint_kernel_support/words_0.npz",
        scenes="data/processed/joint_kernel_support/scenes_0.json",
    output:
        choice="data/processed/joint_kernel_support/choice.json",
        variants="data/processed/joint_kernel_support/variants.csv",
    resources:
        mem_mb=3000,
        runtime=60,
    message:
        "settings of the car localizers, by held-out training images"
    script:
        "../reproduction/experiments/joint_kernel_support/select.py"


rule train_car_localizers:
    input:
        words="data/processed/joint_kernel_support/words_{seed}.npz",
        scenes="data/processed/joint_kernel_support/scenes_{seed}.json",
        choice="data/processed/joint_kernel_support/choice.json",
    output:
        detections="data/processed/joint_kernel_support/detections_{seed}.csv",
        choices="data/processed/joint_kernel_support/choices_{seed}.csv",
        labels="data/processed/joint_kernel_support/labels_{seed}.csv",
        timings="data/processed/joint_kernel_support/timings_{seed}.json",
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        seed=seed_of,
    message:
        "structured SVM and joint kernel support estimation under label noise, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/joint_kernel_support/train.py"


rule train_car_controls:
    input:
        words="data/processed/joint_kernel_support/words_0.npz",
        scenes="data/processed/joint_kernel_support/scenes_0.json",
        choice="data/processed/joint_kernel_support/choice.json",
    output:
        validated="data/processed/joint_kernel_support/validated.csv",
    resources:
        mem_mb=3000,
        runtime=60,
    message:
        "cross-validation of joint kernel support estimation"
    script:
        "../reproduction/experiments/joint_kernel_support/train_controls.py"


rule evaluate_joint_kernel_support:
    input:
        receipt="data/receipts/uiuc_cars.json",
        # The same for all seeds.
        scenes="data/processed/joint_kernel_support/scenes_0.json",
        pictures="data/processed/joint_kernel_support/pictures_0.npz",
        detections=expand("data/processed/joint_kernel_support/detections_{seed}.csv", seed=car_seeds),
        choices=expand("data/processed/joint_kernel_support/choices_{seed}.csv", seed=car_seeds),
        labels=expand("data/processed/joint_kernel_support/labels_{seed}.csv", seed=car_seeds),
        timings=expand("data/processed/joint_kernel_support/timings_{seed}.json", seed=car_seeds),
        choice="data/processed/joint_kernel_support/choice.json",
        variants="data/processed/joint_kernel_support/variants.csv",
        validated="data/processed/joint_kernel_support/validated.csv",
    output:
        values="data/results/joint_kernel_support/values.json",
        curves="data/results/joint_kernel_support/curves.csv",
        variants="data/results/joint_kernel_support/variants.csv",
        validated="data/results/joint_kernel_support/validated.csv",
        examples="data/results/joint_kernel_support/examples.npz",
    message:
        "equal error rates of the localized cars"
    script:
        "../reproduction/experiments/joint_kernel_support/evaluate.py"


rule evaluate_support_at_scale:
    output:
        values="data/results/support_at_scale/values.json",
        timings="data/results/support_at_scale/timings.json",
    resources:
        mem_mb=4000,
    message:
        "joint kernel support estimation with many pairs"
    script:
        "../reproduction/experiments/support_at_scale/evaluate.py"


# Section 3.2: structured output ranking.


rule evaluate_ranking_oracle:
    output:
        values="data/results/ranking_oracle/values.json",
        timings="data/results/ranking_oracle/timings.json",
    threads: 2
    resources:
        mem_mb=8000,
    message:
        "exactness and cost of the ranking oracle"
    script:
        "../reproduction/experiments/ranking_oracle/evaluate.py"


rule evaluate_ranking_bounds:
    output:
        values="data/results/ranking_bounds/values.json",
        excess="data/results/ranking_bounds/excess.csv",
        ratios="data/results/ranking_bounds/ratios.csv",
        changes="data/results/ranking_bounds/changes.csv",
        measured="data/results/ranking_bounds/measured.csv",
    message:
        "generalization bounds of ranking, measured stability and measured risks"
    script:
        "../reproduction/experiments/ranking_bounds/evaluate.py"


rule evaluate_graded_queries:
    input:
        receipt="data/receipts/mslr_5k.json",
    output:
        values="data/results/graded_queries/values.json",
        timings="data/results/graded_queries/timings.json",
    message:
        "pages ranked by grades of relevance, and the time for few grades"
    script:
        "../reproduction/experiments/graded_queries/evaluate.py"


cascade_folds = range(config["window_cascade"]["folds"])


rule prepare_windows:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        train=expand("data/processed/window_cascade/train_{fold}.npz", fold=cascade_folds),
        test=expand("data/processed/window_cascade/test_{fold}.npz", fold=cascade_folds),
        pictures="data/processed/window_cascade/pictures.npz",
    threads: 2
    resources:
        mem_mb=6000,
        runtime=60,
    message:
        "initial windows of the images and their cues"
    script:
        "../reproduction/experiments/window_cascade/prepare.py"


rule train_window_cascade:
    input:
        windows="data/processed/window_cascade/train_{fold}.npz",
    output:
        model="data/processed/window_cascade/model_{fold}.json",
    resources:
        mem_mb=6000,
        runtime=120,
    message:
        "rankings of windows and a structured SVM, fold {wildcards.fold}"
    script:
        "../reproduction/experiments/window_cascade/train.py"


rule evaluate_window_cascade:
    input:
        receipt="data/receipts/voc2007_sample.json",
        pictures="data/processed/window_cascade/pictures.npz",
        tests=expand("data/processed/window_cascade/test_{fold}.npz", fold=cascade_folds),
        models=expand("data/processed/window_cascade/model_{fold}.json", fold=cascade_folds),
    output:
        values="data/results/window_cascade/values.json",
        curves="data/results/window_cascade/curves.csv",
        weights="data/results/window_cascade/weights.csv",
        examples="data/results/window_cascade/examples.csv",
        pictures="data/results/window_cascade/pictures.npz",
    resources:
        mem_mb=4000,
    message:
        "recall against overlap of the windows ranked first"
    script:
        "../reproduction/experiments/window_cascade/evaluate.py"
