"""Codes and names of countries and languages, as data: a code is supported by a name of what it means."""

from __future__ import annotations

from collections.abc import Mapping

_COUNTRIES = """
AT Austria Österreich Autriche Oostenrijk|AU Australia Australien Australie|BE Belgium Belgien Belgique België
BG Bulgaria Bulgarien Bulgarie България|BR Brazil Brasilien Brésil Brasil|CA Canada Kanada
CH Switzerland Schweiz Suisse Svizzera Zwitserland|CN China Chine|CY Cyprus Zypern Chypre
CZ Czechia Czech_Republic Tschechien Tchéquie Česko|DE Germany Deutschland Allemagne Alemania Germania Duitsland Niemcy
DK Denmark Dänemark Danemark Danmark|EE Estonia Estland Estonie Eesti|ES Spain Spanien Espagne España Spagna Spanje
FI Finland Finnland Finlande Suomi|FR France Frankreich Francia Frankrijk
GB United_Kingdom Great_Britain UK Großbritannien Royaume-Uni Reino_Unido|GR Greece Griechenland Grèce Ελλάδα
HR Croatia Kroatien Croatie Hrvatska|HU Hungary Ungarn Hongrie Magyarország|IE Ireland Irland Irlande
IN India Indien Inde|IS Iceland Island Islande|IT Italy Italien Italie Italia Italië|JP Japan Japon 日本
KR South_Korea Südkorea Corée_du_Sud|LI Liechtenstein|LT Lithuania Litauen Lituanie Lietuva
LU Luxembourg Luxemburg|LV Latvia Lettland Lettonie Latvija|MT Malta Malte|MX Mexico Mexiko Mexique México
NL Netherlands The_Netherlands Holland Niederlande Pays-Bas Nederland|NO Norway Norwegen Norvège Norge
NZ New_Zealand Neuseeland Nouvelle-Zélande|PL Poland Polen Pologne Polska|PT Portugal
RO Romania Rumänien Roumanie România|RS Serbia Serbien Serbie|RU Russia Russland Russie Россия
SE Sweden Schweden Suède Sverige|SG Singapore Singapur Singapour|SI Slovenia Slowenien Slovénie Slovenija
SK Slovakia Slowakei Slovaquie Slovensko|TR Turkey Türkei Turquie Türkiye|UA Ukraine Україна
US United_States United_States_of_America USA Vereinigte_Staaten États-Unis Estados_Unidos|ZA South_Africa Südafrika
"""
_LANGUAGES = """
AR Arabic Arabisch arabe|BG Bulgarian Bulgarisch bulgare|CS Czech Tschechisch tchèque čeština
DA Danish Dänisch danois dansk|DE German Deutsch allemand alemán tedesco Duits|EL Greek Griechisch grec ελληνικά
EN English Englisch anglais inglés inglese Engels|ES Spanish Spanisch espagnol español spagnolo Spaans
ET Estonian Estnisch estonien eesti|FI Finnish Finnisch finnois suomi
FR French Französisch français francés francese Frans
HR Croatian Kroatisch croate hrvatski|HU Hungarian Ungarisch hongrois magyar
IT Italian Italienisch italien italiano Italiaans
JA Japanese Japanisch japonais 日本語|KO Korean Koreanisch coréen 한국어
LT Lithuanian Litauisch lituanien|LV Latvian Lettisch letton|NL Dutch Niederländisch néerlandais Nederlands
NO Norwegian Norwegisch norvégien norsk|PL Polish Polnisch polonais polski
PT Portuguese Portugiesisch portugais português
RO Romanian Rumänisch roumain română|RU Russian Russisch russe русский|SK Slovak Slowakisch slovaque
SL Slovenian Slowenisch slovène|SV Swedish Schwedisch suédois svenska|TR Turkish Türkisch turc Türkçe
UK Ukrainian Ukrainisch ukrainien українська|ZH Chinese Chinesisch chinois 中文
"""


def _table(text: str) -> Mapping[str, tuple[str, ...]]:
    entries = (entry.split() for line in text.strip().splitlines() for entry in line.split("|"))
    return {code: tuple(name.replace("_", " ") for name in names) for code, *names in entries}


COUNTRIES: Mapping[str, tuple[str, ...]] = _table(_COUNTRIES)
"""The names of each country in several languages, by its code of ISO 3166."""

LANGUAGES: Mapping[str, tuple[str, ...]] = _table(_LANGUAGES)
"""The names of each language in several languages, by its code of ISO 639, in capitals."""
