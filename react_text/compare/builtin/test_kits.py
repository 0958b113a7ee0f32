"""The tools of the built-in tasks that are reported, on other subjects than those of dev_kits.py.

Trains, a library, money, a kitchen, a calendar, lamps of a house, countries and geometry. Deterministic, without
clock and network. The worked examples hold no value of any task.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypedDict

from react_text import tool
from react_text.compare.builtin.kit import Kit, MakeKit

_TRAINS = {("brno", "vienna"): "R71", ("lyon", "geneva"): "T204", ("porto", "braga"): "U12", ("ghent", "lille"): "K55"}
_DELAYS = {"R71": 18, "T204": 0, "U12": 6, "K55": 41}
_PLATFORMS = {"R71": "3", "T204": "11", "U12": "2", "K55": "7b"}
_BOOKS = {"the salt road": "B1044", "glass mountains": "B2210", "a year of bees": "B3307"}
_COPIES = {"B1044": 2, "B2210": 5, "B3307": 1, "B9000": 9}
_SHELVES = {"B1044": "N-14", "B2210": "F-02", "B3307": "S-31", "B9000": "R-08"}
_RATES = {"EUR": 1.0, "SEK": 11.25, "CHF": 0.95, "PLN": 4.3, "ILS": 4.0}
_GRAMS = {"flour": 125, "sugar": 200, "rice": 185, "butter": 227}
_BAKING = {"sponge": "175 degrees for 34 minutes", "rye bread": "230 degrees for 52 minutes"}
_EVENTS = {"2027-04-06": ["dentist 15:20"], "2027-04-09": ["choir 19:45", "lunch with Ada 12:10"]}
_LAMPS = {"kitchen": "off", "hall": "on", "study": "off"}
_DEGREES = {"kitchen": 21.5, "hall": 17.0, "study": 19.8}
_CAPITALS = {"bhutan": "Thimphu", "malawi": "Lilongwe", "paraguay": "Asuncion"}
_PEOPLE = {"thimphu": 98676, "lilongwe": 989318, "asuncion": 462241, "windhoek": 486169}

Currency = Literal["EUR", "SEK", "CHF", "PLN", "ILS", "NIS"]


class Passenger(TypedDict):
    name: str
    age: int


def _found(table: Any, key: Any, sentence: str) -> Any:
    if key not in table:
        raise KeyError(sentence)
    return table[key]


def trains() -> Kit:
    """Trains: their numbers, delays and platforms, and seats in them."""
    state: dict[str, Any] = {}

    def running(train: str) -> str:
        number = train.strip().upper()
        if number == "T99":
            raise KeyError("T99 does not run today; its passengers take K55")
        _found(_DELAYS, number, f"there is no train {train!r}")
        return number

    @tool(
        safe=True,
        examples=[
            (
                "Which train goes from Turku to Tampere?",
                {"origin": "Turku", "destination": "Tampere"},
                "M903",
                "The train from Turku to Tampere is M903.",
            )
        ],
    )
    def find_train(origin: str, destination: str) -> str:
        """The number of the next train between two towns. Delay and platform are asked for by this number.

        Args:
            origin: town where the journey begins
            destination: town where it ends
        """
        towns = origin.strip().lower(), destination.strip().lower()
        number: str = _found(_TRAINS, towns, f"no train runs from {origin} to {destination}")
        return number

    @tool(safe=True, examples=[("Is M903 late?", {"train": "M903"}, "25", "M903 is 25 minutes late.")])
    def delay(train: str) -> int:
        """How many minutes a train is late.

        Args:
            train: number of the train
        """
        return _DELAYS[running(train)]

    @tool(safe=True, examples=[("Where does M903 leave?", {"train": "M903"}, "9", "M903 leaves from platform 9.")])
    def platform(train: str) -> str:
        """The platform from which a train leaves.

        Args:
            train: number of the train
        """
        return _PLATFORMS[running(train)]

    @tool(
        examples=[
            (
                "Book Otto Lind, who is 70, a seat in second class of M903.",
                {"train": "M903", "passenger": {"name": "Otto Lind", "age": 70}, "travel_class": "second"},
                "seat 88 is booked",
                "Seat 88 is booked for Otto Lind.",
            )
        ]
    )
    def book_seat(train: str, passenger: Passenger, travel_class: Literal["first", "second"] = "second") -> str:
        """Book a seat in a train.

        Args:
            train: number of the train
            passenger: who travels
            travel_class: class of the seat
        """
        number = running(train)
        state["seats"].append({"train": number, **passenger, "travel_class": travel_class})
        return f"seat {16 + len(state['seats'])} is booked"

    return Kit((find_train, delay, platform, book_seat), state, {"seats": []})


def library() -> Kit:
    """A library whose books have numbers."""
    state: dict[str, Any] = {}

    def known(book: str) -> str:
        number = book.strip().upper()
        if number == "B1000":
            raise KeyError("B1000 was bound anew and is B9000 now")
        _found(_COPIES, number, f"there is no book with the number {book!r}")
        return number

    @tool(
        safe=True,
        examples=[("Do you have 'Nine Harbours'?", {"title": "Nine Harbours"}, "B7781", "Yes, its number is B7781.")],
    )
    def book_number(title: str) -> str:
        """The number of a book. Copies and shelf are asked for by this number.

        Args:
            title: title of the book
        """
        number: str = _found(_BOOKS, title.strip(" \"'").lower(), f"there is no book called {title!r}")
        return number

    @tool(safe=True, examples=[("How many of B7781 do you have?", {"book": "B7781"}, "12", "There are 12 copies.")])
    def copies(book: str) -> int:
        """How many copies of a book can be lent.

        Args:
            book: number of the book
        """
        return _COPIES[known(book)]

    @tool(safe=True, examples=[("Where is B7781?", {"book": "B7781"}, "D-77", "B7781 stands on shelf D-77.")])
    def shelf(book: str) -> str:
        """The shelf on which a book stands.

        Args:
            book: number of the book
        """
        return _SHELVES[known(book)]

    @tool(
        examples=[("Lend B7781 to reader 41.", {"book": "B7781", "reader": 41}, "lent", "B7781 is lent to reader 41.")]
    )
    def lend(book: str, reader: int) -> str:
        """Lend a book to a reader.

        Args:
            book: number of the book
            reader: number of the reader
        """
        number = known(book)
        state["lent"][number] = reader
        return f"{number} is lent to reader {reader}"

    return Kit((book_number, copies, shelf, lend), state, {"lent": {}})


def money() -> Kit:
    """Exchange of currencies, and shares of amounts."""

    def rate_of(currency: str) -> float:
        if currency == "NIS":
            raise ValueError("NIS is not a code of the exchange; that currency is traded as ILS")
        return _RATES[currency]

    @tool(
        safe=True,
        examples=[
            (
                "How many francs are 640 euros?",
                {"amount": 640, "currency": "EUR", "to": "CHF"},
                "608.0",
                "640 euros are 608 francs.",
            )
        ],
    )
    def exchange(amount: float, currency: Currency, to: Currency) -> float:
        """Convert an amount of money to another currency.

        Args:
            amount: how much
            currency: code of its currency
            to: code of the currency wanted
        """
        return round(amount * rate_of(to) / rate_of(currency), 2)

    @tool(
        safe=True,
        examples=[
            ("What is 40 percent of 5500?", {"percent": 40, "amount": 5500}, "2200.0", "40 percent of 5500 is 2200.")
        ],
    )
    def percentage(percent: float, amount: float) -> float:
        """A percentage of an amount.

        Args:
            percent: how many percent
            amount: of what
        """
        return round(percent * amount / 100, 4)

    return Kit((exchange, percentage))


def kitchen() -> Kit:
    """Cups to grams, baking times, and a shopping list."""
    state: dict[str, Any] = {}

    @tool(
        safe=True,
        examples=[
            (
                "How heavy are 9 cups of butter?",
                {"ingredient": "butter", "cups": 9},
                "2043.0",
                "9 cups of butter weigh 2043 grams.",
            )
        ],
    )
    def grams(ingredient: Literal["flour", "sugar", "rice", "butter"], cups: float) -> float:
        """How many grams a number of cups weighs.

        Args:
            ingredient: what is in the cups
            cups: how many cups
        """
        return round(_GRAMS[ingredient] * cups, 1)

    @tool(
        safe=True,
        examples=[
            (
                "How is a fruit tart baked?",
                {"cake": "fruit tart"},
                "190 degrees for 28 minutes",
                "A fruit tart is baked at 190 degrees for 28 minutes.",
            )
        ],
    )
    def baking(cake: str) -> str:
        """How hot and how long something is baked.

        Args:
            cake: what is baked
        """
        name = cake.strip().lower()
        if name in ("victoria cake", "victoria"):
            raise KeyError("there is no entry 'victoria cake'; it is listed as 'sponge'")
        said: str = _found(_BAKING, name, f"there is no entry {cake!r}")
        return said

    @tool(
        examples=[
            ("Put leeks on the list, 8 of them.", {"item": "leeks", "count": 8}, "added", "8 leeks are on the list.")
        ]
    )
    def add_to_list(item: str, count: int = 1) -> str:
        """Put something on the shopping list.

        Args:
            item: what to buy
            count: how many
        """
        state["list"][item.strip().lower().removesuffix("s")] = count
        return f"{count} {item} are on the list"

    return Kit((grams, baking, add_to_list), state, {"list": {}})


def calendar() -> Kit:
    """Appointments by date."""
    state: dict[str, Any] = {}

    @tool(
        safe=True,
        examples=[
            ("What is on 2031-10-02?", {"day": "2031-10-02"}, "concert 20:30", "On 2031-10-02 there is a concert.")
        ],
    )
    def events(day: str) -> str:
        """The appointments of a day.

        Args:
            day: the date, as YYYY-MM-DD
        """
        return ", ".join(state["events"].get(day.strip(), [])) or "nothing"

    @tool(
        examples=[
            (
                "Enter a boat trip with Sven and Ida on 2031-10-02, it is unimportant.",
                {"day": "2031-10-02", "title": "boat trip", "people": ["Sven", "Ida"], "priority": "low"},
                "entered",
                "The boat trip is entered.",
            )
        ]
    )
    def add_event(
        day: str, title: str, people: list[str], priority: Literal["low", "normal", "high"] = "normal"
    ) -> str:
        """Enter an appointment.

        Args:
            day: the date, as YYYY-MM-DD
            title: what it is
            people: who takes part
            priority: how important it is
        """
        what = title.strip().lower().removeprefix("a ")
        state["events"].setdefault(day.strip(), []).append(f"{what} with {' and '.join(sorted(people))}, {priority}")
        return f"{title} is entered for {day}"

    @tool(examples=[("Clear 2031-10-02.", {"day": "2031-10-02"}, "cleared", "2031-10-02 is cleared.")])
    def clear_day(day: str) -> str:
        """Take all appointments of a day out.

        Args:
            day: the date, as YYYY-MM-DD
        """
        if day.strip() not in state["events"]:
            raise KeyError(f"there is nothing on {day}")
        del state["events"][day.strip()]
        return f"{day} is cleared"

    return Kit((events, add_event, clear_day), state, {"events": {day: list(held) for day, held in _EVENTS.items()}})


def house() -> Kit:
    """Lamps and room temperatures."""
    state: dict[str, Any] = {}

    def known(room: str) -> str:
        name = room.strip().lower()
        if name == "office":
            raise KeyError("there is no room 'office'; that room is called 'study'")
        _found(_LAMPS, name, f"there is no room {room!r}; the rooms are {', '.join(_LAMPS)}")
        return name

    @tool(
        safe=True,
        examples=[("How warm is the cellar?", {"room": "cellar"}, "12.5", "It is 12.5 degrees in the cellar.")],
    )
    def room_temperature(room: str) -> float:
        """The temperature of a room in degrees Celsius.

        Args:
            room: name of the room
        """
        return _DEGREES[known(room)]

    @tool(
        examples=[
            (
                "Make it dim in the cellar.",
                {"room": "cellar", "setting": "dim"},
                "the lamp in the cellar is dim",
                "The lamp in the cellar is dim.",
            )
        ]
    )
    def set_lamp(room: str, setting: Literal["on", "off", "dim"]) -> str:
        """Switch the lamp of a room.

        Args:
            room: name of the room
            setting: what the lamp shall be
        """
        state["lamps"][known(room)] = setting
        return f"the lamp in the {known(room)} is {setting}"

    return Kit((room_temperature, set_lamp), state, {"lamps": dict(_LAMPS)})


def atlas() -> Kit:
    """Capitals and how many people live in towns."""

    @tool(
        safe=True,
        examples=[("What is the capital of Gabon?", {"country": "Gabon"}, "Libreville", "It is Libreville.")],
    )
    def capital(country: str) -> str:
        """The capital of a country.

        Args:
            country: name of the country
        """
        town: str = _found(_CAPITALS, country.strip().lower(), f"there is no country {country!r} in the atlas")
        return town

    @tool(
        safe=True,
        examples=[
            ("How many people live in Libreville?", {"town": "Libreville"}, "703904", "703904 people live there.")
        ],
    )
    def population(town: str) -> int:
        """How many people live in a town.

        Args:
            town: name of the town
        """
        people: int = _found(_PEOPLE, town.strip().lower(), f"there is no town {town!r} in the atlas")
        return people

    return Kit((capital, population))


def geometry() -> Kit:
    """Areas and roots."""

    @tool(
        safe=True,
        examples=[("How large is a circle with radius 20?", {"radius": 20}, "1256.64", "Its area is 1256.64.")],
    )
    def circle_area(radius: float) -> float:
        """The area of a circle.

        Args:
            radius: radius of the circle
        """
        return round(math.pi * radius * radius, 2)

    @tool(
        safe=True,
        examples=[("What is the square root of 225?", {"number": 225}, "15.0", "The square root of 225 is 15.")],
    )
    def square_root(number: float) -> float:
        """The square root of a number.

        Args:
            number: the number
        """
        return round(math.sqrt(number), 3)

    return Kit((circle_area, square_root))


KITS: dict[str, MakeKit] = {
    made.__name__: made for made in (trains, library, money, kitchen, calendar, house, atlas, geometry)
}
