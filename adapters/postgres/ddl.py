"""DDL statements with names of schemas, tables and columns, which cannot be bind parameters."""

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

# A name; a table qualified with its schema; or a list of either.
Names = str | tuple[str, str] | list[str] | list[tuple[str, str]]


class Ddl(ExecutableDDLElement):
    """A statement with `{}` for each name or list of names, which are quoted where needed."""

    def __init__(self, statement: str, *names: Names) -> None:
        self.statement, self.names = statement, names


@compiles(Ddl)
def _ddl(element: Ddl, compiler: DDLCompiler, **_: object) -> str:
    def quoted(names: Names) -> str:
        if isinstance(names, str):
            return compiler.preparer.quote(names)
        return (", " if isinstance(names, list) else ".").join(map(quoted, names))

    return element.statement.format(*map(quoted, element.names))
