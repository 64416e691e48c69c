# Word alignment and BTG reordering: align -> classes -> train the parser -> parse -> gather -> orders, from which
# positions.smk makes positions. Everything belongs to a dataset and is shared by all studies that name the reorderer.
# What holds a whole text asks for memory by its size. Measured on 6.5 and 26 MB of English and German: beside 0.25 GB,
# 12 MB for each MB of both sides to align them, and 16 and 5 for each of the source to find oracle orders and to train
# classes. Training the aligner takes up to 40 bytes for each two units seen in one sentence pair, and sees at most 2 million
# pairs, unless a configuration says more: of words some 240 million such twos, as they grow from 2,500 pairs to 20,000.

ALIGNMENT = "results/data/{dataset}/alignment/{aligner}"
REORDERING = "results/data/{dataset}/reordering/{reorderer}"


def alignment_of(wildcards):
    """The aligner of a job, by its own name or that of its reorderer."""
    name = wildcards.get("aligner") or reorderer_of(wildcards.reorderer).aligner
    return told(load.load_aligners)(CONFIG)[name]


@cache
@told
def reorderer_of(name):
    return load.load_reorderers(CONFIG)[name]


def aligner_slice(wildcards):
    return plan.canonical(alignment_of(wildcards).aligner)


def alignment_slice(wildcards):
    return plan.canonical(alignment_of(wildcards))


def oracle_slice(wildcards):
    return plan.canonical(reorderer_of(wildcards.reorderer).oracle)


def parser_slice(wildcards):
    return plan.canonical(reorderer_of(wildcards.reorderer).parser)


def text(side, split="{split}"):
    return f"results/data/{{dataset}}/clean/{split}.{side}"


def unit_model(wildcards):
    """The subword model where subwords are aligned and reordered; no file where words are."""
    return "results/data/{dataset}/subword/model.model" if alignment_of(wildcards).unit == "subword" else []


def unit_option(wildcards, input):
    return ["--subword", input.subword] if input.subword else []


# ------------------------------------------------------------------------------------------------------ alignment


def aligner_model(wildcards):
    """The trained aligner; other programs train and align in one go."""
    return f"{ALIGNMENT}/model.npz" if alignment_of(wildcards).aligner.type == "hmm" else []


def aligner_model_option(wildcards, input):
    return ["--model", input.model] if input.model else []


rule train_aligner:
    input:
        source=text("source", "train"),
        target=text("target", "train"),
        subword=unit_model,
    output:
        f"{ALIGNMENT}/model.npz",
    log:
        "logs/train_aligner/{dataset}/{aligner}.log",
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 20, most=20_000),
    params:
        slice=aligner_slice,
        unit=unit_option,
    shell:
        "wordorder train-aligner --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} --model {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule align_split:
    input:
        source=text("source"),
        target=text("target"),
        subword=unit_model,
        model=aligner_model,
    output:
        f"{ALIGNMENT}/{{split}}.links",
    log:
        "logs/align_split/{dataset}/{aligner}/{split}.log",
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 13),
        runtime=grows_with_text(15, 0.05),
    params:
        slice=alignment_slice,
        unit=unit_option,
        model=aligner_model_option,
    shell:
        "wordorder align --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} {params.model:q} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


# ----------------------------------------------------------------------------------------------------- reordering


def links(split="{split}"):
    """The links of a reorderer's aligner."""

    def find(wildcards):
        return ALIGNMENT.replace("{aligner}", reorderer_of(wildcards.reorderer).aligner) + f"/{split}.links"

    return find


rule find_oracle:
    input:
        source=text("source"),
        subword=unit_model,
        links=links(),
    output:
        orders=f"{REORDERING}/oracle/{{split}}.orders",
        trees=f"{REORDERING}/oracle/{{split}}.trees",
        record=f"{REORDERING}/oracle/{{split}}.json",
    log:
        "logs/find_oracle/{dataset}/{reorderer}/{split}.log",
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 18),
        runtime=grows_with_text(15, 0.1),
    params:
        slice=oracle_slice,
        unit=unit_option,
    shell:
        "wordorder find-oracle --config {params.slice:q} --source {input.source:q} {params.unit:q}"
        " --links {input.links:q} --output {output.orders:q} --trees {output.trees:q} --record {output.record:q}"
        " 2>&1 | logged {log:q}"


def classes_file(wildcards):
    """The word classes of a parser, which it may have none of; of one unit and number, whoever asks for them."""
    number, unit = reorderer_of(wildcards.reorderer).parser.classes, alignment_of(wildcards).unit
    return f"results/data/{{dataset}}/classes/{unit}.{number}.tsv" if number else []


def classes_option(wildcards, input):
    return ["--classes", input.classes] if input.classes else []


def subword_of_unit(wildcards):
    return "results/data/{dataset}/subword/model.model" if wildcards.unit == "subword" else []


rule train_classes:
    input:
        source=text("source", "train"),
        subword=subword_of_unit,
    output:
        "results/data/{dataset}/classes/{unit}.{number}.tsv",
    log:
        "logs/train_classes/{dataset}/{unit}.{number}.log",
    wildcard_constraints:
        unit="word|subword",
        number=r"\d+",
    group:
        "align"
    resources:
        mem_mb=grows_with_text(2000, 6),
        runtime=grows_with_text(15, 0.1),
    params:
        unit=unit_option,
    shell:
        "wordorder train-classes --classes {wildcards.number} --source {input.source:q} {params.unit:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


def left_out(wildcards):
    """The part of the training set that a parser is trained without."""
    return [] if wildcards.fold == "all" else ["--without", wildcards.fold.replace("of", "/")]


rule train_parser:
    input:
        source=text("source", "train"),
        subword=unit_model,
        links=links("train"),
        classes=classes_file,
    output:
        model=f"{REORDERING}/parser/{{fold}}.npz",
        record=f"{REORDERING}/parser/{{fold}}.json",
    log:
        "logs/train_parser/{dataset}/{reorderer}/{fold}.log",
    wildcard_constraints:
        fold=r"all|\d+of\d+",
    params:
        slice=parser_slice,
        unit=unit_option,
        classes=classes_option,
        left_out=left_out,
        state=f"{REORDERING}/parser/{{fold}}.state",
    shell:
        "wordorder train-parser --config {params.slice:q} --source {input.source:q} {params.unit:q}"
        " --links {input.links:q} {params.classes:q} {params.left_out:q} --model {output.model:q}"
        " --record {output.record:q} --state {params.state:q} 2>&1 | logged {log:q}"


def parser_of_part(wildcards):
    """With folds, a part of the training set is parsed by the parser that has not seen it."""
    folds = reorderer_of(wildcards.reorderer).folds
    return f"{REORDERING}/parser/" + (f"{wildcards.part}of{wildcards.parts}.npz" if folds else "all.npz")


rule parse_part:
    input:
        model=parser_of_part,
        source=text("source", "train"),
        subword=unit_model,
    output:
        temp(f"{REORDERING}/parts/{{part}}of{{parts}}.orders"),
    log:
        "logs/parse_part/{dataset}/{reorderer}/{part}of{parts}.log",
    wildcard_constraints:
        part=r"\d+",
        parts=r"\d+",
    group:
        "parse"
    params:
        unit=unit_option,
    shell:
        "wordorder reorder --model {input.model:q} --source {input.source:q} {params.unit:q}"
        " --shard {wildcards.part}/{wildcards.parts} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


def parts_of_training_set(wildcards):
    count = reorderer_of(wildcards.reorderer).folds or dataset_of(wildcards.dataset).shards
    return [f"{REORDERING}/parts/{part}of{count}.orders" for part in range(1, count + 1)]


rule gather_orders:
    input:
        parts_of_training_set,
    output:
        f"{REORDERING}/predicted/train.orders",
    log:
        "logs/gather_orders/{dataset}/{reorderer}.log",
    group:
        "parse"
    shell:
        "wordorder gather-text --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule parse_split:
    input:
        model=f"{REORDERING}/parser/all.npz",
        source=text("source"),
        subword=unit_model,
    output:
        orders=f"{REORDERING}/predicted/{{split}}.orders",
        trees=f"{REORDERING}/predicted/{{split}}.trees",
    log:
        "logs/parse_split/{dataset}/{reorderer}/{split}.log",
    wildcard_constraints:
        split=HELD_OUT,
    group:
        "parse"
    params:
        unit=unit_option,
    shell:
        "wordorder reorder --model {input.model:q} --source {input.source:q} {params.unit:q}"
        " --output {output.orders:q} --trees {output.trees:q} --threads {threads} 2>&1 | logged {log:q}"


# ------------------------------------------------------------------------------------------------ how good they are


rule score_orders:
    input:
        orders=f"{REORDERING}/predicted/{{split}}.orders",
        links=links(),
    output:
        f"{REORDERING}/predicted/{{split}}.json",
    log:
        "logs/score_orders/{dataset}/{reorderer}/{split}.log",
    group:
        "parse"
    shell:
        "wordorder score-orders --orders {input.orders:q} --links {input.links:q} --output {output:q}"
        " 2>&1 | logged {log:q}"


rule draw_reordering:
    input:
        source=text("source"),
        target=text("target"),
        subword=unit_model,
        links=links(),
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
        unit=unit_option,
        prefix=f"{REORDERING}/figures/{{split}}.{{figure}}",
    shell:
        "wordorder draw-reordering {wildcards.figure} --source {input.source:q} --target {input.target:q}"
        " {params.unit:q} --links {input.links:q} --orders {input.orders:q} --trees {input.trees:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
