# download -> import (or generate) -> clean -> subwords -> binarise. The two long steps process the training set in
# shards. Validation and test sets are short, and cleaning keeps all their sentences.
#
# raw/ contains text as people write it; translations are scored against it. If the text of a dataset is published
# tokenised, tokenised/ contains it, and later steps keep its words; raw/ is then the detokenised text.

HELD_OUT = r"(?!train[./])[^/]+"  # All splits except 'train'.


rule import_split:
    input:
        plan.data.downloads,
    output:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
    log:
        "logs/import_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=plan.datasets("imported"),
    group:
        "prepare"
    params:
        slice=plan.data.import_slice,
        downloads=plan.data.download_folder,
    shell:
        "wordorder stage import --config {params.slice:q} --downloads {params.downloads:q}"
        " --source {output.source:q} --target {output.target:q} 2>&1 | logged {log:q}"


use rule import_split as import_tokenised_split with:
    output:
        source="results/data/{dataset}/tokenised/{split}.source",
        target="results/data/{dataset}/tokenised/{split}.target",
    log:
        "logs/import_tokenised_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=plan.datasets("tokenised"),


rule detokenise_split:
    input:
        "results/data/{dataset}/tokenised/{split}.{side}",
    output:
        "results/data/{dataset}/raw/{split}.{side}",
    log:
        "logs/detokenise_split/{dataset}/{split}.{side}.log",
    wildcard_constraints:
        dataset=plan.datasets("tokenised"),
    group:
        "prepare"
    params:
        language=plan.data.side_language,
    shell:
        "wordorder stage detokenise --language {params.language:q} --input {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule generate_split:
    output:
        source="results/data/{dataset}/raw/{split}.source",
        target="results/data/{dataset}/raw/{split}.target",
        alignments="results/data/{dataset}/raw/{split}.alignments",
        trees="results/data/{dataset}/raw/{split}.trees",
    log:
        "logs/generate_split/{dataset}/{split}.log",
    wildcard_constraints:
        dataset=plan.datasets("generated"),
    group:
        "prepare"
    params:
        slice=plan.data.generator_slice,
    shell:
        "wordorder stage generate --config {params.slice:q} --split {wildcards.split:q}"
        " --source {output.source:q} --target {output.target:q}"
        " --alignments {output.alignments:q} --trees {output.trees:q} 2>&1 | logged {log:q}"


# ------------------------------------------------------------------------------- the training set, in shards

# Each dataset has a scatter-gather process with its name and the number of shards of its file; the option
# --set-scatter NAME=64 changes this number. The outputs of a rule cannot be a function, so each dataset has its own
# scatter rule.


for dataset in plan.configuration.valid_datasets:

    rule:
        name:
            f"scatter_{dataset.name}"
        input:
            source=plan.data.text_to_clean(dataset, "train", "source"),
            target=plan.data.text_to_clean(dataset, "train", "target"),
        output:
            sources=temp(scattered(dataset.name, "raw.source")),
            targets=temp(scattered(dataset.name, "raw.target")),
        log:
            f"logs/scatter/{dataset.name}.log",
        group:
            "prepare"
        shell:
            "wordorder stage scatter --source {input.source:q} --target {input.target:q}"
            " --output-sources {output.sources:q} --output-targets {output.targets:q} 2>&1 | logged {log:q}"


rule clean_shard:
    input:
        source="results/data/{dataset}/shards/{scatteritem}.raw.source",
        target="results/data/{dataset}/shards/{scatteritem}.raw.target",
        held_out=plan.data.held_out_texts,
    output:
        source=temp("results/data/{dataset}/shards/{scatteritem}.clean.source"),
        target=temp("results/data/{dataset}/shards/{scatteritem}.clean.target"),
        report=temp("results/data/{dataset}/shards/{scatteritem}.report.json"),
    log:
        "logs/clean_shard/{dataset}/{scatteritem}.log",
    group:
        "prepare"
    params:
        slice=plan.data.preprocessing_slice,
        held_out=plan.data.held_out_option,
    shell:
        "wordorder stage clean --config {params.slice:q} {params.held_out:q} --source {input.source:q} --target {input.target:q}"
        " --output-source {output.source:q} --output-target {output.target:q} --report {output.report:q}"
        " 2>&1 | logged {log:q}"


rule gather_text:
    input:
        gathered("clean.{side}"),
    output:
        "results/data/{dataset}/clean/train.{side}",
    log:
        "logs/gather_text/{dataset}.{side}.log",
    group:
        "prepare"
    shell:
        "wordorder stage gather-text --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


rule gather_reports:
    input:
        gathered("report.json"),
    output:
        "results/data/{dataset}/clean/train.report.json",
    log:
        "logs/gather_reports/{dataset}.log",
    group:
        "prepare"
    shell:
        "wordorder stage gather-reports --inputs {input:q} --output {output:q} 2>&1 | logged {log:q}"


# The training of the subword model needs the whole text, so the text is gathered first and the shards wait for the model.
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
        slice=plan.data.subword_slice,
    shell:
        "wordorder stage train-subword --config {params.slice:q} --inputs {input.source:q} {input.target:q}"
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
        "wordorder stage binarise --subword {input.subword:q} --source {input.source:q} --target {input.target:q}"
        " --output {output:q} 2>&1 | logged {log:q}"


rule gather_binary:
    input:
        gathered("binary"),
    output:
        binary_files("train"),
    log:
        "logs/gather_binary/{dataset}.log",
    group:
        "prepare"
    params:
        folder="results/data/{dataset}/binary/train",
    shell:
        "wordorder stage gather-binary --inputs {input:q} --output {params.folder:q} 2>&1 | logged {log:q}"


# --------------------------------------------------------------------------------------- validation and test sets


rule clean_split:
    input:
        source=plan.data.source_to_clean,
        target=plan.data.target_to_clean,
    output:
        source="results/data/{dataset}/clean/{split}.source",
        target="results/data/{dataset}/clean/{split}.target",
        report="results/data/{dataset}/clean/{split}.report.json",
    log:
        "logs/clean_split/{dataset}/{split}.log",
    wildcard_constraints:
        split=rf"(?!gold\.){HELD_OUT}",  # The rule import_gold cleans gold alignments.
    group:
        "prepare"
    params:
        slice=plan.data.preprocessing_slice,
    shell:
        "wordorder stage clean --keep-all --config {params.slice:q} --source {input.source:q} --target {input.target:q}"
        " --output-source {output.source:q} --output-target {output.target:q} --report {output.report:q}"
        " 2>&1 | logged {log:q}"


# Compares the numbers of sentence pairs with published numbers, so that users notice differences.
rule count_pairs:
    input:
        plan.data.published_reports,
    output:
        "results/data/{dataset}/pairs.json",
    log:
        "logs/count_pairs/{dataset}.log",
    params:
        slice=plan.data.published_slice,
    shell:
        "wordorder stage count-pairs --config {params.slice:q} --dataset {wildcards.dataset:q} --reports {input:q}"
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
        "wordorder stage binarise --subword {input.subword:q} --source {input.source:q} --target {input.target:q}"
        " --output {params.folder:q} 2>&1 | logged {log:q}"


# Gold alignments are cleaned word by word, because their links refer to word numbers. From the cleaned text on, a set is
# handled like any other split.
rule import_gold:
    input:
        plan.data.gold_downloads,
    output:
        source="results/data/{dataset}/gold/{gold}.source",
        target="results/data/{dataset}/gold/{gold}.target",
        alignments="results/data/{dataset}/gold/{gold}.alignments",
        clean_source="results/data/{dataset}/clean/gold.{gold}.source",
        clean_target="results/data/{dataset}/clean/gold.{gold}.target",
        report="results/data/{dataset}/clean/gold.{gold}.report.json",
    log:
        "logs/import_gold/{dataset}/{gold}.log",
    params:
        slice=plan.data.gold_slice,
        downloads="resources/downloads/gold_alignments/{gold}",
    shell:
        "wordorder stage import-gold --config {params.slice:q} --downloads {params.downloads:q} --source {output.source:q}"
        " --target {output.target:q} --alignments {output.alignments:q} --clean-source {output.clean_source:q}"
        " --clean-target {output.clean_target:q} --report {output.report:q} 2>&1 | logged {log:q}"
