"""Two checkers, written from one page in two languages, say the same: of honest documents, forgeries, and mutants."""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx, fmpz

from fairbound import Population, Verdict, certify, verify
from tests import hostile
from tests.forging import QUESTIONS, _aims, better, honest, mended, mutate, places, text
from tests.problems import P
from tests.second_checker import BETS, CHECKER, LOOKS, WORK, disagreements, node, second_opinions
from tests.verify import test_questions as several
from tests.verify.test_forgeries import MOVED, TRICKS

#: Documents of the quick run: of these questions, with so many tricks, moved multipliers and mutants each.
FEW = (
    "general, moments",
    "sensitive, variances",
    "general, limits",
    "general, near base rates",
    "sensitive, kl, any base rates",
    "general, demographic_parity_ratio, near base rates",
    "sensitive, true_positive_rate_difference, any base rates",
    "general, sphere, graded",
    "sensitive, hoeffding",
    "pieces with limits",
    "strata, loss",
    "strata, trimming, 0.3",
    "strata, sphere, 0 or 1",
    "group_loss, cressie_read:0.5, closely",
)

#: Questions whose answers take longest.
SLOW_PARTS = 8


def forgeries(name: str, seed: str, tricks: int | None, mutants: int) -> Iterator[tuple[str, str]]:
    """Yield forgeries of an honest document: what a forger with understanding does, and changes at random."""
    rng = random.Random(seed)  # noqa: S311 (reproducible)
    changes = {**TRICKS, **MOVED}
    chosen = list(changes) if tricks is None else rng.sample(list(changes), tricks)
    for key in chosen:
        document = honest(name)
        try:
            changes[key](document)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            continue  # a trick of another kind of document
        yield f"{name}, {key}", json.dumps(mended(document))
    for by in (1e-15, 1e-9, 2e-3):
        document = honest(name)
        better(document, by)
        yield f"{name}, better by {by}", json.dumps(document)
    original = honest(name, curve=bool(mutants % 2))
    paths = _aims(original)
    for number in range(mutants):
        yield f"{name}, mutant {number}", json.dumps(mutate(original, paths, rng))


def test_a_few_documents() -> None:
    texts = {name: text(name) for name in FEW}
    for name in FEW:
        texts |= dict(forgeries(name, f"few {name}", 8, 8))
    found, verdicts = disagreements(texts)
    assert len(texts) >= 190
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


def test_documents_of_several_questions() -> None:
    texts = {"exact": several.text(), "sampled": several.text(sampled=True)}
    for name, (change, _) in [*several.NOT_PROVED.items(), *several.MALFORMED.items()]:
        document = several.document(sampled=name == "a confidence of one question only")
        change(document)
        texts[name] = json.dumps(mended(document))
    found, verdicts = disagreements(texts)
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_mutants_of_several_questions(sampled: bool) -> None:
    original = several.document(sampled=sampled)
    rng = random.Random(f"several {sampled}")  # noqa: S311 (reproducible)
    paths = places(original)
    found, verdicts = disagreements({str(n): json.dumps(mutate(original, paths, rng)) for n in range(400)})
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


#: What the numbers of the second checker are compared with: python-flint, with more digits.
EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "sqrt |a|": lambda a, _: abs(a).sqrt(),
    "log |a|": lambda a, _: abs(a).log(),
    "exp": lambda a, _: a.exp() if abs(a) < 700 else None,
    "(a + b) (a - b) / (a a + 1)": lambda a, b: (a + b) * (a - b) / (a * a + 1),
    "arcsin": lambda a, b: (abs(a) / (abs(a) + abs(b))).sqrt().asin() if abs(a) < 1e9 * abs(b) else None,
    "max": lambda a, b: a if a > b else b,
}

ARITHMETIC = """
const source = require("node:fs").readFileSync(process.argv[1], "utf8");
const inside = `${source}; return { Real, larger, psi, ONE };`;
const { Real, larger, psi, ONE } = new Function("module", "require", inside)({}, require);
const size = (x) => larger(x, x.negated);
const evaluate = {
  "a + b": (a, b) => a.plus(b), "a - b": (a, b) => a.minus(b),
  "a * b": (a, b) => a.times(b), "a / b": (a, b) => a.over(b),
  "sqrt |a|": (a) => size(a).sqrt, "log |a|": (a) => size(a).log, "exp": (a) => a.exp,
  "(a + b) (a - b) / (a a + 1)": (a, b) => a.plus(b).times(a.minus(b)).over(a.square.plus(ONE)),
  "arcsin": (a, b) => psi(size(a).over(size(a).plus(size(b)))), "max": (a, b) => larger(a, b),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, a, b] = JSON.parse(line), { lo, hi, e } = evaluate[name](Real.of(a), Real.of(b));
  console.log(JSON.stringify([String(lo), String(hi), e]));
});
"""


def test_numbers_are_enclosed_and_tightly() -> None:
    """The true value lies between the ends, which are closer than 1e-45 to each other, relatively."""
    rng = random.Random(3)  # noqa: S311 (reproducible)
    sizes = (1e-308, 1e-100, 1e-12, 1e-3, 1.0, 1.0, 1.0, 50.0, 1e6, 1e100)
    cases = []
    for name, truth in EXPRESSIONS.items():
        for _ in range(60):
            a, b = (rng.choice((-1, 1)) * rng.choice(sizes) * rng.uniform(0.1, 1) for _ in range(2))
            if rng.random() < 0.1:
                a = b * (1 + rng.choice((0, 1, -1)) * 2.0**-52)
            cases.append((name, truth, a, b))
    before, ctx.prec = ctx.prec, 4000
    try:
        cases = [case for case in cases if case[1](arb(case[2]), arb(case[3])) is not None]
        lines = "".join(f"{json.dumps([name, a, b])}\n" for name, _, a, b in cases)
        ran = subprocess.run(
            [node(), "-e", ARITHMETIC, str(CHECKER)], input=lines, capture_output=True, text=True, check=True
        )
        ends = [json.loads(line) for line in ran.stdout.splitlines()]
        for (name, truth, a, b), (lo, hi, e) in zip(cases, ends, strict=True):
            low, high, true = (arb(fmpz(lo)) * arb(2) ** e, arb(fmpz(hi)) * arb(2) ** e, truth(arb(a), arb(b)))
            assert not low > true, (name, a, b)
            assert not high < true, (name, a, b)
            assert high - low <= abs(true) * 1e-45 + arb(10) ** -60, (name, a, b)
    finally:
        ctx.prec = before


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLOW_PARTS))
def test_many_documents(part: int) -> None:
    texts: dict[str, str] = {}
    for name in list(QUESTIONS)[part::SLOW_PARTS]:
        texts |= {name: text(name), f"{name}, curve": text(name, curve=True)}
        texts |= dict(forgeries(name, f"many {name}", None, 25))
    found, verdicts = disagreements(texts)
    assert len(texts) >= 1000
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


#: Texts at the edge of what JSON is, and of what a number is.
TEXTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda t: t,
    "spaces": lambda t: f" \n\t\r{t} ",
    "another space": lambda t: f"\u00a0{t}",
    "a byte order mark": lambda t: f"\ufeff{t}",
    "something after it": lambda t: f"{t} null",
    "a comma at the end": lambda t: t[:-1] + ",}",
    "a list": lambda t: f"[{t}]",
    "a text": json.dumps,
    "a comment": lambda t: f"{t}// true",
    "a key twice": lambda t: t.replace('"producer":', '"producer": "", "producer":', 1),
    "a key twice, escaped": lambda t: t.replace('"producer":', '"\\u0070roducer": "", "producer":', 1),
    "a key of all objects": lambda t: t.replace('"producer":', '"toString": 0, "producer":', 1),
    "a prototype": lambda t: t.replace('"producer":', '"__proto__": {}, "producer":', 1),
    "a key twice, deep": lambda t: t.replace('"lam":', '"lam": 0.0, "lam":', 1),
    "an escaped key": lambda t: t.replace('"producer"', '"\\u0070roducer"', 1),
    "an unknown escape": lambda t: t.replace('"producer": "', '"producer": "\\x41', 1),
    "half a character": lambda t: t.replace('"producer": "', '"producer": "\\ud800', 1),
    "a line break in a text": lambda t: t.replace('"producer": "', '"producer": "\n', 1),
    "no number": lambda t: t.replace('"tol": ', '"tol": NaN, "_": ', 1),
    "infinite": lambda t: t.replace('"tol": 0.001', '"tol": Infinity', 1),
    "a number that overflows": lambda t: t.replace('"tol": 0.001', '"tol": 1e999', 1),
    "a number that underflows": lambda t: t.replace('"tol": 0.001', '"tol": 1e-999', 1),
    "minus zero": lambda t: t.replace('"excluded_rows": 0', '"excluded_rows": -0', 1),
    "a fraction": lambda t: t.replace('"excluded_rows": 0', '"excluded_rows": 0.0', 1),
    "an exponent": lambda t: t.replace('"excluded_rows": 0', '"excluded_rows": 0e0', 1),
    "a zero before it": lambda t: t.replace('"tol": 0.001', '"tol": 00.001', 1),
    "a plus": lambda t: t.replace('"tol": 0.001', '"tol": +0.001', 1),
    "no digit after the point": lambda t: t.replace('"tol": 0.001', '"tol": 0.', 1),
    "no digit before the point": lambda t: t.replace('"tol": 0.001', '"tol": .001', 1),
    "a whole number that is no double": lambda t: t.replace('"tol": 0.001', '"tol": 9007199254740993', 1),
    "a whole number that is one": lambda t: t.replace('"tol": 0.001', '"tol": 9007199254740994', 1),
    "a larger count": lambda t: t.replace('"excluded_rows": 0', '"excluded_rows": 9007199254740992', 1),
    "too large a count": lambda t: t.replace('"excluded_rows": 0', '"excluded_rows": 9007199254740993', 1),
    "many digits": lambda t: t.replace('"tol": 0.001', f'"tol": 0.001{"0" * 5000}1', 1),
    "many whole digits": lambda t: t.replace('"tol": 0.001', f'"tol": 1{"0" * 5000}', 1),
    "true": lambda t: t.replace('"tol": 0.001', '"tol": true', 1),
    "too long a text": lambda t: t.replace('"producer": "', '"producer": "' + "x" * 10_001, 1),
    "a long text of pairs": lambda t: t.replace('"producer": "', '"producer": "' + "\U0001f600" * 9_900, 1),
    "nothing": lambda _: "",
}


def test_texts() -> None:
    document = {**honest("general, rows"), "producer": ""}
    plain = json.dumps(document)
    assert all(plain != change(plain) for name, change in TEXTS.items() if name != "as it is")
    found, verdicts = disagreements({name: change(plain) for name, change in TEXTS.items()})
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)  # not proved, where the digest is another one


#: What may be put into a text: what JSON is made of, and what UTF-8 is not.
PARTS = [b"1e5", b"0", b"-", b".0", b" ", b"\t", b'"', b"\\", b"{", b"]", b",", b"\\ud83d", b"\\u0000", b"\x7f"]
PARTS += [b"\xc3\xa9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xef\xbb\xbf", b"\x00", b"\xf0\x9f\x98\x80"]


def test_bytes_changed_at_random() -> None:
    rng = random.Random(5)  # noqa: S311 (reproducible)
    texts = {}
    for number in range(300):
        changed = bytearray(text(rng.choice(FEW[:2])).encode())
        for _ in range(rng.choice((1, 1, 2))):
            place = rng.randrange(len(changed))
            move = rng.random()
            if move < 0.3:
                changed[place] = rng.randrange(256)
            elif move < 0.5:
                del changed[place]
            else:
                changed[place:place] = rng.choice(PARTS)
        texts[str(number)] = bytes(changed)
    found, verdicts = disagreements(texts)
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


def test_seeds_have_all_their_digits() -> None:
    document = honest("general, sphere, graded")
    texts = {}
    for seed in (2**53, 2**53 + 1, 2**64, 2**64 + 1, -1):
        changed = copy.deepcopy(document)
        for question in changed["questions"]:
            for statement in question["statements"]:
                statement["sampling"]["seed"] = seed
        texts[f"seed {seed}"] = json.dumps(changed)
    found, _ = disagreements(texts)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("nested", [12, 13, 14, 5000])
def test_depth(nested: int) -> None:
    document = json.dumps({**honest("general, rows"), "producer": 0})
    found, verdicts = disagreements(
        {"deep": document.replace('"producer": 0', f'"producer": {"[" * nested}{"]" * nested}')}
    )
    assert not found
    assert verdicts == {Verdict.NOT_A_CERTIFICATE}


def test_bytes() -> None:
    """What is not UTF-8, or too long, is not a certificate; Node reads files and says so by its exit status."""
    plain = text("general, rows")
    (opinion,) = second_opinions([plain])
    assert opinion["status"] == 0
    (long,) = second_opinions([plain + " " * (32_000_001 - len(plain.encode()))])
    assert (long["status"], "32,000,000" in long["reason"]) == (2, True)


def test_exit_status(tmp_path: Path) -> None:
    plain = text("general, rows")
    forged = honest("general, rows")
    better(forged, 0.01)
    broken = b"\xff" + plain.encode()
    for name, content, status in (
        ("proved", plain.encode(), 0),
        ("not", json.dumps(forged).encode(), 1),
        ("broken", broken, 2),
        ("missing", None, 2),
    ):
        path = tmp_path / f"{name}.json"
        if content is not None:
            path.write_bytes(content)
        ran = subprocess.run([node(), str(CHECKER), str(path)], capture_output=True, text=True, check=False)
        assert ran.returncode == status
        if content is not None:
            assert ran.stdout.startswith(
                verify(content.decode("latin-1") if status == 2 else content.decode()).verdict.value
            )


def _hostile(most: int) -> dict[str, str]:
    """Return the largest document of each family that has at most so many characters."""
    found = {}
    for name, family in hostile.FAMILIES.items():
        for size in (2, 16, 128, 1024):
            written = family(size)
            if len(written) > most:
                break
            found[name] = written
    return found | {name: family(most) for name, family in hostile.TEXTS.items()}


@pytest.mark.slow
def test_hostile_documents_end() -> None:
    texts = _hostile(300_000)
    opinions = second_opinions(texts.values())
    found, _ = disagreements(texts, opinions)
    assert not found, "\n".join(found)
    # Steps are counted before they are made, so that the same documents end on every machine; one takes about a
    # microsecond.
    assert all(opinion["effort"] <= 5_000_000 for opinion in opinions)
    assert 5 < sum(opinion["effort"] > 4_900_000 for opinion in opinions) < len(opinions)  # many are near the limit


def _strata(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda document: change(document["population"]["measures"][0]["knowledge"])


def _asked(**entries: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document["questions"][0].update(entries)


def _radius(rho: float) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document["questions"][0]["points"][0].update(rho=rho)


def _empty(document: dict[str, Any], mean: float = 0) -> None:
    """Leave a stratum empty, and its cell with less weight."""
    population = document["population"]
    cell = population["measures"][0]["knowledge"]["cells"][0][0]
    population["weight"][0][0] -= cell[0][0]
    population["rows"] -= cell[0][0]
    cell[0] = [0, mean]


def _of_one_group(group: Any) -> Callable[[dict[str, Any]], Any]:
    """Ask for a ratio of one group: the pairs whose second group it is."""

    def change(document: dict[str, Any]) -> None:
        question = document["questions"][0]
        question["metric"]["group"] = group
        number = document["population"]["groups"].index(group) if group in document["population"]["groups"] else 0
        kept = [i for i, one in enumerate(question["statements"]) if one["objective"]["minus"] == number]
        question["statements"] = [question["statements"][i] for i in kept]
        for point in question["points"]:
            point["answers"] = [point["answers"][i] for i in kept]
            for key in ("bound", "attained"):
                point["claim"][key] = min(answer[key] for answer in point["answers"])

    return change


def _one_ratio(number: int) -> Callable[[dict[str, Any]], Any]:
    """Let one statement be a ratio: then no bound may be negative, of the others either."""
    return lambda document: document["questions"][0]["statements"][number]["objective"].update(ratio=True)


def _halves(document: dict[str, Any]) -> None:
    """Let a difference follow from two statements of one group each."""
    question = document["questions"][0]
    question["statements"] *= 2
    for at, (one, side) in enumerate(zip(question["statements"], ("minus", "plus", "minus", "plus"), strict=True)):
        question["statements"][at] = {**one, "objective": {**one["objective"], side: None}}
    for point in question["points"]:
        point["answers"] *= 2


#: Strata, trimming, ratios of one group and halves, at the edges of what the specification says of them.
RATIO = "general, demographic_parity_ratio, equal base rates"
EDGES: dict[str, dict[str, Callable[[dict[str, Any]], Any]]] = {
    "strata, loss": {
        "no name": _strata(lambda known: known.update(names=[])),
        "a name twice": _strata(lambda known: known["names"].__setitem__(1, known["names"][0])),
        "another name": _strata(lambda known: known["names"].__setitem__(1, ["a", 2])),
        "a name that is none": _strata(lambda known: known["names"].__setitem__(1, None)),
        "a stratum too few": _strata(lambda known: known["cells"][1][0].pop()),
        "a stratum too many": _strata(lambda known: known["cells"][1][0].append([0, 0])),
        "a stratum of three numbers": _strata(lambda known: known["cells"][1][0][0].append(0)),
        "a mean above the ceiling": _strata(lambda known: known["cells"][1][0][0].__setitem__(1, 1.0000000000000002)),
        "a mean without rows": partial(_empty, mean=0.5),
        "a stratum without rows": _empty,
        "weights that add up nearly": _strata(
            lambda k: k["cells"][1][0][0].__setitem__(0, k["cells"][1][0][0][0] * (1 + 1e-10))
        ),
        "weights that do not": _strata(lambda k: k["cells"][1][0][0].__setitem__(0, k["cells"][1][0][0][0] * 1.000001)),
        "rows in a table": _strata(lambda known: known.update(rows=200)),
        "general shifting": _asked(shift="general"),
        "general shifting, any support": _asked(shift="general", support="any"),
        "any support": _asked(support="any"),
        "sensitive shifting": _asked(shift="sensitive"),
        "a confidence": lambda d: [d.update(confidence=0.9), _asked(confidence=0.9)(d)],
    },
    "strata, trimming, 0.3": {
        "radius 1": _radius(1),
        "a radius above 1": _radius(1.0000000000000002),
        "radius 0": _radius(0),
        "a smaller radius": _radius(0.29),
        "a radius larger by little": _radius(0.3 + 1e-12),
        "a radius larger by more": _radius(0.3 + 1e-9),
        "total variation": _asked(divergence="total_variation"),
    },
    "trimming, closely": {
        "no lam": lambda d: [
            leaf.update(lam=0) for leaf in d["questions"][0]["points"][0]["answers"][0]["proof"]["leaves"]
        ],
        "a huge lam": lambda d: [
            leaf.update(lam=1e30) for leaf in d["questions"][0]["points"][0]["answers"][0]["proof"]["leaves"]
        ],
        "stratified shifting": _asked(shift="stratified", support="observed"),
        "observed support": _asked(support="observed"),
        "another radius": _radius(0.2000001),
    },
    "cressie_read:0.5, closely": {
        "no order": _asked(order=None),
        "order 1": _asked(order=1),
        "another order": _asked(order=0.50000001),
        "a smaller order": _asked(order=0.1),
        "an order that is too small": _asked(order=0.09),
        "a larger order": _asked(order=10),
        "an order that is too large": _asked(order=10.000001),
        "a radius above 1": _radius(1.5),
        "an order of another divergence": _asked(divergence="kl"),
    },
    "group_loss_difference, cressie_read:3, closely": {
        "order 2": _asked(order=2),
        "just above 2": _asked(order=2.0000000000000004),
        "below 1": _asked(order=0.999),
        "no lam": lambda d: [
            leaf.update(lam=0) for leaf in d["questions"][0]["points"][0]["answers"][0]["proof"]["leaves"]
        ],
    },
    RATIO: {"of a group": _of_one_group(0), "of the other": _of_one_group(1), "of none": _of_one_group("c")},
    "general, group_loss_difference, equal base rates": {
        "of a group": _of_one_group(0),
        "halves": _halves,
        "a ratio among them": _one_ratio(0),
        "the other a ratio": _one_ratio(1),
    },
}


def test_edges() -> None:
    texts = {}
    for name, changes in EDGES.items():
        for key, change in changes.items():
            document = honest(name)
            change(document)
            for kind, document_ in (("as it is", document), ("mended", mended(copy.deepcopy(document)))):
                texts[f"{name}, {key}, {kind}"] = json.dumps(document_)
    found, verdicts = disagreements(texts)
    assert not found, "\n".join(found)
    assert verdicts == set(Verdict)


def test_cells_whose_losses_are_all_alike() -> None:
    """Where the mean is 0 or the ceiling there is no variance, and an atom without mass."""
    population = Population.from_moments(P, [[0, 0.5], [1, 0.25]], [[0, 0.125], [0, 0]])
    texts = {}
    for metric in ("loss", "group_loss_difference"):
        document = json.loads(certify(population, 0.3, metric=metric).to_json())
        texts[metric] = json.dumps(document)
        for answer in document["questions"][0]["points"][0]["answers"]:
            for cell in (cell for row in answer["witness"]["reweighting"] for cell in row):
                cell.reverse()
        texts[f"{metric}, atoms the other way round"] = json.dumps(document)
    found, verdicts = disagreements(texts)
    assert not found, "\n".join(found)
    assert verdicts == {Verdict.PROVED, Verdict.NOT_PROVED}


def test_two_measures_of_one_name_are_refused() -> None:
    """A reader who is shown one of them would take its statistics for those of the claim."""
    texts = {}
    for name in ("general, rows", "sensitive, demographic_parity_difference, equal base rates"):
        document = honest(name)
        (measure,) = document["population"]["measures"]
        other = {**copy.deepcopy(measure), "loss": "mine"}
        for loss, label in ((measure["loss"], measure["pos_label"]), ("mine", None), ("selected", 0), ("selected", 1)):
            forged = copy.deepcopy(document)
            forged["population"]["measures"].append({**other, "loss": loss, "pos_label": label})
            texts[f"{name}, {loss} {label}"] = json.dumps(mended(forged))
    found, verdicts = disagreements(texts)
    assert not found, "\n".join(found)
    assert verdicts == {Verdict.PROVED, Verdict.NOT_A_CERTIFICATE}
    refused = [one for one in second_opinions(texts.values()) if one["status"] == 2]
    assert ["two measures" in one["reason"] for one in refused] == [True, True]


def test_bets_are_left_to_the_first_checker() -> None:
    """If all else holds it says so; what fails elsewhere is refused."""
    document = honest("general, sphere, graded")
    for statement in document["questions"][0]["statements"]:
        statement["sampling"]["region"] = "prequential"
    forged = copy.deepcopy(document)
    better(forged, 0.01)
    left, refused = second_opinions([json.dumps(document), json.dumps(forged)])
    assert (left["status"], left.get("beyond"), BETS in left["reason"]) == (1, True, True)
    assert (refused["status"], refused.get("beyond"), BETS in refused["reason"]) == (1, None, False)


def test_what_is_left_undone_is_said() -> None:
    """The look of names is for people: the second checker leaves it to the first, and says so."""
    forged = honest("general, graded")
    forged["population"]["measures"][0]["loss"] = "Zero-One"
    written = json.dumps(mended(forged))
    assert any(LOOKS in reason for reason in verify(written).reasons)
    (opinion,) = second_opinions([written])
    assert (opinion["status"], "names look like" in opinion["left"][0]) == (0, True)
    assert all(isinstance(part, str) for part in WORK)
