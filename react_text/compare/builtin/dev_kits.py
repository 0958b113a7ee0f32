"""The tools of the built-in tasks for choosing settings: weather, a shop, notes, dates, units, arithmetic, an office.

Deterministic, without clock and network. The worked examples hold no value of any task.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any, Literal, TypedDict

from react_text import tool
from react_text.compare.builtin.kit import Kit, MakeKit

_TEMPERATURES = {"lisbon": 23, "kyoto": 17, "lima": 19, "oslo": 4, "nairobi": 26, "flesland": 9, "ottawa": -6}
_WINDS = {"lisbon": 12, "kyoto": 14, "lima": 9, "oslo": 31, "nairobi": 7, "flesland": 44, "ottawa": 18}
_SKUS = {"copper kettle": "KT-481", "reading lamp": "LM-220", "wool blanket": "BL-077", "garden hose": "GH-350"}
_PRICES = {"KT-481": 18.5, "LM-220": 42.9, "BL-077": 64.0, "GH-350": 27.25, "AX-107": 5.6}
_STOCK = {"KT-481": 7, "LM-220": 31, "BL-077": 12, "GH-350": 0, "AX-107": 55}
_NOTES = {"wifi": "the password is tangerine-88", "pancakes": "2 eggs, 250 ml milk, flour", "gate": "code 5190"}
_IDS = {"irene falk": "E-318", "omar haddad": "E-552", "lucy brand": "E-904"}
_DESKS = {"E-318": "4C", "E-552": "2A", "E-904": "7F"}
_EXTENSIONS = {"E-318": 7702, "E-552": 7714, "E-904": 6120}
_ORDERS = {"7003": "2025-05-12", "7004": "2025-06-20", "W7010": "2025-02-11"}
_FACTORS = {"miles": 1609.344, "kilometres": 1000.0, "pounds": 0.45359237, "kilograms": 1.0}
_ARTICLE = re.compile(r"^(?:an?|the|some) ")
_LENGTHS = ("miles", "kilometres")

Unit = Literal["miles", "kilometres", "pounds", "kilograms"]


class Recipient(TypedDict):
    name: str
    city: str


def _found(table: dict[str, Any], key: str, kind: str) -> Any:
    if key not in table:
        raise KeyError(f"no {kind} {key!r}")
    return table[key]


def _station(city: str) -> str:
    if city.strip().lower() == "bergen":
        raise KeyError("there is no station 'Bergen'; the station of that town is called 'Flesland'")
    return city.strip().lower()


def weather() -> Kit:
    """Temperature and wind of a few cities."""

    @tool(
        safe=True,
        examples=[
            ("How warm is it in Turin?", {"city": "Turin", "unit": "celsius"}, "15", "It is 15 degrees in Turin.")
        ],
    )
    def temperature(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> float:
        """The temperature in a city now.

        Args:
            city: name of the city
            unit: unit of the temperature
        """
        celsius: int = _found(_TEMPERATURES, _station(city), "city")
        return celsius if unit == "celsius" else celsius * 9 / 5 + 32

    @tool(
        safe=True,
        examples=[("What is the wind like in Malmo?", {"city": "Malmo"}, "22", "The wind blows at 22 km/h in Malmo.")],
    )
    def wind(city: str) -> int:
        """The speed of the wind in a city now, in km/h.

        Args:
            city: name of the city
        """
        speed: int = _found(_WINDS, _station(city), "city")
        return speed

    return Kit((temperature, wind))


def shop() -> Kit:
    """A shop whose articles have numbers: number, price, stock, and putting aside."""
    state: dict[str, Any] = {}

    def article(sku: str) -> str:
        if sku.strip().upper() == "AX-100":
            raise KeyError("AX-100 is an old number; the article is AX-107 now")
        return sku.strip().upper()

    @tool(
        safe=True,
        examples=[("What is the number of the brass bell?", {"product": "brass bell"}, "BB-612", "It is BB-612.")],
    )
    def find_sku(product: str) -> str:
        """The article number (SKU) of a product. Price and stock are asked for by this number.

        Args:
            product: name of the product, in singular
        """
        name = product.strip().lower()
        sku: str = _found(_SKUS, name if name in _SKUS else name.removesuffix("s"), "product")
        return sku

    @tool(safe=True, examples=[("What does TT-905 cost?", {"sku": "TT-905"}, "11.75", "TT-905 costs 11.75 euros.")])
    def price(sku: str) -> float:
        """The price of an article in euros.

        Args:
            sku: article number
        """
        amount: float = _found(_PRICES, article(sku), "article number")
        return amount

    @tool(
        safe=True,
        examples=[("How many TT-905 are there?", {"sku": "TT-905"}, "240", "There are 240 pieces of TT-905.")],
    )
    def stock(sku: str) -> int:
        """How many pieces of an article are in stock.

        Args:
            sku: article number
        """
        pieces: int = _found(_STOCK, article(sku), "article number")
        return pieces

    @tool(
        examples=[
            ("Put 9 of TT-905 aside.", {"sku": "TT-905", "quantity": 9}, "reserved", "9 pieces of TT-905 are reserved.")
        ]
    )
    def reserve(sku: str, quantity: int) -> str:
        """Put pieces of an article aside for the customer.

        Args:
            sku: article number
            quantity: how many pieces
        """
        number = article(sku)
        if quantity > _found(_STOCK, number, "article number"):
            raise ValueError(f"only {_STOCK[number]} pieces of {number} are in stock")
        state["reserved"][number] = state["reserved"].get(number, 0) + quantity
        return f"reserved {quantity} of {number}"

    return Kit((find_sku, price, stock, reserve), state, {"reserved": {}})


def notes() -> Kit:
    """Notes with titles."""
    state: dict[str, Any] = {}

    def known(title: str) -> str:
        name = title.strip().lower()
        if name == "recipe":
            raise KeyError("there is no note 'recipe' any more; it is called 'pancakes' now")
        if name not in state["notes"]:
            raise KeyError(f"no note {title!r}; the notes are {', '.join(state['notes'])}")
        return name

    @tool(
        examples=[
            (
                "Note under 'attic': sweep the floor.",
                {"title": "attic", "text": "sweep the floor"},
                "saved",
                "The note 'attic' is saved.",
            )
        ]
    )
    def add_note(title: str, text: str) -> str:
        """Save a note.

        Args:
            title: title of the note
            text: what the note says
        """
        state["notes"][title.strip().lower()] = text
        return f"saved {title}"

    @tool(
        safe=True,
        examples=[("What is in my note 'boat'?", {"title": "boat"}, "berth 31", "Your note 'boat' says: berth 31.")],
    )
    def read_note(title: str) -> str:
        """What a note says.

        Args:
            title: title of the note
        """
        text: str = state["notes"][known(title)]
        return text

    @tool(examples=[("Throw the note 'boat' away.", {"title": "boat"}, "deleted", "The note 'boat' is deleted.")])
    def delete_note(title: str) -> str:
        """Delete a note.

        Args:
            title: title of the note
        """
        del state["notes"][known(title)]
        return f"deleted {title}"

    return Kit((add_note, read_note, delete_note), state, {"notes": dict(_NOTES)})


def dates() -> Kit:
    """Reckoning with dates, and the dates of orders."""

    @tool(
        safe=True,
        examples=[
            (
                "How many days are there between 2019-08-03 and 2019-08-20?",
                {"start": "2019-08-03", "end": "2019-08-20"},
                "17",
                "There are 17 days between them.",
            )
        ],
    )
    def days_between(start: date, end: date) -> int:
        """The number of days from one date to another.

        Args:
            start: the first date
            end: the last date
        """
        return (end - start).days

    @tool(
        safe=True,
        examples=[
            (
                "What is the date 6 days after 2019-10-28?",
                {"start": "2019-10-28", "days": 6},
                "2019-11-03",
                "It is 2019-11-03.",
            )
        ],
    )
    def add_days(start: date, days: int) -> str:
        """The date a number of days after another date.

        Args:
            start: the date to count from
            days: how many days
        """
        return (start + timedelta(days=days)).isoformat()

    @tool(
        safe=True,
        examples=[("When was order 6120 placed?", {"order": "6120"}, "2019-09-09", "It was placed on 2019-09-09.")],
    )
    def order_date(order: str) -> str:
        """The date on which an order was placed.

        Args:
            order: number of the order
        """
        number = order.strip().upper()
        if number == "7010":
            raise KeyError("7010 is an order by post; such orders have a W in front: W7010")
        day: str = _found(_ORDERS, number, "order")
        return day

    return Kit((days_between, add_days, order_date))


def units() -> Kit:
    """Conversion of units."""

    @tool(
        safe=True,
        examples=[
            (
                "How many kilometres are 90 miles?",
                {"value": 90, "unit": "miles", "to": "kilometres"},
                "144.84",
                "90 miles are 144.84 kilometres.",
            )
        ],
    )
    def convert(value: float, unit: Unit, to: Unit) -> float:
        """Convert a length or a weight to another unit.

        Args:
            value: the number to convert
            unit: its unit
            to: the unit wanted
        """
        if (unit in _LENGTHS) != (to in _LENGTHS):
            raise ValueError(f"{unit} cannot be converted to {to}")
        return round(value * _FACTORS[unit] / _FACTORS[to], 2)

    return Kit((convert,))


def sums() -> Kit:
    """Multiplication and division."""

    @tool(safe=True, examples=[("What is 21 times 11?", {"a": 21, "b": 11}, "231", "21 times 11 is 231.")])
    def multiply(a: float, b: float) -> float:
        """Multiply two numbers.

        Args:
            a: the first number
            b: the second number
        """
        return round(a * b, 6)

    @tool(
        safe=True,
        examples=[("What is 96 divided by 12?", {"dividend": 96, "divisor": 12}, "8", "96 divided by 12 is 8.")],
    )
    def divide(dividend: float, divisor: float) -> float:
        """Divide one number by another.

        Args:
            dividend: the number that is divided
            divisor: the number it is divided by
        """
        return round(dividend / divisor, 6)

    return Kit((multiply, divide))


def office() -> Kit:
    """People of an office: their numbers, desks and telephones."""

    def person(employee: str) -> str:
        number = employee.strip().upper()
        if number == "E-204":
            raise KeyError("E-204 is an old number; that person is E-904 now")
        return number

    @tool(
        safe=True,
        examples=[("What is Paula Wirth's number?", {"name": "Paula Wirth"}, "E-127", "Paula Wirth is E-127.")],
    )
    def employee_id(name: str) -> str:
        """The number of an employee. Desk and extension are asked for by this number.

        Args:
            name: first and last name
        """
        number: str = _found(_IDS, " ".join(name.split()).lower(), "employee")
        return number

    @tool(safe=True, examples=[("Which desk has E-127?", {"employee": "E-127"}, "9B", "E-127 sits at desk 9B.")])
    def desk(employee: str) -> str:
        """The desk of an employee.

        Args:
            employee: number of the employee
        """
        place: str = _found(_DESKS, person(employee), "employee number")
        return place

    @tool(
        safe=True,
        examples=[("How do I ring E-127?", {"employee": "E-127"}, "7799", "The extension of E-127 is 7799.")],
    )
    def extension(employee: str) -> int:
        """The telephone extension of an employee.

        Args:
            employee: number of the employee
        """
        number: int = _found(_EXTENSIONS, person(employee), "employee number")
        return number

    return Kit((employee_id, desk, extension))


def parcels() -> Kit:
    """Sending parcels, which takes nested arguments."""
    state: dict[str, Any] = {}

    @tool(
        examples=[
            (
                "Send Karl Olsen in Aarhus a parcel with a clock and a vase, by economy.",
                {"recipient": {"name": "Karl Olsen", "city": "Aarhus"}, "items": ["clock", "vase"], "speed": "economy"},
                "parcel P-12 is on its way",
                "The parcel P-12 to Karl Olsen is on its way.",
            )
        ]
    )
    def send_parcel(
        recipient: Recipient, items: list[str], speed: Literal["economy", "standard", "express"] = "standard"
    ) -> str:
        """Send a parcel.

        Args:
            recipient: who gets it
            items: what is in it
            speed: how fast it travels
        """
        number = f"P-{41 + len(state['sent'])}"
        packed = sorted(_ARTICLE.sub("", item.strip().lower()) for item in items)
        state["sent"].append({**recipient, "items": packed, "speed": speed})
        return f"parcel {number} is on its way"

    @tool(examples=[("Stop parcel P-12.", {"parcel": "P-12"}, "stopped", "Parcel P-12 is stopped.")])
    def stop_parcel(parcel: str) -> str:
        """Stop a parcel that is on its way.

        Args:
            parcel: number of the parcel
        """
        number = parcel.strip().upper()
        if number not in state["under_way"]:
            raise KeyError(f"no parcel {parcel!r} is on its way")
        state["under_way"].remove(number)
        return f"{number} is stopped"

    return Kit((send_parcel, stop_parcel), state, {"sent": [], "under_way": ["P-33", "P-38"]})


KITS: dict[str, MakeKit] = {made.__name__: made for made in (weather, shop, notes, dates, units, sums, office, parcels)}
