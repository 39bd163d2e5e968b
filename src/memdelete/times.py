"""
How stores write times: one frozen record per encoding, with its reading in Python.

Every encoding reads what is stored as an instant on the grain of a microsecond, or finds it
unreadable; the dialects say the same in SQL, and are held against these readings. No SQL and no
clock may enter. Stores and compilers visit.
"""

from __future__ import annotations

import math
import re

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from attrs import field, frozen
from attrs.validators import in_

from .errors import StoreError
from .memories import UNKNOWN, Unknown


__all__ = [
    "EPOCHS",
    "EPOCH_TEXT",
    "FIRST_MICROSECOND",
    "ISO_TEXT",
    "LAST_MICROSECOND",
    "EpochMicros",
    "EpochMillis",
    "EpochSeconds",
    "ISOText",
    "Native",
    "TimeEncoding",
    "cut",
    "from_micros",
    "to_micros",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST_MICROSECOND: Final = -62_135_596_800_000_000
"""The first instant of the year 1, in microseconds since 1970."""
LAST_MICROSECOND: Final = 253_402_300_799_999_999
"""The last instant of the year 9999. A stored time outside of these is unreadable."""

EPOCH_TEXT: Final = r"-?\d{1,18}(\.\d{1,6})?"
"""An epoch written as text: at most six digits after the point, no exponent, no plus."""
ISO_TEXT: Final = (
    r"(?P<date>\d{4}-\d\d-\d\d)([T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)"
    r"(:(?P<second>[0-5]\d)(\.(?P<fraction>\d{1,9}))?)?"
    r" ?(?P<offset>Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?)?"
)
"""The ISO forms that stores are found to hold; digits after the sixth are cut off."""

_EPOCH_FORM = re.compile(EPOCH_TEXT, re.ASCII)
_ISO_FORM = re.compile(ISO_TEXT, re.ASCII)

Storage = Literal["integer", "real", "text"]


@frozen
class EpochSeconds:
    """
    Seconds since 1970 in UTC, as *storage* integer, real or text.

    A real is read to the nearest microsecond, as `datetime.fromtimestamp` reads it. In SQLite
    integers and reals are both read, whichever is declared.
    """

    column: str
    storage: Storage = field(default="real", validator=in_(("integer", "real", "text")))
    per_second: int = field(default=1, init=False)

    def decode(self, raw: object) -> datetime | Unknown | None:
        """
        The instant of a stored value: None for NULL, `UNKNOWN` where it is no instant.
        """
        return _decode_epoch(raw, self.storage, self.per_second)

    def encode(self, at: datetime) -> int | float | str:
        """
        What the store would write for *at*; an integer storage cuts what is below its grain.
        """
        return _encode_epoch(at, self.storage, self.per_second)


@frozen
class EpochMillis:
    """
    Milliseconds since 1970 in UTC, as *storage* integer, real or text.
    """

    column: str
    storage: Storage = field(default="integer", validator=in_(("integer", "real", "text")))
    per_second: int = field(default=1_000, init=False)

    def decode(self, raw: object) -> datetime | Unknown | None:
        """
        The instant of a stored value: None for NULL, `UNKNOWN` where it is no instant.
        """
        return _decode_epoch(raw, self.storage, self.per_second)

    def encode(self, at: datetime) -> int | float | str:
        """
        What the store would write for *at*; an integer storage cuts what is below its grain.
        """
        return _encode_epoch(at, self.storage, self.per_second)


@frozen
class EpochMicros:
    """
    Microseconds since 1970 in UTC, as *storage* integer, real or text.

    Read strictly in the declared storage: beyond the year 2255 a real no longer holds them all.
    """

    column: str
    storage: Storage = field(default="integer", validator=in_(("integer", "real", "text")))
    per_second: int = field(default=1_000_000, init=False)

    def decode(self, raw: object) -> datetime | Unknown | None:
        """
        The instant of a stored value: None for NULL, `UNKNOWN` where it is no instant.
        """
        kind = {"integer": int, "real": float, "text": str}[self.storage]
        if raw is not None and not isinstance(raw, kind):
            return UNKNOWN

        return _decode_epoch(raw, self.storage, self.per_second)

    def encode(self, at: datetime) -> int | float | str:
        """
        What the store would write for *at*.
        """
        return _encode_epoch(at, self.storage, self.per_second)


@frozen
class ISOText:
    """
    ISO 8601 text, in any mixture of its common forms: date alone, ``T`` or blank, fraction, offset.

    Without an offset a text is read in UTC, or, with ``naive="unknown"``, not at all. *form* is
    the `strftime` form that the store's own deletes write.
    """

    column: str
    form: str = "%Y-%m-%dT%H:%M:%S.%fZ"
    naive: Literal["utc", "unknown"] = field(default="utc", validator=in_(("utc", "unknown")))

    def decode(self, raw: object) -> datetime | Unknown | None:
        """
        The instant of a stored value: None for NULL, `UNKNOWN` where it is no instant.
        """
        if raw is None:
            return None
        form = _ISO_FORM.fullmatch(raw) if isinstance(raw, str) else None
        if form is None or (form["offset"] is None and self.naive == "unknown"):
            return UNKNOWN
        try:
            days = date.fromisoformat(form["date"]) - _EPOCH.date()
        except ValueError:
            return UNKNOWN
        clock = timedelta(
            hours=int(form["hour"] or 0),
            minutes=int(form["minute"] or 0),
            seconds=int(form["second"] or 0),
            microseconds=int((form["fraction"] or "").ljust(6, "0")[:6]),
        )
        return from_micros((days + clock - _offset(form["offset"])) // _MICROSECOND)

    def encode(self, at: datetime) -> str:
        """
        *at* in the store's own form, cut to what the form holds.
        """
        at = _EPOCH + (at - _EPOCH)  # in UTC, and no naive one: astimezone asks the host for those
        # strftime does not pad years below 1000 on every platform; isoformat does.
        form = self.form.replace("%Y", at.isoformat()[:4])

        return at.strftime(form)


@frozen
class Native:
    """
    The engine's own timestamp type; without a zone (*zoned* False) it is read in UTC.
    """

    column: str
    zoned: bool = True

    def decode(self, raw: object) -> datetime | Unknown | None:
        """
        The instant of a stored value: None for NULL, `UNKNOWN` where it is no instant.
        """
        match raw:
            case None:
                return None
            case datetime():
                return from_micros(to_micros(raw if raw.tzinfo else raw.replace(tzinfo=UTC)))
            case _:
                return UNKNOWN

    def encode(self, at: datetime) -> datetime:
        """
        *at* as a driver takes it: aware where the column has a zone, naive UTC where not.
        """
        return at if self.zoned else (_EPOCH + (at - _EPOCH)).replace(tzinfo=None)


TimeEncoding: TypeAlias = EpochSeconds | EpochMillis | EpochMicros | ISOText | Native
EPOCHS: TypeAlias = EpochSeconds | EpochMillis | EpochMicros


def to_micros(at: datetime) -> int:
    """
    Microseconds since 1970 of an aware datetime, exactly.
    """
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime | Unknown:
    """
    The instant of *micros* since 1970; `UNKNOWN` outside the years 1 to 9999.
    """
    if not FIRST_MICROSECOND <= micros <= LAST_MICROSECOND:
        return UNKNOWN

    return _EPOCH + micros * _MICROSECOND


def cut(micros: int, per_second: int) -> float:
    """
    The smallest real number of units that reads as *micros* or later.

    Below it every stored real is an earlier instant, from it on none is: so a comparison with
    the bare column says exactly what comparing the instants would.
    """
    # Reals are read to the nearest microsecond, and in the middle between two to the even one:
    # the bound is half a microsecond early. The quotient of two integers is correctly rounded.
    half, grain = 2 * micros - 1, 2_000_000 // per_second
    bound = half / grain
    over, under = bound.as_integer_ratio()
    beyond = over * grain - half * under
    if beyond < 0 or (beyond == 0 and micros % 2):
        bound = math.nextafter(bound, math.inf)

    return bound


def _decode_epoch(raw: object, storage: Storage, per_second: int) -> datetime | Unknown | None:
    scale = 1_000_000 // per_second
    if raw is None:
        return None
    if storage == "text":
        if not (isinstance(raw, str) and _EPOCH_FORM.fullmatch(raw)):
            return UNKNOWN
        exact = Fraction(Decimal(raw)) * scale
        return from_micros(math.floor(exact))
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return UNKNOWN
    if isinstance(raw, float) and not math.isfinite(raw):
        return UNKNOWN

    return from_micros(round(Fraction(raw) * scale))


def _encode_epoch(at: datetime, storage: Storage, per_second: int) -> int | float | str:
    micros, scale = to_micros(at), 1_000_000 // per_second
    match storage:
        case "integer":
            return micros // scale
        case "real":
            return float(Fraction(micros, scale))
        case "text":
            whole, part = divmod(abs(micros), scale)
            digits = f"{part:0{len(str(scale)) - 1}d}".rstrip("0") if part else ""
            return f"{'-' * (micros < 0)}{whole}{'.' * bool(digits)}{digits}"
        case _:
            raise StoreError(f"{storage!r} is no storage of times")


def _offset(text: str | None) -> timedelta:
    if text is None or text == "Z":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))

    return -size if text[0] == "-" else size
