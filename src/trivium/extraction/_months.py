"""Names of months in the languages of Europe and in Roman numerals: data for the reader of dates."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

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
január február marec apríl máj jún júl august september október november december
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
januar februar marec april maj junij julij avgust september oktober november december
januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra
siječanj veljača ožujak travanj svibanj lipanj srpanj kolovoz rujan listopad studeni prosinac
siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca
siječnju veljači ožujku travnju svibnju lipnju srpnju kolovozu rujnu listopadu studenom prosincu
sij velj ožu tra svi lip srp kol ruj lis stu pro
sij velj ožu tra svi lip srp kol ruj lis studenog pro
januar februar mart april maj jun jul avgust septembar oktobar novembar decembar
januara februara marta aprila maja juna jula avgusta septembra oktobra novembra decembra
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
ian feb mar apr mai iun iul aug sept oct nov dec
január február március április május június július augusztus szeptember október november december
jan feb márc ápr máj jún júl aug szept okt nov dec
tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu
tammikuun helmikuun maaliskuun huhtikuun toukokuun kesäkuun heinäkuun elokuun syyskuun lokakuun marraskuun joulukuun
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta \
heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta
jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
jaanuari veebruari märtsi aprilli mai juuni juuli augusti septembri oktoobri novembri detsembri
janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris decembris
janvāra februāra marta aprīļa maija jūnija jūlija augusta septembra oktobra novembra decembra
janvārī februārī martā aprīlī maijā jūnijā jūlijā augustā septembrī oktobrī novembrī decembrī
sausis vasaris kovas balandis gegužė birželis liepa rugpjūtis rugsėjis spalis lapkritis gruodis
sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio
Ιανουάριος Φεβρουάριος Μάρτιος Απρίλιος Μάιος Ιούνιος Ιούλιος Αύγουστος Σεπτέμβριος Οκτώβριος Νοέμβριος Δεκέμβριος
Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου Νοεμβρίου Δεκεμβρίου
Ιαν Φεβ Μαρ Απρ Μάι Ιουν Ιουλ Αυγ Σεπ Οκτ Νοε Δεκ
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
янв фев мар апр май июн июл авг сен окт ноя дек
січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
януари февруари март април май юни юли август септември октомври ноември декември
I II III IV V VI VII VIII IX X XI XII
"""


def plain_letters(word: str) -> str:
    """Fold case and drop accents, so that FÉVRIER, février and fevrier are one key."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def read_month_names(languages: str) -> dict[str, tuple[int, ...]]:
    """Read lines of twelve names each; return the months that each name may mean, in the order of the lines."""
    names: dict[str, dict[int, None]] = {}
    for line in languages.strip().splitlines():
        for month, name in enumerate(line.split(), start=1):
            names.setdefault(plain_letters(name), {})[month] = None
    return {name: tuple(months) for name, months in names.items()}


_NAMES: Mapping[str, tuple[int, ...]] = read_month_names(_LANGUAGES)


def month_numbers(name: str) -> tuple[int, ...]:
    """Return each month that a name or abbreviation may mean in any known language; the language first listed first.

    >>> month_numbers("März"), month_numbers("listopad"), month_numbers("Smarch")
    ((3,), (11, 10), ())
    """
    return _NAMES.get(plain_letters(name.rstrip(".")), ())
