"""Writing many rows at once, by COPY: ten thousand rows in the time of a hundred INSERTs.

Everything runs in the caller's transaction and on Django's own connection. Column and table names
come from models, never from data.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection, models
from psycopg import sql

# Below this a plain INSERT is faster than filling a temporary table first.
FEW = 40

Row = Sequence[Any]


def is_empty(rows: models.QuerySet[Any], count: int) -> bool:
    """Whether `count` rows can simply be added: there are many of them, and none are there yet."""
    return count > FEW and not rows.exists()


def insert(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Add rows that are known to be new."""
    if rows:
        _copy(sql.Identifier(model._meta.db_table), columns, rows)


def upsert(
    model: type[models.Model],
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    key: Sequence[str],
    where: str = "",
    update: bool = True,
) -> None:
    """Add rows, and update those whose key is there already (or, without `update`, leave them).

    The key must be that of a unique constraint, with its condition as `where`. A row whose values
    are all the same is not written again. No two of `rows` may have the same key.
    """
    if not rows:
        return
    table = sql.Identifier(model._meta.db_table)
    rest = [name for name in columns if name not in key] if update else []
    tail = _on_conflict(table, key, rest, where)
    names = _names(columns)
    with connection.cursor() as cursor:
        if len(rows) <= FEW:
            marks = sql.SQL(", ").join(sql.Placeholder() for _ in columns)
            query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) {}").format(table, names, marks, tail)
            cursor.executemany(query, rows)
            return
        staged = sql.Identifier(f"staged_{model._meta.db_table}_{len(columns)}")
        create = (
            "CREATE TEMPORARY TABLE IF NOT EXISTS {} ON COMMIT DELETE ROWS"
            " AS SELECT {} FROM {} WITH NO DATA"
        )
        cursor.execute(sql.SQL(create).format(staged, names, table))
        _copy(staged, columns, rows)
        move = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} {}")
        cursor.execute(move.format(table, names, names, staged, tail))


def _on_conflict(
    table: sql.Identifier, key: Sequence[str], rest: Sequence[str], where: str
) -> sql.Composed:
    target = sql.SQL("ON CONFLICT ({})").format(_names(key))
    if where:
        target += sql.SQL(" WHERE ") + sql.SQL(where)
    if not rest:
        return target + sql.SQL(" DO NOTHING")
    sets = sql.SQL(", ").join(
        sql.SQL("{} = excluded.{}").format(sql.Identifier(name), sql.Identifier(name))
        for name in rest
    )
    mine = sql.SQL(", ").join(sql.SQL("{}.{}").format(table, sql.Identifier(n)) for n in rest)
    new = sql.SQL(", ").join(sql.SQL("excluded.{}").format(sql.Identifier(n)) for n in rest)
    return target + sql.SQL(" DO UPDATE SET {} WHERE ({}) IS DISTINCT FROM ({})").format(
        sets, mine, new
    )


def _copy(table: sql.Identifier, columns: Sequence[str], rows: Sequence[Row]) -> None:
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(table, _names(columns))
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(query) as copy,
    ):
        write = copy.write_row
        for row in rows:
            write(row)


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(name) for name in columns)
