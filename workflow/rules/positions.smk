# Reordered source positions: the position of each source token in target order, for the encodings that need it. Each kind
# and split has its own folder. It is computed from permanent files, so a study that adds such an encoding reruns no other
# preparation.


rule write_gold_positions:
    input:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
        trees=plan.data.gold_trees,
        subword="results/data/{dataset}/subword/model.model",
        corpus=binary_files("{split}"),
    output:
        positions_files("gold", "{split}"),
    log:
        "logs/write_gold_positions/{dataset}/{split}.log",
    priority: 1
    group:
        "parse"
    params:
        slice=plan.data.preprocessing_slice,
        keep_all=plan.data.keep_all,
        corpus=folder_of("corpus"),
        folder="results/data/{dataset}/positions/gold/{split}",
    shell:
        "wordorder stage positions gold {params.keep_all:q} --config {params.slice:q} --source {input.source:q}"
        " --target {input.target:q} --trees {input.trees:q} --subword {input.subword:q} --corpus {params.corpus:q}"
        " --output {params.folder:q} 2>&1 | logged {log:q}"


rule write_identity_positions:
    input:
        corpus=binary_files("{split}"),
    output:
        positions_files("identity", "{split}"),
    log:
        "logs/write_identity_positions/{dataset}/{split}.log",
    priority: 1
    group:
        "parse"
    params:
        corpus=folder_of("corpus"),
        folder="results/data/{dataset}/positions/identity/{split}",
    shell:
        "wordorder stage positions identity --corpus {params.corpus:q} --output {params.folder:q} 2>&1 | logged {log:q}"


rule write_ordered_positions:
    input:
        orders=f"{REORDERING}/{{kind}}/{{split}}.orders",
        corpus=binary_files("{split}"),
        subword=plan.data.word_model,
    output:
        positions_files("{kind}.{reorderer}", "{split}"),
    log:
        "logs/write_ordered_positions/{dataset}/{kind}.{reorderer}/{split}.log",
    wildcard_constraints:
        kind="oracle|predicted",
    priority: 1
    group:
        "parse"
    params:
        words=plan.data.words_option,
        corpus=folder_of("corpus"),
        folder="results/data/{dataset}/positions/{kind}.{reorderer}/{split}",
    shell:
        "wordorder stage positions ordered --kind {wildcards.kind}.{wildcards.reorderer} --orders {input.orders:q}"
        " {params.words:q} --corpus {params.corpus:q} --output {params.folder:q} 2>&1 | logged {log:q}"


rule write_noisy_positions:
    input:
        positions=positions_files("{kind}", "train"),
        corpus=binary_files("train"),
    output:
        positions_files("{kind}.noise{ratio}", "train"),
    log:
        "logs/write_noisy_positions/{dataset}/{kind}.{ratio}.log",
    wildcard_constraints:
        kind=rf"gold|identity|(oracle|predicted)\.[^/]+?",
        ratio=r"[0-9.e-]+",
    priority: 1
    group:
        "parse"
    params:
        corpus=folder_of("corpus"),
        positions=folder_of("positions"),
        folder="results/data/{dataset}/positions/{kind}.noise{ratio}/train",
    shell:
        "wordorder stage positions noisy --ratio {wildcards.ratio} --positions {params.positions:q}"
        " --corpus {params.corpus:q} --output {params.folder:q} 2>&1 | logged {log:q}"
