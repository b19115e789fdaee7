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


# Section 5.2: taxonomies as covariances, and those of the VOC classes.


rule evaluate_tree_covariance:
    output:
        values="data/results/tree_covariance/values.json",
        changes="data/results/tree_covariance/changes.csv",
    log:
        "logs/evaluate_tree_covariance.log",
    benchmark:
        "logs/benchmarks/evaluate_tree_covariance.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/tree_covariance/evaluate.py"),
        seed=config["seed"],
        trees=config["tree_covariance"]["trees"],
    message:
        "random trees with their root at every node and on every edge"
    script:
        "../reproduction/experiments/tree_covariance/evaluate.py"


rule prepare_voc_bags:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        bags="data/processed/voc_taxonomy/bags.npz",
    log:
        "logs/prepare_voc_bags.log",
    benchmark:
        "logs/benchmarks/prepare_voc_bags.tsv"
    threads: 2
    resources:
        mem_mb=3000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/voc_taxonomy/prepare.py"),
        seed=config["seed"],
        images=config["voc_taxonomy"]["images"],
        words=config["voc_taxonomy"]["words"],
        step=config["voc_taxonomy"]["step"],
    message:
        "three parts of the VOC images as bags of visual words"
    script:
        "../reproduction/experiments/voc_taxonomy/prepare.py"


rule train_voc_taxonomies:
    input:
        bags="data/processed/voc_taxonomy/bags.npz",
        taxonomy="config/taxonomies/voc2007.nwk",
    output:
        result="data/processed/voc_taxonomy/order_{order}.json",
    log:
        "logs/train_voc_taxonomies/{order}.log",
    benchmark:
        "logs/benchmarks/train_voc_taxonomies/{order}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/voc_taxonomy/train.py"),
        seed=config["seed"],
        prices=config["voc_taxonomy"]["C"],
        tol=config["voc_taxonomy"]["tol"],
    message:
        "taxonomies of the VOC classes, order {wildcards.order} of the roles"
    script:
        "../reproduction/experiments/voc_taxonomy/train.py"


rule evaluate_voc_taxonomy:
    input:
        receipt="data/receipts/voc2007_sample.json",
        runs=expand(
            "data/processed/voc_taxonomy/order_{order}.json", order=range(config["voc_taxonomy"]["orders"])
        ),
    output:
        values="data/results/voc_taxonomy/values.json",
        areas="data/results/voc_taxonomy/areas.csv",
        curves="data/results/voc_taxonomy/curves.csv",
    log:
        "logs/evaluate_voc_taxonomy.log",
    benchmark:
        "logs/benchmarks/evaluate_voc_taxonomy.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/voc_taxonomy/evaluate.py"),
        seed=config["seed"],
        permutations=config["voc_taxonomy"]["permutations"],
    message:
        "ROC curves and topologies of the VOC taxonomies"
    script:
        "../reproduction/experiments/voc_taxonomy/evaluate.py"


# Section 5.2: semantic and learned taxonomies of the flowers.

flowers = config["flowers_taxonomy"]


rule prepare_flower_words:
    input:
        receipt="data/receipts/flowers17.json",
    output:
        bags="data/processed/flowers_taxonomy/bags.npz",
    log:
        "logs/prepare_flower_words.log",
    benchmark:
        "logs/benchmarks/prepare_flower_words.tsv"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/flowers_taxonomy/prepare.py"),
        arguments={
            "images": flowers["images"],
            "splits": flowers["splits"],
            "seed": config["seed"],
            "settings": flowers["descriptors"],
        },
    message:
        "colour, texture, gradients and boundary of the flowers as visual words"
    script:
        "../reproduction/experiments/flowers_taxonomy/prepare.py"


rule train_flower_taxonomies:
    input:
        bags="data/processed/flowers_taxonomy/bags.npz",
        taxonomy="config/taxonomies/flowers17.nwk",
    output:
        trials="data/processed/flowers_taxonomy/trials_{split}.csv",
        predictions="data/processed/flowers_taxonomy/predictions_{split}.csv",
        trees="data/processed/flowers_taxonomy/trees_{split}.json",
        timings="data/processed/flowers_taxonomy/timings_{split}.json",
    log:
        "logs/train_flower_taxonomies/{split}.log",
    benchmark:
        "logs/benchmarks/train_flower_taxonomies/{split}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/flowers_taxonomy/train.py"),
        arguments={
            "splits": flowers["splits"],
            "seed": config["seed"],
            "permutations": flowers["permutations"],
            "prices": flowers["C"],
            "limits": flowers["C_limits"],
            "tol": flowers["tol"],
        },
    message:
        "one-vs-rest and taxonomic SVMs of the flowers, split {wildcards.split}"
    script:
        "../reproduction/experiments/flowers_taxonomy/train.py"


rule evaluate_flowers_taxonomy:
    input:
        **{
            name: expand(
                f"data/processed/flowers_taxonomy/{name}_{{split}}.{ending}", split=range(flowers["splits"])
            )
            for name, ending in (
                ("trials", "csv"),
                ("predictions", "csv"),
                ("trees", "json"),
                ("timings", "json"),
            )
        },
        receipt="data/receipts/flowers17.json",
    output:
        values="data/results/flowers_taxonomy/values.json",
        prices="data/results/flowers_taxonomy/prices.csv",
        classes="data/results/flowers_taxonomy/classes.csv",
        trees="data/results/flowers_taxonomy/trees.json",
        examples="data/results/flowers_taxonomy/examples.npz",
    log:
        "logs/evaluate_flowers_taxonomy.log",
    benchmark:
        "logs/benchmarks/evaluate_flowers_taxonomy.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/flowers_taxonomy/evaluate.py"),
        arguments={"seed": config["seed"], "permutations": 100},
    message:
        "accuracy and taxonomies of the flowers"
    script:
        "../reproduction/experiments/flowers_taxonomy/evaluate.py"


# Section 5.2: hierarchical text, and the time of a cutting-plane iteration.

text = config["text_taxonomy"]


rule prepare_text_bags:
    input:
        receipt="data/receipts/newsgroups20.json",
    output:
        bags="data/processed/text_taxonomy/bags_{split}.npz",
    log:
        "logs/prepare_text_bags/{split}.log",
    benchmark:
        "logs/benchmarks/prepare_text_bags/{split}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/text_taxonomy/prepare.py"),
        arguments={"seed": config["seed"], "posts": text["posts"], "min_posts": text["min_posts"]},
    message:
        "words of the newsgroups, split {wildcards.split}"
    script:
        "../reproduction/experiments/text_taxonomy/prepare.py"


rule train_text_taxonomies:
    input:
        bags="data/processed/text_taxonomy/bags_{split}.npz",
        receipt="data/receipts/newsgroups20.json",
        taxonomy="config/taxonomies/newsgroups20.nwk",
    output:
        trials="data/processed/text_taxonomy/trials_{split}.csv",
        trees="data/processed/text_taxonomy/trees_{split}.json",
        timings="data/processed/text_taxonomy/timings_{split}.json",
    log:
        "logs/train_text_taxonomies/{split}.log",
    benchmark:
        "logs/benchmarks/train_text_taxonomies/{split}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/text_taxonomy/train.py"),
        arguments={
            "seed": config["seed"],
            "prices": text["C"],
            "limits": text["C_limits"],
            "tol": text["tol"],
        },
    message:
        "taxonomic SVMs of the newsgroups for all covariances and losses, split {wildcards.split}"
    script:
        "../reproduction/experiments/text_taxonomy/train.py"


rule compare_constraint_times:
    input:
        bags="data/processed/text_taxonomy/bags_0.npz",
        receipt="data/receipts/newsgroups20.json",
        taxonomy="config/taxonomies/newsgroups20.nwk",
        peer="benchmarks/cached_kernel.py",
    output:
        times="data/processed/text_taxonomy/times.csv",
    log:
        "logs/compare_constraint_times.log",
    benchmark:
        "logs/benchmarks/compare_constraint_times.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/text_taxonomy/train_times.py"),
        arguments={"seed": config["seed"], **text["times"]},
    message:
        "time per cutting-plane iteration, Kronecker form and cached kernel values"
    script:
        "../reproduction/experiments/text_taxonomy/train_times.py"


rule evaluate_text_taxonomy:
    input:
        **{
            name: expand(
                f"data/processed/text_taxonomy/{name}_{{split}}.{ending}", split=range(text["splits"])
            )
            for name, ending in (("trials", "csv"), ("trees", "json"), ("timings", "json"))
        },
        receipt="data/receipts/newsgroups20.json",
        times="data/processed/text_taxonomy/times.csv",
    output:
        values="data/results/text_taxonomy/values.json",
        prices="data/results/text_taxonomy/prices.csv",
        times="data/results/text_taxonomy/times.csv",
        trees="data/results/text_taxonomy/trees.json",
    log:
        "logs/evaluate_text_taxonomy.log",
    benchmark:
        "logs/benchmarks/evaluate_text_taxonomy.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/text_taxonomy/evaluate.py"),
    message:
        "losses of the newsgroups and times of the iterations"
    script:
        "../reproduction/experiments/text_taxonomy/evaluate.py"
