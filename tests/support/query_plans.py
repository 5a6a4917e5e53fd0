"""The plans of statements: how a database would execute them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CursorResult, Delete, Executable, Select, Update, text

from gateway.storage.sql.asynchronous import AsyncConnection
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.transaction import Parameters, Transaction


class ExplainedTransaction(Transaction):
    """Notes the plan of each statement before it is executed."""

    def __init__(self, connection: AsyncConnection) -> None:
        super().__init__(connection)
        self._explained = connection
        self.plans: list[str] = []

    async def execute(
        self, statement: Executable, parameters: Parameters | None = None, *, taken: str = ""
    ) -> CursorResult[Any]:
        """Execute, and note the plan."""
        await self._note(statement)
        return await super().execute(statement, parameters, taken=taken)

    async def fetch(self, query: FixedQuery, **given: Any) -> Sequence[Any]:
        """Return the rows, and note the plan."""
        await self._note(query.statement.params(**given))
        return await super().fetch(query, **given)

    async def _note(self, statement: Executable) -> None:
        if isinstance(statement, Select | Update | Delete):
            compiled = statement.compile(
                dialect=self._explained.dialect, compile_kwargs={"literal_binds": True}
            )
            explain = "EXPLAIN QUERY PLAN" if self.dialect == "sqlite" else "EXPLAIN"
            written = str(compiled).replace(":", r"\:").replace("%%", "%")
            plan = await super().execute(text(f"{explain} {written}"))
            self.plans.append("\n".join(str(row[-1]) for row in plan))
