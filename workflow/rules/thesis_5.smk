# Opening of the chapter: vessels of the retina.


rule prepare_vessel_features:
    input:
        receipt="data/receipts/drive_vessels.json",
    output:
        retinas="data/processed/vessels/retinas.npz",
        features="data/processed/vessels/features.npy",
    threads: 2
    resources:
        mem_mb=4000,
    message:
        "line detectors, Gabor filters, ridges and top-hats of the retinas"
    script:
        "../reproduction/experiments/vessels/prepare.py"


rule train_vessel_pixels:
    input:
        retinas="data/processed/vessels/retinas.npz",
        features="data/processed/vessels/features.npy",
    output:
        model="data/processed/vessels/pixels.json",
        scores="data/processed/vessels/scores.npz",
        trials="data/processed/vessels/trials_linear.csv",
    threads: 2
    resources:
        mem_mb=4000,
    params:
        **config["vessels"]["linear"],
    message:
        "best single feature and linear classifier of the pixels"
    script:
        "../reproduction/experiments/vessels/train_pixels.py"


rule train_vessel_grid:
    input:
        retinas="data/processed/vessels/retinas.npz",
        scores="data/processed/vessels/scores.npz",
    output:
        model="data/processed/vessels/grid.json",
        trials="data/processed/vessels/trials_grid.csv",
    resources:
        mem_mb=3000,
    params:
        settings=config["vessels"]["grid"],
    message:
        "random field on the grid of pixels, by structured SVM and graph cuts"
    script:
        "../reproduction/experiments/vessels/train_grid.py"


rule train_vessel_dense:
    input:
        retinas="data/processed/vessels/retinas.npz",
        scores="data/processed/vessels/scores.npz",
    output:
        model="data/processed/vessels/dense.json",
        trials="data/processed/vessels/trials_dense.csv",
    resources:
        mem_mb=3000,
    params:
        settings=config["vessels"]["dense"],
    message:
        "fully connected random field, by structured SVM and mean field"
    script:
        "../reproduction/experiments/vessels/train_dense.py"


rule evaluate_vessels:
    input:
        receipt="data/receipts/drive_vessels.json",
        retinas="data/processed/vessels/retinas.npz",
        scores="data/processed/vessels/scores.npz",
        pixels="data/processed/vessels/pixels.json",
        grid="data/processed/vessels/grid.json",
        dense="data/processed/vessels/dense.json",
        trials=expand("data/processed/vessels/trials_{method}.csv", method=["linear", "grid", "dense"]),
    output:
        values="data/results/vessels/values.json",
        timings="data/results/vessels/timings.json",
        scores="data/results/vessels/scores.csv",
        curves="data/results/vessels/curves.csv",
        trials="data/results/vessels/trials.csv",
        examples="data/results/vessels/examples.npz",
    threads: 2
    resources:
        mem_mb=3000,
    message:
        "vessels of the test retinas by all methods and by the second observer"
    script:
        "../reproduction/experiments/vessels/evaluate.py"


# Section 5.1: branch and bound for many boxes.


rule prepare_detection_words:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        words="data/processed/detection_strategies/words.npz",
        annotations="data/processed/detection_strategies/annotations.npz",
    threads: 2
    resources:
        mem_mb=4000,
    message:
        "visual words of the training and test images"
    script:
        "../reproduction/experiments/detection_strategies/prepare.py"


rule train_detection_models:
    input:
        words="data/processed/detection_strategies/words.npz",
        annotations="data/processed/detection_strategies/annotations.npz",
    output:
        model="data/processed/detection_strategies/model.json",
    message:
        "linear bag-of-words models, each class against the rest"
    script:
        "../reproduction/experiments/detection_strategies/train.py"


rule evaluate_detection_strategies:
    input:
        receipt="data/receipts/voc2007_sample.json",
        words="data/processed/detection_strategies/words.npz",
        annotations="data/processed/detection_strategies/annotations.npz",
        model="data/processed/detection_strategies/model.json",
    output:
        values="data/results/detection_strategies/values.json",
        timings="data/results/detection_strategies/timings.json",
        costs="data/results/detection_strategies/costs.csv",
        strategies="data/results/detection_strategies/strategies.csv",
        examples="data/results/detection_strategies/examples.csv",
        points="data/results/detection_strategies/points.csv",
    threads: 2
    resources:
        runtime=240,
    message:
        "ten detections of each class in each test image: splits of every queue"
    script:
        "../reproduction/experiments/detection_strategies/evaluate.py"


rule evaluate_box_qualities:
    input:
        receipt="data/receipts/voc2007_sample.json",
        words="data/processed/detection_strategies/words.npz",
        annotations="data/processed/detection_strategies/annotations.npz",
        model="data/processed/detection_strategies/model.json",
    output:
        values="data/results/box_qualities/values.json",
        table="data/results/box_qualities/searches.csv",
    message:
        "other qualities and penalties of boxes, compared with all boxes"
    script:
        "../reproduction/experiments/box_qualities/evaluate.py"


# Section 5.2: taxonomies as covariances, and those of the VOC classes.


rule evaluate_tree_covariance:
    output:
        values="data/results/tree_covariance/values.json",
        changes="data/results/tree_covariance/changes.csv",
    message:
        "random trees with their root at every node and on every edge"
    script:
        "../reproduction/experiments/tree_covariance/evaluate.py"


rule prepare_voc_bags:
    input:
        receipt="data/receipts/voc2007_sample.json",
    output:
        bags="data/processed/voc_taxonomy/bags.npz",
    threads: 2
    resources:
        mem_mb=3000,
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
    resources:
        runtime=60,
    params:
        order=lambda wildcards: int(wildcards.order),
    message:
        "taxonomic SVMs of the VOC classes, order {wildcards.order} of the roles"
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
    message:
        "ROC curves and topologies of the VOC taxonomies"
    script:
        "../reproduction/experiments/voc_taxonomy/evaluate.py"


# Section 5.2: semantic and learned taxonomies of the flowers.

flower_splits = range(config["flowers_taxonomy"]["splits"])


rule prepare_flower_words:
    input:
        receipt="data/receipts/flowers17.json",
    output:
        bags="data/processed/flowers_taxonomy/bags.npz",
        examples="data/processed/flowers_taxonomy/examples.npz",
    threads: 2
    params:
        settings=config["flowers_taxonomy"]["descriptors"],
    message:
        "color, texture, gradients and boundary of the flowers as visual words"
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
    params:
        split=lambda wildcards: int(wildcards.split),
    message:
        "one-vs-rest and taxonomic SVMs of the flowers, split {wildcards.split}"
    script:
        "../reproduction/experiments/flowers_taxonomy/train.py"


rule evaluate_flowers_taxonomy:
    input:
        receipt="data/receipts/flowers17.json",
        examples="data/processed/flowers_taxonomy/examples.npz",
        trials=expand("data/processed/flowers_taxonomy/trials_{split}.csv", split=flower_splits),
        predictions=expand("data/processed/flowers_taxonomy/predictions_{split}.csv", split=flower_splits),
        trees=expand("data/processed/flowers_taxonomy/trees_{split}.json", split=flower_splits),
    output:
        values="data/results/flowers_taxonomy/values.json",
        prices="data/results/flowers_taxonomy/prices.csv",
        classes="data/results/flowers_taxonomy/classes.csv",
        trees="data/results/flowers_taxonomy/trees.json",
        examples="data/results/flowers_taxonomy/examples.npz",
    message:
        "accuracies and taxonomies of the flowers"
    script:
        "../reproduction/experiments/flowers_taxonomy/evaluate.py"


# Section 5.2: hierarchical text, and the time of a cutting-plane iteration.

text_splits = range(config["text_taxonomy"]["splits"])


rule prepare_text_bags:
    input:
        receipt="data/receipts/newsgroups20.json",
    output:
        bags="data/processed/text_taxonomy/bags_{split}.npz",
    params:
        split=lambda wildcards: int(wildcards.split),
    message:
        "words of the newsgroups, split {wildcards.split}"
    script:
        "../reproduction/experiments/text_taxonomy/prepare.py"


rule train_text_taxonomies:
    input:
        bags="data/processed/text_taxonomy/bags_{split}.npz",
        taxonomy="config/taxonomies/newsgroups20.nwk",
    output:
        trials="data/processed/text_taxonomy/trials_{split}.csv",
        trees="data/processed/text_taxonomy/trees_{split}.json",
    resources:
        runtime=60,
    params:
        split=lambda wildcards: int(wildcards.split),
    message:
        "taxonomic SVMs of the newsgroups for all covariances and losses, split {wildcards.split}"
    script:
        "../reproduction/experiments/text_taxonomy/train.py"


rule compare_constraint_times:
    input:
        bags="data/processed/text_taxonomy/bags_0.npz",
        taxonomy="config/taxonomies/newsgroups20.nwk",
        peer="benchmarks/cached_kernel.py",
    output:
        times="data/processed/text_taxonomy/times.csv",
        forms="data/processed/text_taxonomy/forms.json",
    resources:
        runtime=60,
    params:
        **config["text_taxonomy"]["times"],
    message:
        "time per cutting-plane iteration, Kronecker form and cached kernel values"
    script:
        "../reproduction/experiments/text_taxonomy/train_times.py"


rule evaluate_text_taxonomy:
    input:
        receipt="data/receipts/newsgroups20.json",
        times="data/processed/text_taxonomy/times.csv",
        forms="data/processed/text_taxonomy/forms.json",
        trials=expand("data/processed/text_taxonomy/trials_{split}.csv", split=text_splits),
        trees=expand("data/processed/text_taxonomy/trees_{split}.json", split=text_splits),
    output:
        values="data/results/text_taxonomy/values.json",
        timings="data/results/text_taxonomy/timings.json",
        prices="data/results/text_taxonomy/prices.csv",
        times="data/results/text_taxonomy/times.csv",
        trees="data/results/text_taxonomy/trees.json",
    message:
        "losses of the newsgroups and times of the iterations"
    script:
        "../reproduction/experiments/text_taxonomy/evaluate.py"
