"""General knowledge that goals take for granted: currencies, countries, time zones."""

CURRENCIES = {
    "Turkish lira": "TRY",
    "Polish zloty": "PLN",
    "Thai baht": "THB",
    "Japanese yen": "JPY",
    "Swiss franc": "CHF",
    "Czech koruna": "CZK",
    "Danish krone": "DKK",
    "Norwegian krone": "NOK",
    "Swedish krona": "SEK",
    "Hungarian forint": "HUF",
    "Indian rupee": "INR",
    "Kenyan shilling": "KES",
    "Romanian leu": "RON",
    "Icelandic krona": "ISK",
    "Vietnamese dong": "VND",
}
COUNTRIES = {
    "Norway": "NO",
    "New Zealand": "NZ",
    "Denmark": "DK",
    "Kenya": "KE",
    "Hungary": "HU",
    "Iceland": "IS",
    "Switzerland": "CH",
    "South Africa": "ZA",
}
ZONES = {
    "Estonia": "Europe/Tallinn",
    "France": "Europe/Paris",
    "Ireland": "Europe/Dublin",
    "Latvia": "Europe/Riga",
    "Finland": "Europe/Helsinki",
    "Greece": "Europe/Athens",
    "Austria": "Europe/Vienna",
    "Japan": "Asia/Tokyo",
}
