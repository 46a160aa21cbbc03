"""Parser of expressions, by precedence (PostgreSQL's manual, table 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from verifiers.sql.errors import NotSupported
from verifiers.sql.functions import SCALAR_FUNCTIONS
from verifiers.sql.names import AGGREGATES, CLOCKS, RESERVED, TYPES, WINDOW_FUNCTIONS
from verifiers.sql.syntax import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expression,
    InList,
    InQuery,
    Literal,
    Order,
    Query,
    Scalar,
    Unary,
    Window,
)
from verifiers.sql.tokens import Token, tokens

MAX_DEPTH = 40
MAX_DIGITS = 400
_COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SUMS, _PRODUCTS = ("+", "-"), ("*", "/", "%")
_LARGEST = {"int4": 2**31 - 1, "int8": 2**63 - 1}


class ExpressionParser:
    """A parser at a place of its text."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.place = 0
        self.depth = 0

    # the text

    @property
    def here(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.place]

    def ahead(self, number: int) -> list[Token]:
        """Return the tokens after the next one."""
        return self.tokens[self.place + 1 : self.place + 1 + number]

    def next(self) -> Token:
        """Take the next token."""
        token = self.here
        if token.kind == "end":
            raise self.unexpected("more of the query")
        self.place += 1
        return token

    def take(self, text: str) -> bool:
        """Take the next token if it is this word or sign."""
        if self.here.kind in {"word", "sign"} and self.here.text == text:
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Take this word or sign.

        Raises:
            NotSupported: something else comes next.
        """
        if not self.take(text):
            raise self.unexpected(text.upper())

    def unexpected(self, wanted: str) -> NotSupported:
        """Return the error for the next token."""
        return self.refused(f"the query has something else where {wanted} is expected")

    def refused(self, message: str) -> NotSupported:
        """Return the error about what is here."""
        return NotSupported(message, self.here.place)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Count how deep the query nests."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotSupported(f"the query nests deeper than {MAX_DEPTH} levels")
        yield
        self.depth -= 1

    def name(self) -> str:
        """Take a name."""
        if self.here.kind == "quoted" or (self.here.kind == "word" and self.here.text not in RESERVED):
            return self.next().text
        raise self.unexpected("a name")

    def label(self) -> str:
        """Take the name after AS, which may be any word."""
        if self.here.kind in {"quoted", "word"}:
            return self.next().text
        raise self.unexpected("a name")

    def query(self) -> Query:
        """Parse a query; see `verifiers.sql.parser`."""
        raise NotImplementedError

    # expressions, from the weakest operator to the strongest

    def expressions(self) -> tuple[Expression, ...]:
        """Parse expressions with commas between them."""
        made = [self.expression()]
        while self.take(","):
            made.append(self.expression())
        return tuple(made)

    def expression(self) -> Expression:
        """Parse an expression."""
        with self.deeper():
            left = self._conjunction()
            while self.take("or"):
                left = Binary("or", left, self._conjunction())
            return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self.take("and"):
            left = Binary("and", left, self._negation())
        return left

    def _negation(self) -> Expression:
        if self.take("not"):
            return Unary("not", self._negation())
        return self._predicate(self._comparison())

    def _comparison(self) -> Expression:
        left = self._ranged(self._joined_text())
        if self.here.kind == "sign" and self.here.text in _COMPARISONS:
            operator = _COMPARISONS[self.next().text]
            if self.here.text in {"any", "all", "some"}:
                return self._any(operator, left)
            return Binary(operator, left, self._ranged(self._joined_text()))
        return left

    def _any(self, operator: str, left: Expression) -> Expression:
        word = self.next().text
        self.expect("(")
        if word != "all" and operator == "=" and self.here.text == "array" and self.ahead(1)[0].text == "[":
            self.next(), self.next()
            items = self.expressions()
            self.expect("]")
            self.expect(")")
            return InList(left, items)
        if word == "all" or operator != "=" or self.here.text != "select":
            raise self.refused(f"the query has {operator} {word.upper()}")
        query = self.query()
        self.expect(")")
        return InQuery(left, query)

    def _predicate(self, left: Expression) -> Expression:
        while self.take("is"):
            negated = self.take("not")
            if self.take("null"):
                made: Expression = Unary("is null", left)
            elif self.here.text in {"true", "false"}:
                made = Binary("is", left, Literal(self.next().text == "true", "bool"))
            elif self.take("distinct"):
                self.expect("from")
                made = Unary("not", Binary("is", left, self._joined_text()))
            else:
                raise self.refused("the query has IS with a word that is not evaluated here")
            left = Unary("not", made) if negated else made
        return left

    def _ranged(self, left: Expression) -> Expression:
        while self.here.kind == "word" and self.here.text in {"between", "in", "like", "ilike", "not"}:
            if self.here.text == "not" and self.ahead(1)[0].text not in {"between", "in", "like", "ilike"}:
                break
            negated = self.take("not")
            made = self._range_of(self.next().text, left)
            left = Unary("not", made) if negated else made
        return left

    def _range_of(self, word: str, left: Expression) -> Expression:
        if word == "between":
            if self.take("symmetric"):
                raise self.refused("the query has BETWEEN SYMMETRIC")
            least = self._joined_text()
            self.expect("and")
            most = self._joined_text()
            return Binary("and", Binary(">=", left, least), Binary("<=", left, most))
        if word == "in":
            self.expect("(")
            made: Expression
            if self.here.text in {"select", "with", "values"} and self.here.kind == "word":
                made = InQuery(left, self.query())
            else:
                made = InList(left, self.expressions())
            self.expect(")")
            return made
        pattern = self._joined_text()
        if self.here.text == "escape":
            raise self.refused("the query has ESCAPE")
        return Binary(word, left, pattern)

    def _joined_text(self) -> Expression:
        left = self._sum()
        while self.take("||"):
            left = Binary("||", left, self._sum())
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self.here.kind == "sign" and self.here.text in _SUMS:
            left = Binary(self.next().text, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while self.here.kind == "sign" and self.here.text in _PRODUCTS:
            left = Binary(self.next().text, left, self._signed())
        return left

    def _signed(self) -> Expression:
        if self.take("-"):
            return Unary("-", self._signed())
        if self.take("+"):
            return self._signed()
        value = self._primary()
        while self.take("::"):
            value = self._cast(value)
        return value

    def _cast(self, value: Expression) -> Expression:
        name, modifiers = self._type()
        return Cast(value, name, modifiers)

    def _type(self) -> tuple[str, tuple[int, ...]]:
        started = self.here.place
        word = self.next().text
        if word in {"double", "character"} and self.here.text in {"precision", "varying"}:
            word += f" {self.next().text}"
        modifiers: tuple[int, ...] = ()
        if self.here.text == "(" and self.here.kind == "sign":
            self.next()
            found = self.expressions()
            self.expect(")")
            if not all(isinstance(item, Literal) and item.type == "int4" for item in found):
                raise self.refused("the query has a type with a length that is no number")
            modifiers = tuple(item.value for item in found if isinstance(item, Literal))
        if word == "timestamp" and self.here.text in {"with", "without"}:
            word += f" {self.next().text} {self.next().text} {self.next().text}"
        if word not in TYPES or (modifiers and TYPES[word] not in {"text", "numeric"}):
            raise NotSupported("the query has a type that is not evaluated here", started)
        return TYPES[word], modifiers

    # primaries

    def _primary(self) -> Expression:
        token = self.here
        match token.kind:
            case "number":
                self.next()
                return _number(token.text)
            case "string":
                self.next()
                return Literal(token.text, "unknown")
            case "sign" if token.text == "(":
                return self._brackets()
            case "quoted":
                return self._column(self.next().text)
            case "word":
                return self._word(token.text)
        raise self.unexpected("an expression")

    def _brackets(self) -> Expression:
        self.expect("(")
        made: Expression
        if self.here.kind == "word" and self.here.text in {"select", "with", "values"}:
            made = Scalar(self.query())
        else:
            made = self.expression()
            if self.here.text == ",":
                raise self.refused("the query has a row in brackets")
        self.expect(")")
        return made

    def _word(self, word: str) -> Expression:  # noqa: PLR0911 - one return for each form
        follower = self.ahead(1)[0]
        if word in CLOCKS and (follower.text == "(" or word.startswith(("current_", "local"))):
            raise self.refused(f"the query has {word}, which depends on the clock or on chance")
        if word in {"null", "true", "false"}:
            self.next()
            return Literal(None, "unknown") if word == "null" else Literal(word == "true", "bool")
        if word in {"date", "timestamp", "timestamptz"} and follower.kind == "string":
            self.next()
            return Cast(Literal(self.next().text, "unknown"), TYPES[word])
        if word == "case":
            return self._case()
        if word == "cast":
            return self._cast_call()
        if word == "exists" and follower.text == "(":
            self.next(), self.next()
            query = self.query()
            self.expect(")")
            return Exists(query)
        if follower.text == "(" and follower.kind == "sign":
            self.next()
            return self._call(word)
        return self._column(self.name())

    def _column(self, name: str) -> Expression:
        if not self.take("."):
            return Column(None, name)
        second = self.label()
        if self.here.text == "(" and self.here.kind == "sign" and name == "pg_catalog":
            return self._call(second)
        if self.take("."):
            return Column(second, self.label())
        return Column(name, second)

    def _cast_call(self) -> Expression:
        self.next()
        self.expect("(")
        value = self.expression()
        self.expect("as")
        made = self._cast(value)
        self.expect(")")
        return made

    def _case(self) -> Expression:
        self.next()
        operand = None if self.here.text == "when" else self.expression()
        whens = []
        while self.take("when"):
            condition = self.expression()
            self.expect("then")
            whens.append((condition if operand is None else Binary("=", operand, condition), self.expression()))
        if not whens:
            raise self.unexpected("WHEN")
        otherwise = self.expression() if self.take("else") else None
        self.expect("end")
        return Case(tuple(whens), otherwise)

    # calls

    def _call(self, name: str) -> Expression:
        if name not in AGGREGATES | WINDOW_FUNCTIONS | SCALAR_FUNCTIONS:
            raise NotSupported(
                "the query calls a function that is not evaluated here", self.tokens[self.place - 1].place
            )
        self.expect("(")
        if self.take("*"):
            self.expect(")")
            return self._after_call(Call(name, (), star=True))
        distinct = self.take("distinct")
        arguments = () if self.here.text == ")" and self.here.kind == "sign" else self._arguments(name)
        order: tuple[Order, ...] = ()
        if self.take("order"):
            self.expect("by")
            order = self.orders()
        self.expect(")")
        return self._after_call(Call(name, arguments, distinct=distinct, order=order))

    def _arguments(self, name: str) -> tuple[Expression, ...]:
        match name:
            case "extract":
                field = self.next().text
                self.expect("from")
                return (Literal(field, "unknown"), self.expression())
            case "position":
                part = self._joined_text()
                self.expect("in")
                return (self.expression(), part)
            case "trim" if self.here.text in {"both", "leading", "trailing", "from"}:
                raise self.refused("the query has TRIM with FROM")
            case "substring":
                text = self.expression()
                if self.take("from"):
                    start = self.expression()
                    return (text, start, self.expression()) if self.take("for") else (text, start)
                self.take(",")
                return (text, *self.expressions())
        return self.expressions()

    def _after_call(self, call: Call) -> Expression:
        where, over = None, None
        if self.here.text in {"within", "respect", "ignore"} and self.ahead(1)[0].text in {"group", "nulls"}:
            raise self.refused(f"the query has {self.here.text.upper()} {self.ahead(1)[0].text.upper()}")
        if self.here.text == "filter" and self.ahead(1)[0].text == "(":
            self.next(), self.next()
            self.expect("where")
            where = self.expression()
            self.expect(")")
        if self.take("over"):
            over = self._window()
        is_aggregate, is_window = call.name in AGGREGATES, call.name in WINDOW_FUNCTIONS
        if (is_window and (over is None or call.distinct or where)) or (over is not None and call.distinct):
            raise self.refused(f"the query calls {call.name} in a form that is not evaluated here")
        if not is_aggregate and not is_window and (over is not None or where or call.distinct or call.order):
            raise self.refused(f"the query calls {call.name} as an aggregate")
        if call.star and call.name != "count":
            raise self.refused(f"the query calls {call.name} with a star")
        return Call(call.name, call.arguments, call.star, call.distinct, call.order, where, over)

    def _window(self) -> Window:
        self.expect("(")
        partition: tuple[Expression, ...] = ()
        order: tuple[Order, ...] = ()
        if self.take("partition"):
            self.expect("by")
            partition = self.expressions()
        if self.take("order"):
            self.expect("by")
            order = self.orders()
        frame = self._frame() if self.here.text in {"rows", "range"} else "range" if order else "all"
        self.expect(")")
        return Window(partition, order, frame)

    def _frame(self) -> str:
        words = []
        while not (self.here.kind == "sign" and self.here.text == ")"):
            words.append(self.next().text)
        match " ".join(words):
            case (
                "rows between unbounded preceding and current row"
                | "rows unbounded preceding"
                | "range between unbounded preceding and current row"
                | "range unbounded preceding"
            ):
                return words[0]
            case (
                "rows between unbounded preceding and unbounded following"
                | "range between unbounded preceding and unbounded following"
            ):
                return "all"
        raise self.refused("the query has a window of another frame than from the first row")

    def orders(self) -> tuple[Order, ...]:
        """Parse the keys of an order."""
        made = [self._order()]
        while self.take(","):
            made.append(self._order())
        return tuple(made)

    def _order(self) -> Order:
        key = self.expression()
        descending = self.take("desc")
        if not descending:
            self.take("asc")
        nulls_first = descending
        if self.take("nulls"):
            nulls_first = self.take("first")
            if not nulls_first:
                self.expect("last")
        return Order(key, descending, nulls_first)


def _number(text: str) -> Literal:
    if text.isdigit():
        number = int(text) if len(text) < MAX_DIGITS else 2**64
        for type_, largest in _LARGEST.items():
            if number <= largest:
                return Literal(number, type_)
    value = Decimal(text)
    if abs(value.adjusted()) > MAX_DIGITS:
        raise NotSupported("the query has a number that is too large")
    exponent = value.as_tuple().exponent
    return Literal(value.quantize(Decimal(1)) if isinstance(exponent, int) and exponent > 0 else value, "numeric")
