"""The look-ups of requests in SQL, by the driver's own connection."""

from gateway.storage.sql.lookups.answers import SqlLookups
from gateway.storage.sql.lookups.on_sqlite import SqliteQuestions
from gateway.storage.sql.lookups.question import Question, Questioner, Values
from gateway.storage.sql.lookups.statements import Questions
