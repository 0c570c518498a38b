"""A table as a spreadsheet (Office Open XML), written as it goes out: numbers stay numbers."""

import io
import zipfile
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

Cell = str | int | float | None

_TYPES = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.sheet.main+xml"/>{sheets}</Types>'
)
_SHEET_TYPE = (
    '<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.worksheet+xml"/>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inside}'
    "</Relationships>"
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
MIME = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
LONGEST_CELL = 32_000


def workbook(sheets: Sequence[tuple[str, Iterable[Sequence[Cell]]]]) -> bytes:
    """A workbook of named sheets, each a sequence of rows, the first of them the heading."""
    out = io.BytesIO()
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        types = "".join(_SHEET_TYPE.format(n=n) for n in numbers)
        archive.writestr("[Content_Types].xml", _TYPES.format(sheets=types))
        archive.writestr("_rels/.rels", _relation([("officeDocument", "xl/workbook.xml")]))
        links = [("worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
        archive.writestr("xl/_rels/workbook.xml.rels", _relation(links))
        archive.writestr("xl/workbook.xml", _workbook([name for name, _ in sheets]))
        for number, (_, rows) in zip(numbers, sheets, strict=True):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", _sheet(rows))
    return out.getvalue()


def _relation(links: Sequence[tuple[str, str]]) -> str:
    inside = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(links, 1)
    )
    return _RELATIONS.format(inside=inside)


def _workbook(names: Sequence[str]) -> str:
    inside = "".join(
        f'<sheet name="{_text(name[:31], quote=True)}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(names, 1)
    )
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{inside}</sheets></workbook>'


def _sheet(rows: Iterable[Sequence[Cell]]) -> str:
    inside = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{inside}</sheetData></worksheet>'


def _cell(value: Cell) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        # A text cell is never taken for a formula.
        return f'<c t="inlineStr"><is><t xml:space="preserve">{_text(value)}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def _text(value: str, *, quote: bool = False) -> str:
    """As XML has it: without control characters, halves of characters, and what is none."""
    kept = (
        letter
        for letter in value[:LONGEST_CELL]
        if letter >= " " and not "\ud800" <= letter <= "\udfff" and letter not in "\ufffe\uffff"
    )
    return escape("".join(kept), {'"': "&quot;"} if quote else {})
