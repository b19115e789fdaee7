# Section 5.1: branch and bound for many boxes.


rule prepare_detection_words:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        words="data/processed/detection_strategies/words.npz",
        split="data/processed/detection_strategies/split.json",
    log:
        "logs/prepare_detection_words.log",
    benchmark:
        "logs/benchmarks/prepare_detection_words.tsv"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/detection_strategies/prepare.py"),
        seed=config["seed"],
        images=config["detection_strategies"]["images"],
        words=config["detection_strategies"]["words"],
        step=config["detection_strategies"]["step"],
    message:
        "training and test images as visual words"
    script:
        "../reproduction/experiments/detection_strategies/prepare.py"


rule train_detection_models:
    input:
        receipt="data/receipts/voc2007_sample.json",
        words="data/processed/detection_strategies/words.npz",
        split="data/processed/detection_strategies/split.json",
    output:
        model="data/processed/detection_strategies/model.json",
    log:
        "logs/train_detection_models.log",
    benchmark:
        "logs/benchmarks/train_detection_models.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/detection_strategies/train.py"),
        seed=config["seed"],
    message:
        "a linear model of the words of each class, against the rest"
    script:
        "../reproduction/experiments/detection_strategies/train.py"


rule evaluate_detection_strategies:
    input:
        receipt="data/receipts/voc2007_sample.json",
        words="data/processed/detection_strategies/words.npz",
        split="data/processed/detection_strategies/split.json",
        model="data/processed/detection_strategies/model.json",
    output:
        values="data/results/detection_strategies/values.json",
        costs="data/results/detection_strategies/costs.csv",
        strategies="data/results/detection_strategies/strategies.csv",
        examples="data/results/detection_strategies/examples.csv",
        points="data/results/detection_strategies/points.csv",
    log:
        "logs/evaluate_detection_strategies.log",
    benchmark:
        "logs/benchmarks/evaluate_detection_strategies.tsv"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/detection_strategies/evaluate.py"),
        test_images=config["detection_strategies"]["test_images"],
        unit=config["detection_strategies"]["unit"],
    message:
        "ten detections of each class in each test image: splits of every queue"
    script:
        "../reproduction/experiments/detection_strategies/evaluate.py"
