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
