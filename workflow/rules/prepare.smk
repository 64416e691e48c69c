# download -> import (or generate) -> clean -> subwords -> binarise. The training set is scattered into shards for the
# two long steps; validation and test sets are short and lose no sentence.
#
# raw/ holds text as people write it, against which translations are scored. Where a dataset's text comes tokenised, that
# lies in tokenised/, whose words the later steps keep, and raw/ is made of it.

IMPORTED = one_of([dataset.name for dataset in DATASETS if not dataset.generator and not dataset.tokenised])
TOKENISED = one_of([dataset.name for dataset in DATASETS if dataset.tokenised])
GENERATED = one_of([dataset.name for dataset in DATASETS if dataset.generator])
HELD_OUT = r"(?!train[./])[^/]+"  # every split but 'train'


def downloads_of_split(wildcards):
    dataset = dataset_of(wildcards.dataset)
    return [f"resources/downloads/{dataset.folder}/{file}" for file in plan.downloads(dataset, wildcards.split)]


def download_folder(wildcards):
    return f"resources/downloads/{dataset_of(wildcards.dataset).folder}"


def text_to_clean(dataset, split, side):
    """The text of a split from which the cleaning starts."""
    return f"results/data/{dataset.name}/{'tokenised' if dataset.tokenised else 'raw'}/{split}.{side}"


def held_out_text(side, wildcards):
    return text_to_clean(dataset_of(wildcards.dataset), wildcards.split, side)


def side_language(wildcards):
    return getattr(dataset_of(wildcards.dataset), f"{wildcards.side}_language")


def held_out_texts(wildcards):
    """The texts of validation and test sets where the training set must not hold their sentences; else none."""
    dataset = dataset_of(wildcards.dataset)
    splits = ["valid", *dataset.test_names] if dataset.preprocessing.remove_overlap else []
    return [f"results/data/{dataset.name}/raw/{split}.{side}" for split in splits for side in ("source", "target")]


def cleaning_options(wildcards):
    """The slice of a cleaning job of the training set and, where a dataset asks for it, the texts to keep out of it.

    Both as one parameter of the rule, whose command is the same, word for word, for all datasets: what was cleaned
    before datasets could ask for it stays finished.
    """
    slice = preprocessing_slice(wildcards)
    texts = held_out_texts(wildcards)
    return [slice, "--held-out", *texts] if texts else slice


def import_slice(wildcards):
    return plan.import_slice(dataset_of(wildcards.dataset), wildcards.split)


def generator_slice(wildcards):
    return plan.generator_slice(dataset_of(wildcards.dataset), wildcards.split)


def preprocessing_slice(wildcards):
    return plan.preprocessing_slice(dataset_of(wildcards.dataset))


def subword_slice(wildcards):
    return plan.subword_slice(dataset_of(wildcards.dataset))


def published_slice(wildcards):
    return plan.published_slice(dataset_of(wildcards.dataset))


def published_reports(wildcards):
    splits = sorted(dataset_of(wildcards.dataset).published_pairs)  # the order of the slice
    return [f"results/data/{wildcards.dataset}/clean/{split}.report.json" for split in splits]


rule import_split:
    input:
        downloads_of_split,
    output:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
    log:
        "logs/import_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=IMPORTED,
    group:
        "prepare"
    params:
        slice=import_slice,
        downloads=download_folder,
    shell:
        "wordorder import --config {params.slice:q} --downloads {params.downloads:q}"
        " --source {output.source:q} --target {output.target:q} 2>&1 | logged {log:q}"


use rule import_split as import_tokenised_split with:
    output:
        source="results/data/{dataset}/tokenised/{split}.source",
        target="results/data/{dataset}/tokenised/{split}.target",
    log:
        "logs/import_tokenised_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=TOKENISED,


rule detokenise_split:
    input:
        "results/data/{dataset}/tokenised/{split}.{side}",
    output:
        "results/data/{dataset}/raw/{split}.{side}",
    log:
        "logs/detokenise_split/{dataset}/{split}.{side}.log",
    wildcard_constraints:
        dataset=TOKENISED,
    group:
        "prepare"
    params:
        language=side_language,
    shell:
        "wordorder detokenise --language {params.language:q} --input {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule generate_split:
    output:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
        alignments="results/data/{dataset}/raw/{split}.alignments",
        trees="results/data/{dataset}/raw/{split}.trees",
    log:
        "logs/generate_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=GENERATED,
    group:
        "prepare"
    params:
        slice=generator_slice,
    shell:
        "wordorder generate --config {params.slice:q} --split {wildcards.split:q}"
        " --source {output.source:q} --target {output.target:q}"
        " --alignments {output.alignments:q} --trees {output.trees:q} 2>&1 | logged {log:q}"


# ------------------------------------------------------------------------------- the training set, in shards

# One scatter-gather process a dataset, named after it, with the number of shards that its file asks for; on the
# command line, --set-scatter NAME=64 takes another. A rule's outputs cannot be a function, hence a scatter rule each.


scattergather:
    **{dataset.name: dataset.shards for dataset in DATASETS},


def scattered(dataset, file):
    """``file`` of every shard of a dataset, as the outputs of its scatter rule."""
    return getattr(scatter, dataset)(f"results/data/{dataset}/shards/{{scatteritem}}.{file}")


def gathered(file, wildcards):
    """``file`` of every shard of a dataset, as the inputs of a gathering rule."""
    pattern = f"results/data/{{dataset}}/shards/{{scatteritem}}.{file}"
    return getattr(gather, wildcards.dataset)(pattern, **dict(wildcards.items()))


for dataset in DATASETS:

    rule:
        name:
            f"scatter_{dataset.name}"
        input:
            source=text_to_clean(dataset, "train", "source"),
            target=text_to_clean(dataset, "train", "target"),
        output:
            sources=temp(scattered(dataset.name, "raw.source")),
            targets=temp(scattered(dataset.name, "raw.target")),
        log:
            f"logs/scatter/{dataset.name}.log",
        group:
            "prepare"
        shell:
            "wordorder scatter --source {input.source:q} --target {input.target:q}"
            " --output-sources {output.sources:q} --output-targets {output.targets:q} 2>&1 | logged {log:q}"


rule clean_shard:
    input:
        source="results/data/{dataset}/shards/{scatteritem}.raw.source",
        target="results/data/{dataset}/shards/{scatteritem}.raw.target",
        held_out=held_out_texts,
    output:
        source=temp("results/data/{dataset}/shards/{scatteritem}.clean.source"),
        target=temp("results/data/{dataset}/shards/{scatteritem}.clean.target"),
        report=temp("results/data/{dataset}/shards/{scatteritem}.report.json"),
    log:
        "logs/clean_shard/{dataset}/{scatteritem}.log",
    group:
        "prepare"
    params:
        slice=cleaning_options,
    shell:
        "wordorder clean --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " --output-source {output.source:q} --output-target {output.target:q} --report {output.report:q}"
        " 2>&1 | logged {log:q}"


rule gather_text:
    input:
        partial(gathered, "clean.{side}"),
    output:
        "results/data/{dataset}/clean/train.{side}",
    log:
        "logs/gather_text/{dataset}.{side}.log",
    group:
        "prepare"
    shell:
        "wordorder gather-text --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule gather_reports:
    input:
        partial(gathered, "report.json"),
    output:
        "results/data/{dataset}/clean/train.report.json",
    log:
        "logs/gather_reports/{dataset}.log",
    group:
        "prepare"
    shell:
        "wordorder gather-reports --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


# The subwords need all the text in one place, so it is gathered before; the shards wait for it.
rule train_subword:
    input:
        source="results/data/{dataset}/clean/train.source",
        target="results/data/{dataset}/clean/train.target",
    output:
        "results/data/{dataset}/subword/model.model",
    log:
        "logs/train_subword/{dataset}.log",
    group:
        "prepare"
    params:
        slice=subword_slice,
    shell:
        "wordorder train-subword --config {params.slice:q} --inputs {input.source:q} {input.target:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


rule binarise_shard:
    input:
        subword="results/data/{dataset}/subword/model.model",
        source="results/data/{dataset}/shards/{scatteritem}.clean.source",
        target="results/data/{dataset}/shards/{scatteritem}.clean.target",
    output:
        temp(directory("results/data/{dataset}/shards/{scatteritem}.binary")),
    log:
        "logs/binarise_shard/{dataset}/{scatteritem}.log",
    group:
        "prepare"
    shell:
        "wordorder binarise --subword {input.subword:q} --source {input.source:q} --target {input.target:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


rule gather_binary:
    input:
        partial(gathered, "binary"),
    output:
        binary_files("train"),
    log:
        "logs/gather_binary/{dataset}.log",
    group:
        "prepare"
    params:
        folder="results/data/{dataset}/binary/train",
    shell:
        "wordorder gather-binary --inputs {input:q} --output {params.folder:q} 2>&1 | logged {log:q}"


# --------------------------------------------------------------------------------------- validation and test sets


rule clean_split:
    input:
        source=partial(held_out_text, "source"),
        target=partial(held_out_text, "target"),
    output:
        source="results/data/{dataset}/clean/{split}.source",
        target="results/data/{dataset}/clean/{split}.target",
        report="results/data/{dataset}/clean/{split}.report.json",
    log:
        "logs/clean_split/{dataset}/{split}.log",
    wildcard_constraints:
        split=rf"(?!gold\.){HELD_OUT}",  # gold alignments are cleaned in a way of their own: measure.smk
    group:
        "prepare"
    params:
        slice=preprocessing_slice,
    shell:
        "wordorder clean --keep-all --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " --output-source {output.source:q} --output-target {output.target:q} --report {output.report:q}"
        " 2>&1 | logged {log:q}"


# Beside the numbers that others report, so that a difference is seen.
rule count_pairs:
    input:
        published_reports,
    output:
        "results/data/{dataset}/pairs.json",
    log:
        "logs/count_pairs/{dataset}.log",
    params:
        slice=published_slice,
    shell:
        "wordorder count-pairs --config {params.slice:q} --dataset {wildcards.dataset:q} --reports {input:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


rule binarise_split:
    input:
        subword="results/data/{dataset}/subword/model.model",
        source="results/data/{dataset}/clean/{split}.source",
        target="results/data/{dataset}/clean/{split}.target",
    output:
        binary_files("{split}"),
    log:
        "logs/binarise_split/{dataset}/{split}.log",
    wildcard_constraints:
        split=HELD_OUT,
    group:
        "prepare"
    params:
        folder="results/data/{dataset}/binary/{split}",
    shell:
        "wordorder binarise --subword {input.subword:q} --source {input.source:q} --target {input.target:q}"
        " --output {params.folder:q} 2>&1 | logged {log:q}"
