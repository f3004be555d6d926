#!/usr/bin/env python3
"""Writes bleu.json: sentences of our own, and what sacreBLEU says of them.

Usage: make_bleu.py > bleu.json   (needs `pip install sacrebleu`)
"""
# SPDX-License-Identifier: Apache-2.0
import json

import sacrebleu

SETS = {
    "plain": (
        ["the weaver ties a blue thread", "three boats wait at the pier", "nobody reads the old sign"],
        ["the weaver ties the blue thread", "three boats wait by the pier", "nobody read the old sign"],
    ),
    "equal": (["a small loom stands here today"], ["a small loom stands here today"]),
    "short": (["a red door", "cold"], ["a red door opens slowly in the wind", "it is cold outside this morning"]),
    "long": (
        ["well , it is a very very long way to the mill and back again"],
        ["it is a long way to the mill"],
    ),
    "no_match": (["one two three four"], ["five six seven eight"]),
    "some_orders": (["red thread blue thread green"], ["green thread red cloth blue"]),
    "one_word": (["yes"], ["yes"]),
    "empty_output": (["", "the shop is closed on Monday"], ["say something", "the shop is closed on Monday"]),
    "points": (
        ['He paid 3,500.75 euros (about $4,000) -- "cash", he said... No.1 again!', "a-b 1-2 x/y {z} [w] ~ `q`"],
        ['He paid 3,500.75 euros (about $4,000) - "in cash", he said. No. 1 again!', "a-b 1 - 2 x / y {z} [w] ~ `q'"],
    ),
    "entities": (["Tom &amp; Anna &lt;ok&gt; &quot;now&quot; <skipped> 5.", "x .. , y"], ['Tom & Anna <ok> "now" 5 .', "x . . , y"]),
    "spaces": (
        ["  two   spaces\tand a\u00a0hard one\u3000here  ", "thin\u2009space"],
        ["two spaces and a hard one here", "thin space"],
    ),
    "case": (
        ["DER Ölpreis FÄLLT IN ZÜRICH", "ΟΔΟΣ ΣΟΦΟΣ Москва İzmir ŠKODA"],
        ["der ölpreis fällt in zürich", "οδος σοφος москва i̇zmir škoda"],
    ),
    "korean": (
        ["나는 너를 사랑한다.", "그녀는 빵을 먹는다", "선생님은 음악을 좋아한다!"],
        ["나는 너를 사랑해.", "그녀는 빵을 먹었다", "선생님은 음악을 좋아한다!"],
    ),
    "german": (
        ["Ein Mann mit Hut läuft über die Straße, 2 Hunde folgen.", "Zwei Kinder spielen im Sand .", "Das kostet 1.000 € im Jahr"],
        ["Ein Mann mit einem Hut geht über die Straße; zwei Hunde folgen ihm.", "Zwei Kinder spielen am Strand im Sand.", "Das kostet 1.000 Euro pro Jahr"],
    ),
}

cases = []
for name, (hypotheses, references) in SETS.items():
    for tokens in ("13a", "none", "char"):
        for lowercase in (False, True):
            score = sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokens, lowercase=lowercase, force=True)
            cases.append({
                "name": name, "tokens": tokens, "lowercase": lowercase,
                "hypotheses": hypotheses, "references": references,
                "score": score.score, "precisions": score.precisions, "bp": score.bp,
                "hyp_len": score.sys_len, "ref_len": score.ref_len,
            })
lines = ",\n".join(json.dumps(case) for case in cases)
print(f'{{"sacrebleu": "{sacrebleu.__version__}", "cases": [\n{lines}\n]}}')
