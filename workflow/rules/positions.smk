# The position that each source token would take in target order, for the encodings that need it. One folder a kind and
# split, made from files that are kept, so that a study that starts to need positions prepares nothing else again.


def gold_trees(wildcards):
    told(plan.check_positions)(dataset_of(wildcards.dataset), "gold")
    return "results/data/{dataset}/raw/{split}.trees"


def keep_all(wildcards):
    """Only training pairs are dropped by cleaning."""
    return [] if wildcards.split == "train" else ["--keep-all"]


rule write_gold_positions:
    input:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
        trees=gold_trees,
        subword="results/data/{dataset}/subword/model.model",
        corpus=binary_files("{split}"),
    output:
        positions_files("gold", "{split}"),
    log:
        "logs/write_gold_positions/{dataset}/{split}.log",
    params:
        slice=preprocessing_slice,
        keep_all=keep_all,
        corpus="results/data/{dataset}/binary/{split}",
        folder="results/data/{dataset}/positions/gold/{split}",
    shell:
        "wordorder positions gold {params.keep_all:q} --config {params.slice:q} --source {input.source:q}"
        " --target {input.target:q} --trees {input.trees:q} --subword {input.subword:q} --corpus {params.corpus:q}"
        " --output {params.folder:q} 2>&1 | logged {log:q}"


rule write_identity_positions:
    input:
        binary_files("{split}"),
    output:
        positions_files("identity", "{split}"),
    log:
        "logs/write_identity_positions/{dataset}/{split}.log",
    params:
        corpus="results/data/{dataset}/binary/{split}",
        folder="results/data/{dataset}/positions/identity/{split}",
    shell:
        "wordorder positions identity --corpus {params.corpus:q} --output {params.folder:q} 2>&1 | logged {log:q}"
