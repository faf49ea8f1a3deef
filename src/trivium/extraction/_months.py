"""Names of months in the languages of Europe that the date reader knows, as data."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

__all__ = ["month_number"]

_LANGUAGES = """
January February March April May June July August September October November December
Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec
Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
janv févr mars avr mai juin juil aoû sept oct nov déc
jan fév mar avr mai jui jul aoû sep oct nov déc
Januar Februar März April Mai Juni Juli August September Oktober November Dezember
Jänner Feber Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez
Jan Feb Maerz Apr Mai Jun Jul Aug Sept Okt Nov Dez
Jan Feb Mrz Apr Mai Jun Jul Aug Sept Okt Nov Dez
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
ene feb mar abr may jun jul ago set oct nov dic
ene feb mar abr may jun jul ago setiembre oct nov dic
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
gen feb mar apr mag giu lug ago set ott nov dic
januari februari maart april mei juni juli augustus september oktober november december
jan feb mrt apr mei jun jul aug sep okt nov dec
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
jan fev mar abr mai jun jul ago set out nov dez
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
sty lut mar kwi maj cze lip sie wrz paź lis gru
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november december
januar februar mars april mai juni juli august september oktober november desember
jan feb mar apr maj jun jul aug sep okt nov des
leden únor březen duben květen červen červenec srpen září říjen listopad prosinec
ledna února března dubna května června července srpna září října listopadu prosince
led úno bře dub kvě čvn čvc srp zář říj lis pro
"""


def plain_letters(word: str) -> str:
    """Fold case and drop accents, so that FÉVRIER, février and fevrier are one key."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _month_names() -> dict[str, int]:
    rows = [line.split() for line in _LANGUAGES.strip().splitlines()]
    return {plain_letters(name): month for row in rows for month, name in enumerate(row, start=1)}


_NAMES: Mapping[str, int] = _month_names()


def month_number(name: str) -> int | None:
    """Give the number of a month by its name or abbreviation in any known language, or None."""
    return _NAMES.get(plain_letters(name.rstrip(".")))
