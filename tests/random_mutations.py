"""Mutations made mechanically from any line of the product: an operator, a constant, an index, two arguments, a term of a
sum or a statement is another one or gone. Lines are found by the house's formatting (clang-format), not by a parser: what
does not compile is dropped by check_mutations.py."""
import random
import re

OPERATORS = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"],
             ">=": [">", "<="], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"]}
OPERATOR = re.compile(r"(?<= )(\+|-|\*|/|<=?|>=?|==|!=|&&|\|\|)(?= |$)", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])(\d[\d.]*(?:e[+-]?\d+)?)(_\w+)?(?![\w.'])")
WORD = re.compile(r"\b(true|false|std::min|std::max)\b(?![<:])")
OTHER_WORD = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
INDEX = re.compile(r"(?<=[\w)\]])\[([^\[\]\n]*[a-z][^\[\]\n]*)\](?! ?\()")
CALL = re.compile(r"[\w:.>-]*\w\(([^(){}\n]+, [^(){}\n]+)\)")
COMMA = re.compile(", ")
STATEMENT = re.compile(r"^ +(?![-.])((?:[\w.>:()\[\]*-]+ [-+*/|&]?= |[\w.:>\[\]-]+\()[^\n]*;)$", re.MULTILINE)
# What nobody can see: which of two comes first where the answer is of both, and room made for what is put there later.
SYMMETRIC = re.compile(r"std::(min|max|minmax|gcd|lcm|hypot)\(")
RESERVES = re.compile(r"\.(reserve|shrink_to_fit)\(")
DROPPED = re.compile(r" [-+] [^-+*/<>=&|?:;,(){}\[\]\n]*(?:\([^()\n]*\))?(?=[);,]| [-+<>=&|?:])")
ENDS = [" = ", " += ", " -= ", " *= ", " /= ", "return ", " << ", " ? ", " : "]
HEAD = re.compile(r"(?:if|for|while|switch)(?: constexpr)? \(") # what a statement under it begins behind
BLOCK = re.compile(r"[{;]\s*\n") # statements, no expression
OPEN, CLOSED = "([{", ")]}"


def blanked(text):
    """The text without what comments, literals and directives say; every place stays where it is."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])\'|^ *#[^\n]*'
    return re.sub(pattern, lambda it: re.sub(r"[^\n]", "_", it.group()), text, flags=re.DOTALL | re.MULTILINE)


def bodies(text):
    """Of functions whose braces stand alone at the left edge, or that a class holds on one line."""
    found = [it.span() for it in re.finditer(r"^\{$.*?^\}$", text, re.DOTALL | re.MULTILINE)
             if "constexpr" not in text[text.rfind("\n\n", 0, it.start()) + 1:it.start()]]
    found += [it.span(1) for it in re.finditer(r"^ +(?!constexpr)[^\n]*\)(?: const)? (\{ [^\n]* \})$", text, re.MULTILINE)]
    return found


def closing(text, begin, end):
    """Where the bracket closes within which text[begin] stands."""
    depth = 1
    for at in range(begin, end):
        depth += (text[at] in OPEN) - (text[at] in CLOSED)
        if depth == 0:
            return at
    return end


def around(text, begin, end, low, high):
    """The expression that text[begin:end] stands in: up to a bracket, a comma, an assignment or a statement's end."""
    depth = 0
    while begin > low:
        before = text[begin - 1]
        depth += (before in CLOSED) - (before in OPEN)
        if depth < 0 or depth == 0 and (before in ",;" or any(text.endswith(it, low, begin) for it in ENDS)):
            break
        begin -= 1
    depth = 0
    while end < high:
        after = text[end]
        depth += (after in OPEN) - (after in CLOSED)
        if depth < 0 or depth == 0 and (after in ",;" or any(text.startswith(it, end) for it in ENDS)):
            break
        end += 1
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    while head := HEAD.match(text, begin, end):
        begin = closing(text, head.end(), end) + 1
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    return begin, begin + len(text[begin:end].rstrip())


def other_numbers(number):
    made = {"0": ["1"], "1": ["0", "2"], "0.0": ["1.0"], "1.0": ["0.0", "2.0"]}.get(number)
    return made or [f"{number} + 1", f"{number} * 2"]


def candidates(text):
    """(begin, end, instead) of the text: what the mutation replaces, and by what; '' drops a statement."""
    code = blanked(text)
    one_line = code.replace("\n", " ")
    for low, high in bodies(code):
        def inside(begin, end, piece_begin, piece_end, piece):
            begin, end = around(one_line, begin, end, low + 1, high - 1)
            return begin, end, text[begin:piece_begin] + piece + text[piece_end:end]

        def found(pattern):
            return pattern.finditer(code, low + 1, high - 1)

        for it in found(OPERATOR):
            if it.group() == "+" and (text[:it.start()].rstrip()[-1:] == '"' or text[it.end():].lstrip()[:1] == '"'):
                continue # nothing is subtracted from a text
            for other in OPERATORS[it.group()]:
                yield inside(*it.span(), *it.span(), other)
        for it in found(NUMBER):
            for other in other_numbers(it.group(1)):
                suffix = it.group(2) or ""
                yield *it.span(), f"({other})" if not suffix else other.split(" ")[0] + suffix
        for it in found(WORD):
            yield inside(*it.span(), *it.span(), OTHER_WORD[it.group()])
        for it in found(INDEX):
            for step in (" + 1", " - 1"):
                yield inside(*it.span(), *it.span(1), text[it.start(1):it.end(1)] + step)
        for it in found(CALL):
            if SYMMETRIC.match(it.group()):
                continue
            # Commas within literals are blanked in the code.
            ends = [it.start(1) - 2, *(at.start() for at in COMMA.finditer(code, *it.span(1))), it.end(1)]
            arguments = [text[a + 2:b] for a, b in zip(ends, ends[1:])]
            for i in range(len(arguments) - 1):
                if (arguments[i][:1] == '"') != (arguments[i + 1][:1] == '"'):
                    continue # a text and something else
                swapped = arguments[:i] + [arguments[i + 1], arguments[i]] + arguments[i + 2:]
                yield inside(*it.span(), *it.span(1), ", ".join(swapped))
        for it in found(DROPPED):
            yield inside(*it.span(), *it.span(), "")
        for it in found(STATEMENT):
            if RESERVES.search(it.group()):
                continue
            if it.group().count("(") == it.group().count(")"): # not the end of a longer one
                yield *it.span(1), ""


def flat(text):
    """On one line, so that the lines of the file keep their numbers."""
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


def sample(texts, count, seed):
    """At most one mutation of a line, every line as likely as another; texts by file."""
    by_line = {}
    for file, text in sorted(texts.items()):
        for begin, end, instead in candidates(text):
            if flat(text[begin:end]) != flat(instead) and "[" != text[begin:begin + 1] and not BLOCK.search(text, begin, end):
                by_line.setdefault((file, text.count("\n", 0, begin) + 1), []).append((begin, end, flat(instead)))
    chance = random.Random(seed)
    lines = sorted(by_line)
    chance.shuffle(lines)
    taken, chosen = {}, []
    for file, line in lines:
        begin, end, instead = chance.choice(by_line[file, line])
        last = line + texts[file].count("\n", begin, end)
        if any(line <= b and a <= last for a, b in taken.setdefault(file, [])):
            continue
        taken[file].append((line, last))
        chosen.append({"file": file, "room": file.split("/")[0], "at": (begin, end), "lines": (line, last),
                       "from": texts[file][begin:end], "to": instead, "number": len(chosen) + 1})
        if len(chosen) == count:
            break
    return chosen
