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
