#!/usr/bin/env python3
"""Writes a small English-Korean corpus, made from a grammar, for a first translator.

Usage: make_phrases.py OUT_DIR [--pairs N]

OUT_DIR gets {train,valid,test}.{en,ko}, one sentence a line. The same N gives the same files. Sentences that
are held out are not in the training part, in neither language; each of their words is.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import hashlib
import itertools
import pathlib

# ---- words: English, Korean

# English subject, its object form, Korean, person (1 or 3 = takes the -s form, 2 = the plain form)
PEOPLE = [
    ("I", "me", "나", 1), ("you", "you", "너", 2), ("he", "him", "그", 3), ("she", "her", "그녀", 3),
    ("we", "us", "우리", 2), ("they", "them", "그들", 2), ("the teacher", "the teacher", "선생님", 3),
    ("the student", "the student", "학생", 3), ("my friend", "my friend", "나의 친구", 3),
    ("the doctor", "the doctor", "의사", 3), ("the child", "the child", "아이", 3),
]
OBJECTS = {
    "person": [(them, ko) for _, them, ko, _ in PEOPLE],
    "loved": [("music", "음악"), ("the sea", "바다"), ("dogs", "개"), ("cats", "고양이"), ("flowers", "꽃"),
              ("this city", "이 도시")],
    "food": [("bread", "빵"), ("an apple", "사과"), ("rice", "밥"), ("fish", "생선"), ("meat", "고기")],
    "goods": [("bread", "빵"), ("an apple", "사과"), ("fish", "생선"), ("meat", "고기")],
    "drink": [("water", "물"), ("coffee", "커피"), ("milk", "우유"), ("tea", "차")],
    "text": [("a book", "책"), ("a newspaper", "신문"), ("a letter", "편지")],
    "work": [("a book", "책"), ("a letter", "편지"), ("a poem", "시")],
    "ware": [("a book", "책"), ("a car", "자동차"), ("a house", "집"), ("a hat", "모자"), ("a watch", "시계")],
    "subject": [("English", "영어"), ("Korean", "한국어"), ("math", "수학"), ("history", "역사")],
    "sound": [("music", "음악"), ("a song", "노래"), ("the radio", "라디오")],
    "gate": [("the door", "문"), ("the window", "창문")],
    "room": [("the room", "방"), ("the house", "집"), ("the kitchen", "부엌")],
    "sight": [("the sea", "바다"), ("a movie", "영화"), ("the mountain", "산"), ("the moon", "달")],
}
# English base, third person, past; Korean stem, present, past, future; kinds of objects; whether it is a deed,
# which one may want to do, and do every day
VERBS = [
    ("love", "loves", "loved", "사랑하", "사랑한다", "사랑했다", "사랑할", "person loved", False),
    ("like", "likes", "liked", "좋아하", "좋아한다", "좋아했다", "좋아할", "person loved food drink subject", False),
    ("hate", "hates", "hated", "싫어하", "싫어한다", "싫어했다", "싫어할", "person food drink", False),
    ("remember", "remembers", "remembered", "기억하", "기억한다", "기억했다", "기억할", "person", False),
    ("meet", "meets", "met", "만나", "만난다", "만났다", "만날", "person", True),
    ("help", "helps", "helped", "돕", "돕는다", "도왔다", "도울", "person", True),
    ("wait for", "waits for", "waited for", "기다리", "기다린다", "기다렸다", "기다릴", "person", False),
    ("see", "sees", "saw", "보", "본다", "보았다", "볼", "person sight", True),
    ("eat", "eats", "ate", "먹", "먹는다", "먹었다", "먹을", "food", True),
    ("drink", "drinks", "drank", "마시", "마신다", "마셨다", "마실", "drink", True),
    ("read", "reads", "read", "읽", "읽는다", "읽었다", "읽을", "text", True),
    ("write", "writes", "wrote", "쓰", "쓴다", "썼다", "쓸", "work", True),
    ("buy", "buys", "bought", "사", "산다", "샀다", "살", "ware goods", True),
    ("sell", "sells", "sold", "팔", "판다", "팔았다", "팔", "ware", True),
    ("learn", "learns", "learned", "배우", "배운다", "배웠다", "배울", "subject", True),
    ("teach", "teaches", "taught", "가르치", "가르친다", "가르쳤다", "가르칠", "subject", True),
    ("listen to", "listens to", "listened to", "듣", "듣는다", "들었다", "들을", "sound", True),
    ("open", "opens", "opened", "열", "연다", "열었다", "열", "gate", True),
    ("close", "closes", "closed", "닫", "닫는다", "닫았다", "닫을", "gate", True),
    ("clean", "cleans", "cleaned", "청소하", "청소한다", "청소했다", "청소할", "room", True),
]
GO = ("go to", "goes to", "went to", "가", "간다", "갔다", "갈")
PLACES = [("the school", "학교"), ("the park", "공원"), ("the market", "시장"), ("the hospital", "병원"),
          ("the library", "도서관"), ("the sea", "바다")]
# English; Korean stem, past, future
FEELINGS = [("happy", "행복하", "행복했다", "행복할"), ("sad", "슬프", "슬펐다", "슬플"),
            ("tired", "피곤하", "피곤했다", "피곤할"), ("busy", "바쁘", "바빴다", "바쁠"),
            ("hungry", "배고프", "배고팠다", "배고플"), ("kind", "친절하", "친절했다", "친절할")]
QUALITIES = [("big", "크", "컸다", "클"), ("small", "작", "작았다", "작을"), ("expensive", "비싸", "비쌌다", "비쌀"),
             ("beautiful", "아름답", "아름다웠다", "아름다울")]
THINGS = [("the house", "집"), ("the car", "자동차"), ("the book", "책"), ("the room", "방"), ("the city", "도시"),
          ("the flower", "꽃"), ("the hat", "모자")]
WORK = [("a student", "students", "학생"), ("a teacher", "teachers", "선생님"), ("a doctor", "doctors", "의사"),
        ("a singer", "singers", "가수"), ("a farmer", "farmers", "농부")]
TIMES = {"present": [("", ""), ("every day", "매일")], "past": [("", ""), ("yesterday", "어제")],
         "future": [("", ""), ("tomorrow", "내일")], "wish": [("", "")]}


# ---- Korean: a particle depends on whether the word before it ends in a consonant

def closed(word):
    """Whether the last syllable ends in a consonant: Hangul syllables are in groups of 28 by their end."""
    return (ord(word[-1]) - ord("가")) % 28 != 0


def topic(word):
    return word + ("은" if closed(word) else "는")


def subject(word):
    return word + ("이" if closed(word) else "가")


def object_(word):
    return word + ("을" if closed(word) else "를")


def join(*words):
    return " ".join(word for word in words if word)


# ---- English: the verb after its subject

def be(person, tense, negative):
    form = {"present": {1: "am", 2: "are", 3: "is"}, "past": {1: "was", 2: "were", 3: "was"},
            "future": dict.fromkeys((1, 2, 3), "will be")}[tense][person]
    if not negative:
        return form
    return "will not be" if tense == "future" else form + " not"


def act(verb, person, tense, negative):
    base, third, past = verb[:3]
    does = "does" if person == 3 else "do"
    return {
        ("present", False): third if person == 3 else base, ("present", True): f"{does} not {base}",
        ("past", False): past, ("past", True): f"did not {base}",
        ("future", False): f"will {base}", ("future", True): f"will not {base}",
        ("wish", False): ("wants" if person == 3 else "want") + f" to {base}",
        ("wish", True): f"{does} not want to {base}",
    }[tense, negative]


def predicate(verb, who, tense, negative):
    """The Korean end of a sentence, in the plain style: -ㄴ다 / -는다 for acts."""
    stem, present, past, future = verb[3:7]
    if tense == "wish":  # of others, wishes are told as what they show
        own = who in ("나", "우리")
        wish = {(True, False): "싶다", (True, True): "싶지 않다", (False, False): "싶어 한다",
                (False, True): "싶어 하지 않는다"}
        return f"{stem}고 {wish[own, negative]}"
    return {
        ("present", False): present, ("present", True): f"{stem}지 않는다",
        ("past", False): past, ("past", True): f"{stem}지 않았다",
        ("future", False): f"{future} 것이다", ("future", True): f"{stem}지 않을 것이다",
    }[tense, negative]


def quality(word, tense, negative):
    """The same for what something is like: -다."""
    _, stem, past, future = word
    return {
        ("present", False): f"{stem}다", ("present", True): f"{stem}지 않다",
        ("past", False): past, ("past", True): f"{stem}지 않았다",
        ("future", False): f"{future} 것이다", ("future", True): f"{stem}지 않을 것이다",
    }[tense, negative]


# ---- sentences

def tenses(*names):
    for tense in names:
        for negative in (False, True):
            for time in TIMES[tense]:
                yield tense, negative, time


def acts():
    for verb, person in itertools.product(VERBS, PEOPLE):
        they, them, who, number = person
        for kind in verb[7].split():
            for (what, ko), (tense, negative, time) in itertools.product(
                    OBJECTS[kind], tenses("present", "past", "future", "wish")):
                if them == what or (not verb[8] and (tense == "wish" or time[0])):
                    continue
                if verb[0] == verb[2] and number != 3 and not negative and not time[0] and tense in ("present", "past"):
                    continue  # "I read a book": nobody knows when
                yield (join(they, act(verb, number, tense, negative), what, time[0]),
                       join(topic(who), time[1], object_(ko), predicate(verb, who, tense, negative)))


def ways():
    for (they, _, who, number), (place, ko) in itertools.product(PEOPLE, PLACES):
        for tense, negative, time in tenses("present", "past", "future", "wish"):
            yield (join(they, act(GO, number, tense, negative), place, time[0]),
                   join(topic(who), time[1], ko + "에", predicate(GO, who, tense, negative)))


def states():
    people = [(they, who, number, FEELINGS) for they, _, who, number in PEOPLE]
    things = [(thing, ko, 3, QUALITIES) for thing, ko in THINGS]
    for they, who, number, words in people + things:
        for word, (tense, negative, time) in itertools.product(words, tenses("present", "past", "future")):
            if time[0] and words is QUALITIES:
                continue
            yield (join(they, be(number, tense, negative), word[0], time[0]),
                   join(topic(who), time[1], quality(word, tense, negative)))


def kinds():
    for (they, _, who, number), (one, many, ko) in itertools.product(PEOPLE, WORK):
        if ko == who:
            continue
        what = many if they in ("we", "they") else one
        yield join(they, be(number, "present", False), what), join(topic(who), ko + "이다")
        yield join(they, be(number, "present", True), what), join(topic(who), subject(ko), "아니다")
        was = "이었다" if closed(ko) else "였다"
        yield join(they, be(number, "past", False), what), join(topic(who), ko + was)
        yield join(they, be(number, "past", True), what), join(topic(who), subject(ko), "아니었다")


def having():
    have = ("have", "has", "had")
    ends = {("present", False): "있다", ("present", True): "없다", ("past", False): "있었다", ("past", True): "없었다",
            ("future", False): "있을 것이다", ("future", True): "없을 것이다"}
    for (they, _, who, number), (what, ko) in itertools.product(PEOPLE, OBJECTS["ware"]):
        for (tense, negative), end in ends.items():
            yield join(they, act(have, number, tense, negative), what), join(topic(who), subject(ko), end)


# ---- choosing and writing

def place(english):
    """A number that depends on the sentence alone, so that a larger corpus holds the same sentences out."""
    return int.from_bytes(hashlib.sha256(english.encode()).digest()[:8], "big")


def corpus(pairs):
    first = ("I love you", "나는 너를 사랑한다")
    made = [(english[0].upper() + english[1:], korean)
            for english, korean in itertools.chain(acts(), ways(), states(), kinds(), having())]
    assert first in made
    chosen = sorted(set(made), key=lambda pair: (pair != first, place(pair[0])))[:pairs]
    for side in zip(*chosen):
        assert len(set(side)) == len(side), "one sentence, one translation"
    split = {"train": [], "valid": [], "test": []}
    for pair in chosen:
        part = {0: "valid", 1: "test"}.get(place(pair[0]) // 7919 % 20, "train")
        split["train" if pair == first else part].append(pair)
    return split


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, metavar="OUT_DIR")
    parser.add_argument("--pairs", type=int, default=6000)
    arguments = parser.parse_args()
    split = corpus(arguments.pairs)
    known = {word for pair in split["train"] for side in pair for word in side.split()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part, chosen in split.items():
        chosen = [pair for pair in chosen if known.issuperset(" ".join(pair).split())]
        for side, language in enumerate(("en", "ko")):
            text = "".join(pair[side] + "\n" for pair in chosen)
            (arguments.out / f"{part}.{language}").write_text(text, encoding="utf-8")
        print(f"{part}: {len(chosen)} pairs")


if __name__ == "__main__":
    main()
