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
