# Word alignment and BTG reordering: align -> classes -> train the parser -> parse -> gather -> orders. The rules of
# positions.smk turn orders into positions. All files belong to a dataset, and all studies with the same reorderer share
# them. Their priority lets them run before trainings: trainings that need positions then do not come last, alone, and
# mistakes in the data show first.
#
# Alignment and oracle orders work block by block. On 5 million generated sentence pairs of 25 words (benchmarks/scale.py),
# they needed 0.4 GB, of which the aligner, trained on 200,000 pairs, is the part that grows. Classes read the whole source:
# 6.9 GB for its 705 MB.
#
# Aligner training needs 12 bytes per distinct pair of units that occurs in one place of the text, and 28 bytes, 16 more
# with each further thread, per pair that occurs in several. On generated sentence pairs of 25 words (benchmarks/scale.py),
# it needed 2.7 GB for 400,000 (110 MB of text) and 5.6 GB for a million (275 MB). The line through both gives 10.5 GB for
# 2 million (550 MB), for which 13 GB are requested. Aligners see no more than 2 million by default.


# ------------------------------------------------------------------------------------------------------ alignment


rule train_aligner:
    input:
        source=cleaned("source", "train"),
        target=cleaned("target", "train"),
        subword=plan.data.unit_model,
    output:
        f"{ALIGNMENT}/model.npz",
    log:
        "logs/train_aligner/{dataset}/{aligner}.log",
    priority: 1
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 20, most=16_000, per_thread=0.25),
    params:
        slice=plan.data.aligner_slice,
        unit=plan.data.unit_option,
    shell:
        "wordorder stage train-aligner --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} --model {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule align_split:
    input:
        source=cleaned("source"),
        target=cleaned("target"),
        subword=plan.data.unit_model,
        training=plan.data.aligner_training,
    output:
        f"{ALIGNMENT}/{{split}}.links",
    log:
        "logs/align_split/{dataset}/{aligner}/{split}.log",
    priority: 1
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 4, most=8000),
        runtime=grows_with_text(15, 0.05),
    params:
        slice=plan.data.alignment_slice,
        unit=plan.data.unit_option,
        aligner=plan.data.aligner_options,
    shell:
        "wordorder stage align --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} {params.aligner:q} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


# ----------------------------------------------------------------------------------------------------- reordering


rule find_oracle:
    input:
        source=cleaned("source"),
        subword=plan.data.unit_model,
        links=plan.data.links,
    output:
        orders=f"{REORDERING}/oracle/{{split}}.orders",
        trees=f"{REORDERING}/oracle/{{split}}.trees",
        record=f"{REORDERING}/oracle/{{split}}.json",
    log:
        "logs/find_oracle/{dataset}/{reorderer}/{split}.log",
    priority: 1
    group:
        "align"
    resources:
        mem_mb=2000,
        runtime=grows_with_text(15, 0.1),
    params:
        slice=plan.data.oracle_slice,
        unit=plan.data.unit_option,
    shell:
        "wordorder stage find-oracle --config {params.slice:q} --source {input.source:q} {params.unit:q}"
        " --links {input.links:q} --output {output.orders:q} --trees {output.trees:q} --record {output.record:q}"
        " 2>&1 | logged {log:q}"


rule train_classes:
    input:
        source=cleaned("source", "train"),
        subword=plan.data.subword_of_unit,
    output:
        "results/data/{dataset}/classes/{unit}.{number}.tsv",
    log:
        "logs/train_classes/{dataset}/{unit}.{number}.log",
    wildcard_constraints:
        unit="word|subword",
        number=r"\d+",
    priority: 1
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 3),
        runtime=grows_with_text(15, 0.1),
    params:
        unit=plan.data.unit_option,
    shell:
        "wordorder stage train-classes --classes {wildcards.number} --source {input.source:q} {params.unit:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


rule train_parser:
    input:
        source=cleaned("source", "train"),
        subword=plan.data.unit_model,
        links=plan.data.links,
        classes=plan.data.classes_file,
    output:
        model=f"{REORDERING}/parser/{{fold}}.npz",
        record=f"{REORDERING}/parser/{{fold}}.json",
    log:
        "logs/train_parser/{dataset}/{reorderer}/{fold}.log",
    wildcard_constraints:
        fold=r"all|\d+of\d+",
    priority: 1
    params:
        slice=plan.data.parser_slice,
        unit=plan.data.unit_option,
        classes=plan.data.classes_option,
        left_out=plan.data.without_fold,
        state=f"{REORDERING}/parser/{{fold}}.state",
    shell:
        "wordorder stage train-parser --config {params.slice:q} --source {input.source:q} {params.unit:q}"
        " --links {input.links:q} {params.classes:q} {params.left_out:q} --model {output.model:q}"
        " --record {output.record:q} --state {params.state:q} 2>&1 | logged {log:q}"


rule parse_part:
    input:
        model=plan.data.parser_of_part,
        source=cleaned("source", "train"),
        subword=plan.data.unit_model,
    output:
        temp(f"{REORDERING}/parts/{{part}}of{{parts}}.orders"),
    log:
        "logs/parse_part/{dataset}/{reorderer}/{part}of{parts}.log",
    wildcard_constraints:
        part=r"\d+",
        parts=r"\d+",
    priority: 1
    group:
        "parse"
    params:
        unit=plan.data.unit_option,
    shell:
        "wordorder stage reorder --model {input.model:q} --source {input.source:q} {params.unit:q}"
        " --shard {wildcards.part}/{wildcards.parts} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule gather_orders:
    input:
        plan.data.parts_of_training_set,
    output:
        f"{REORDERING}/predicted/train.orders",
    log:
        "logs/gather_orders/{dataset}/{reorderer}.log",
    priority: 1
    group:
        "parse"
    shell:
        "wordorder stage gather-text --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule parse_split:
    input:
        model=f"{REORDERING}/parser/all.npz",
        source=cleaned("source"),
        subword=plan.data.unit_model,
    output:
        orders=f"{REORDERING}/predicted/{{split}}.orders",
        trees=f"{REORDERING}/predicted/{{split}}.trees",
    log:
        "logs/parse_split/{dataset}/{reorderer}/{split}.log",
    wildcard_constraints:
        split=HELD_OUT,
    priority: 1
    group:
        "parse"
    params:
        unit=plan.data.unit_option,
    shell:
        "wordorder stage reorder --model {input.model:q} --source {input.source:q} {params.unit:q}"
        " --output {output.orders:q} --trees {output.trees:q} --threads {threads} 2>&1 | logged {log:q}"


# ------------------------------------------------------------------------------------------------ how good they are


rule score_orders:
    input:
        orders=f"{REORDERING}/predicted/{{split}}.orders",
        links=plan.data.links,
    output:
        f"{REORDERING}/predicted/{{split}}.json",
    log:
        "logs/score_orders/{dataset}/{reorderer}/{split}.log",
    group:
        "parse"
    shell:
        "wordorder stage score-orders --orders {input.orders:q} --links {input.links:q} --output {output:q}"
        " 2>&1 | logged {log:q}"


rule draw_reordering:
    input:
        source=cleaned("source"),
        target=cleaned("target"),
        subword=plan.data.unit_model,
        links=plan.data.links,
        orders=f"{REORDERING}/predicted/{{split}}.orders",
        trees=f"{REORDERING}/predicted/{{split}}.trees",
    output:
        f"{REORDERING}/figures/{{split}}.{{figure}}.pdf",
        f"{REORDERING}/figures/{{split}}.{{figure}}.png",
        f"{REORDERING}/figures/{{split}}.{{figure}}.csv",
        report(
            f"{REORDERING}/figures/{{split}}.{{figure}}.svg",
            caption=str(CAPTIONS / "reordering.rst"),
            category="Reordering",
            labels={"dataset": "{dataset}", "reorderer": "{reorderer}", "set": "{split}", "figure": "{figure}"},
        ),
    log:
        "logs/draw_reordering/{dataset}/{reorderer}/{split}.{figure}.log",
    wildcard_constraints:
        figure="matrix|tau",
        split=HELD_OUT,
    group:
        "parse"
    params:
        unit=plan.data.unit_option,
        prefix=f"{REORDERING}/figures/{{split}}.{{figure}}",
    shell:
        "wordorder stage draw-reordering {wildcards.figure} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} --links {input.links:q} --orders {input.orders:q} --trees {input.trees:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
