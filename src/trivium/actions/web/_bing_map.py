"""Bing Maps: distances, routes, coordinates and places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions.web._remote import (
    Remote,
    UnreadableError,
    checked_query,
    find_array,
    find_key,
    find_number,
    find_object,
    find_text,
    parse_object,
)
from trivium.commander import driver_neutral
from trivium.schema.lowlevel import checked

T = TypeVar("T")
_SHOWN = 5


class BINGMap(BaseAction):
    """Look up distances, routes, coordinates and places on a map.

    It uses the REST services of Bing Maps, version 1, and needs the key `BING_MAP_KEY`. Microsoft ended them for
    basic keys in June 2025 and issues no new keys; enterprise keys work until June 2028.

    Args:
        key: default: `$BING_MAP_KEY`.
        description: replaces the docstring's description; see `BaseAction`.
        parser: parses arguments and renders results.
        timeout: the limit of one request, in seconds.
        base_url: the address of the service.

    Raises:
        ConfigurationError: there is no key.

    Example::

        BINGMap(key="…").get_distance("Paris", "Lyon")["distance"]
    """

    @checked
    def __init__(
        self,
        key: str | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        timeout: float = 30.0,
        base_url: str = "https://dev.virtualearth.net/REST/v1",
    ) -> None:
        super().__init__(description, parser)
        self._remote = Remote(
            "Bing Maps", base_url, timeout=timeout, hidden={"key": find_key("BING_MAP_KEY", key, "key")}
        )

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_distance(self, start: str, end: str) -> dict[str, float]:
        """Return the distance by road between two places.

        Args:
            start: the first place.
            end: the other place.

        Returns:
            distance (float): kilometres.
        """
        return {"distance": await self._route(read_distance, start, end)}

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_route(self, start: str, end: str) -> dict[str, list[str]]:
        """Return driving directions between two places.

        Args:
            start: the first place.
            end: the other place.

        Returns:
            route (list): the instructions, step by step.
        """
        return {"route": await self._route(read_steps, start, end)}

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def get_coordinates(self, location: str) -> dict[str, float]:
        """Return the coordinates of a place.

        Args:
            location: the place.

        Returns:
            latitude (float): degrees to the north.
            longitude (float): degrees to the east.
        """
        return await self._coordinates(location)

    @dual
    @tool_api(explode_return=True, sends=True, source="web")
    @driver_neutral
    async def search_nearby(
        self,
        search_term: str,
        places: str = "unknown",
        latitude: float = 0.0,
        longitude: float = 0.0,
        radius: int = 5000,
    ) -> dict[str, list[dict[str, str]]]:
        """Find places near a place, given by its name or its coordinates.

        Args:
            search_term: what to look for, for example coffee.
            places: the name of the place; "unknown" if the coordinates are given.
            latitude: degrees to the north.
            longitude: degrees to the east.
            radius: metres.

        Returns:
            place (list): at most five places, each with name and address.
        """
        term = checked_query(search_term, self.name)
        if places != "unknown":
            there = await self._coordinates(places)
            latitude, longitude = there["latitude"], there["longitude"]
        params = {"query": term, "userCircularMapView": f"{latitude},{longitude},{max(radius, 1)}"}
        return {"place": await self._ask(read_places, "/LocalSearch", params)}

    @driver_neutral
    async def _coordinates(self, location: str) -> dict[str, float]:
        return await self._ask(read_coordinates, "/Locations", {"query": checked_query(location, self.name)})

    @driver_neutral
    async def _route(self, read: Callable[[str], T], start: str, end: str) -> T:
        params = {"wp.0": checked_query(start, self.name), "wp.1": checked_query(end, self.name), "distanceUnit": "km"}
        return await self._ask(read, "/Routes/Driving", params)

    @driver_neutral
    async def _ask(self, read: Callable[[str], T], path: str, params: Mapping[str, str]) -> T:
        return await self._remote.request(read, path, params={"o": "json", **params})


class AsyncBINGMap(AsyncActionMixin, BINGMap):
    """The async form of `BINGMap`."""


def read_resources(text: str) -> list[Any]:
    """Read the resources in an answer."""
    return find_array(parse_object(text), "resourceSets", 0, "resources")


def read_route(text: str) -> dict[str, Any]:
    """The best route."""
    resources = read_resources(text)
    if not resources:
        raise UnreadableError("knows no route between these places: write them out, with town and country")
    return find_object(resources, 0)


def read_distance(text: str) -> float:
    """Read the length of the best route."""
    route = read_route(text)
    if "travelDistance" not in route:
        raise UnreadableError("gave a route without its length: try again, or ask for the route")
    return find_number(route, "travelDistance")


def read_steps(text: str) -> list[str]:
    """Read the instructions of the best route."""
    items = find_array(read_route(text), "routeLegs", 0, "itineraryItems")
    return [step for item in items if (step := find_text(item, "instruction", "text"))]


def read_coordinates(text: str) -> dict[str, float]:
    """Read the coordinates of the best match."""
    both = find_array(read_resources(text), 0, "point", "coordinates")
    if len(both) < 2:
        raise UnreadableError("does not know this place: write it out, with town and country")
    return {"latitude": find_number(both, 0), "longitude": find_number(both, 1)}


def read_places(text: str) -> list[dict[str, str]]:
    """Read the first places, with names and addresses."""
    return [
        {"name": find_text(each, "name"), "address": find_text(each, "Address", "formattedAddress")}
        for each in read_resources(text)[:_SHOWN]
    ]
