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
        library=library_digest("workflow/scripts/evaluate_tree_covariance.py"),
        seed=config["seed"],
        trees=config["tree_covariance"]["trees"],
    message:
        "random trees with their root at every node and on every edge"
    script:
        "../scripts/evaluate_tree_covariance.py"
