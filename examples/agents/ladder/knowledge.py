"""General knowledge that goals take for granted: currencies, countries, airports, media types."""

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
}
COUNTRIES = {"Norway": "NO", "New Zealand": "NZ", "Denmark": "DK", "Kenya": "KE", "Hungary": "HU", "Iceland": "IS"}
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
AIRPORTS = {
    "Amsterdam": "AMS",
    "Athens": "ATH",
    "Bogota": "BOG",
    "Denver": "DEN",
    "Dublin": "DUB",
    "Helsinki": "HEL",
    "Hong Kong": "HKG",
    "Lisbon": "LIS",
    "Madrid": "MAD",
    "Marseille": "MRS",
    "Miami": "MIA",
    "Nairobi": "NBO",
    "Oslo": "OSL",
    "Prague": "PRG",
    "Seoul": "ICN",
    "Sydney": "SYD",
    "Vienna": "VIE",
    "Warsaw": "WAW",
    "Zurich": "ZRH",
}
MEDIA = {"MP4 films": "video/mp4", "PNG images": "image/png", "PDF documents": "application/pdf"}
