"""The files of a dataset as their publishers pack them: same names, members and formats, few sentences."""

from __future__ import annotations

import bz2
import gzip
import html
import io
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from wordorder.config.datasets import Dataset, TextFile
from wordorder.workflow.dataset_slices import parts

Pairs = list[tuple[str, str]]
Side = tuple[TextFile, Sequence[str]]
PairsOf = Callable[[str, int], Pairs]  # those of a split's part, which is given by its number from 0

# The same in all languages, line by line, and about as long.
SENTENCES = {
    "en": [
        "The {} old mills stand beside the quiet river.",
        "Her brother bought {} loaves of bread & some butter.",
        'We have not seen the "blue" house for {} years.',
        "Nobody knows why the {} children are laughing.",
        "Please close the window, because {} birds are inside.",
        "Tomorrow the train to the coast leaves at {} o'clock.",
        "The teacher reads {} pages to the class every morning.",
        "Did you find the key under the {} flower pots?",
    ],
    "de": [
        "Die {} alten Mühlen stehen neben dem stillen Fluss.",
        "Ihr Bruder kaufte {} Brote & etwas Butter.",
        'Wir haben das "blaue" Haus seit {} Jahren nicht gesehen.',
        "Niemand weiß, warum die {} Kinder lachen.",
        "Bitte schließe das Fenster, denn {} Vögel sind drinnen.",
        "Morgen fährt der Zug zur Küste um {} Uhr ab.",
        "Die Lehrerin liest der Klasse jeden Morgen {} Seiten vor.",
        "Hast du den Schlüssel unter den {} Blumentöpfen gefunden?",
    ],
    "fr": [
        "Les {} vieux moulins se dressent près de la rivière.",
        "Son frère a acheté {} pains & un peu de beurre.",
        'Nous n\'avons pas vu la maison "bleue" depuis {} ans.',
        "Personne ne sait pourquoi les {} enfants rient.",
        "Ferme la fenêtre, car {} oiseaux sont à l'intérieur.",
        "Demain le train pour la côte part à {} heures.",
        "La maîtresse lit {} pages à la classe chaque matin.",
        "As-tu trouvé la clé sous les {} pots de fleurs ?",
    ],
    "ro": [
        "Cele {} mori vechi stau lângă râul liniștit.",
        "Fratele ei a cumpărat {} pâini & niște unt.",
        'Nu am mai văzut casa "albastră" de {} ani.',
        "Nimeni nu știe de ce râd cei {} copii.",
        "Te rog închide fereastra, pentru că {} păsări sunt înăuntru.",
        "Mâine trenul spre coastă pleacă la ora {}.",
        "Profesoara citește clasei {} pagini în fiecare dimineață.",
        "Ai găsit cheia sub cele {} ghivece de flori?",
    ],
    "ja": [
        "静かな川のそばに{}基の古い水車が立っています。",
        "彼女の弟はパンを{}個とバターを少し買いました。",
        "私たちは「青い」家を{}年間見ていません。",
        "{}人の子供たちがなぜ笑っているのか誰も知りません。",
        "鳥が{}羽中にいるので窓を閉めてください。",
        "明日、海岸行きの列車は{}時に出ます。",
        "先生は毎朝クラスで{}ページを読みます。",
        "{}個の植木鉢の下で鍵を見つけましたか。",
    ],
    "zh": [
        "{}座古老的磨坊矗立在安静的河边。",
        "她的弟弟买了{}个面包和一些黄油。",
        "我们已经{}年没有见过那座“蓝色”的房子了。",
        "没有人知道为什么{}个孩子在笑。",
        "请关上窗户，因为有{}只鸟在里面。",
        "明天去海边的火车{}点钟开。",
        "老师每天早上给全班读{}页。",
        "你在{}个花盆下面找到钥匙了吗？",
    ],
}


def own_pairs(dataset: Dataset, number: int) -> PairsOf:
    """Generate about this many pairs per split, all different except the first pair, which all splits share.

    If a part of the dataset selects lengths, half of the pairs are twice as long.
    """
    splits = ("train", "valid", *dataset.test_names)
    varied = any(part.words for split in splits for part in parts(dataset, split))
    fresh = count(1)
    sides = [SENTENCES[language] for language in (dataset.source_language, dataset.target_language)]

    def pairs_of(split: str, part: int) -> Pairs:
        places = range(number // len(parts(dataset, split)))
        numbers = [0 if (part, place) == (0, 0) else next(fresh) for place in places]
        repeats = [2 if varied and own % 16 > 7 else 1 for own in numbers]
        source, target = (
            [" ".join([side[own % len(side)].format(own)] * times) for own, times in zip(numbers, repeats, strict=True)]
            for side in sides
        )
        return list(zip(source, target, strict=True))

    return pairs_of


def write_downloads(dataset: Dataset, folder: Path, pairs_of: PairsOf) -> dict[str, Pairs]:
    """Write every file that the dataset names, with every member that its parts name; return the pairs of each split.

    Parts that choose from one file have it in common: those of the first split that reads it.
    """
    files: dict[str, dict[str | None, dict[str, Side]]] = defaultdict(lambda: defaultdict(dict))
    written: dict[str, Pairs] = {}
    for split in ("train", "valid", *dataset.test_names):
        written[split] = []
        for number, part in enumerate(parts(dataset, split)):
            pairs = pairs_of(split, number)
            sides = [
                files[side.file][side.member].setdefault(side.model_dump_json(), (side, text))
                for side, text in zip((part.source, part.target), zip(*pairs, strict=True), strict=True)
            ]
            written[split] += zip(sides[0][1], sides[1][1], strict=True)
    folder.mkdir(exist_ok=True)
    for file, members in files.items():
        write_file(folder / file, {member: formatted([*sides.values()]) for member, sides in members.items()})
    return written


def write_file(path: Path, texts: dict[str | None, str]) -> None:
    """Write a text, or an archive of texts by the names of their members, compressed as the names say."""
    data = {member: packed(member or path.name, text) for member, text in texts.items()}
    if None in data:
        path.write_bytes(data[None])
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in data.items():
                archive.writestr(str(member), content)
    else:
        with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as tar:
            for member, content in data.items():
                info = tarfile.TarInfo(str(member))
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def packed(name: str, text: str) -> bytes:
    data = text.encode()
    return gzip.compress(data) if name.endswith(".gz") else bz2.compress(data) if name.endswith(".bz2") else data


def formatted(sides: list[Side]) -> str:
    """Return the content of a file or member: one side or, in a translation memory and in columns, several."""
    side, text = sides[0]
    match side.format:
        case "tsv":
            columns = {side.column: text for side, text in sides}
            rows = [
                [columns[n][i] if n in columns else "?" for n in range(1, max(columns) + 1)] for i in range(len(text))
            ]
            return "".join(f"{(side.separator or chr(9)).join(row)}\n" for row in rows)
        case "tmx":
            units = "".join(
                "    <tu>\n"
                + "".join(
                    f'      <tuv xml:lang="{side.language}"><seg>{html.escape(text[i], quote=False)}</seg></tuv>\n'
                    for side, text in sides
                )
                + "    </tu>\n"
                for i in range(len(text))
            )
            return (
                '<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
                f'  <header creationdate="x" srclang="{side.language}" datatype="plaintext" segtype="sentence" />\n'
                f"  <body>\n{units}  </body>\n</tmx>\n"
            )
        case "sgm":
            first, *others = (
                f'<seg id="{n}"> {html.escape(line, quote=False)} </seg>\n' for n, line in enumerate(text, start=1)
            )
            return (
                '<srcset setid="x" srclang="any">\n<doc docid="a" origlang="en">\n<title>left out</title>\n'
                f"<hl>\n{first}</hl>\n<p>\n{''.join(others)}</p>\n</doc>\n</srcset>\n"
            )
        case "ted":
            kept = iter(text)
            head = {tag: next(kept) if tag in side.keep_tags else "left out" for tag in ("title", "description")}
            tags = {"url": "http://www.ted.com/x", "keywords": "talks, x", "talkid": "1", **head}
            lines = [*(f"<{tag}>{words}</{tag}>" for tag, words in tags.items()), *(f" {line} " for line in kept)]
            return "".join(f"{line}\n" for line in [*lines, "<reviewer></reviewer>"])
        case _:
            escapes = {"&": "&amp;", "'": "&apos;", '"': "&quot;"} if side.unescape else {}
            return "".join(f"{line.translate(str.maketrans(escapes))}\n" for line in text)
