"""Validates JSON against the schemas in schemas/output, with only those keywords of JSON Schema (2020-12) that they use.

An unknown keyword is an error, so that every promise of a schema is checked.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "schemas/output"

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
REMARKS = {"$schema", "title", "description"}


def load(name):
    return json.loads((FOLDER / name).read_text())


def complaints(value, schema, where="$"):
    """The violations of the schema, one line each."""
    for word, said in schema.items():
        if word not in REMARKS:
            yield from WORDS[word](value, said, where)


def check_type(value, said, where):
    names = [said] if isinstance(said, str) else said
    if not any(TYPES[name](value) for name in names):
        yield f"{where}: {value!r} is no {' or '.join(names)}"


def check_properties(value, said, where):
    for name, schema in said.items():
        if isinstance(value, dict) and name in value:
            yield from complaints(value[name], schema, f"{where}.{name}")


def check_required(value, said, where):
    for name in said:
        if isinstance(value, dict) and name not in value:
            yield f"{where}: {name} is missing"


def check_items(value, said, where):
    for number, item in enumerate(value if isinstance(value, list) else ()):
        yield from complaints(item, said, f"{where}[{number}]")


def check_enum(value, said, where):
    if value not in said:
        yield f"{where}: {value!r} is none of {said}"


def check_const(value, said, where):
    if value != said:
        yield f"{where}: {value!r} is not {said!r}"


def check_minimum(value, said, where):
    if TYPES["number"](value) and value < said:
        yield f"{where}: {value} is less than {said}"


def check_all_of(value, said, where):
    for schema in said:
        yield from complaints(value, schema, where)


def check_reference(value, said, where):
    yield from complaints(value, load(said), where)


WORDS = {
    "type": check_type,
    "properties": check_properties,
    "required": check_required,
    "items": check_items,
    "enum": check_enum,
    "const": check_const,
    "minimum": check_minimum,
    "allOf": check_all_of,
    "$ref": check_reference,
}


def unknown_members(value, schema, where="$"):
    """Members of objects in the value that the schema does not describe."""
    schemas = [schema] + [load(part["$ref"]) if "$ref" in part else part for part in schema.get("allOf", ())]
    if isinstance(value, dict):
        known = {name: part for one in reversed(schemas) for name, part in one.get("properties", {}).items()}
        for name in value if known else ():
            if name not in known:
                yield f"{where}.{name}"
            else:
                yield from unknown_members(value[name], known[name], f"{where}.{name}")
    for number, item in enumerate(value if isinstance(value, list) else ()):
        yield from unknown_members(item, next((one["items"] for one in schemas if "items" in one), {}), f"{where}[{number}]")
