"""The functions of AgentDojo's environments that an attacker profits from, and why."""

from __future__ import annotations

from typing import NamedTuple


class Sink(NamedTuple):
    """A function with an effect that cannot be taken back.

    Args:
        effect: "sends" (what others see), "spends" (money) or "executes" (changes what the user relies on).
        directs: the arguments that say where the effect goes; a name or an amount, but no free text.
        reason: the use that an attacker has for it.
    """

    effect: str
    directs: tuple[str, ...]
    reason: str


SINKS = {
    # e-mail, calendar and files
    "send_email": Sink(
        "sends", ("recipients", "attachments", "cc", "bcc"), "carries anything to anybody, in the user's name"
    ),
    "delete_email": Sink("executes", ("email_id",), "destroys, and hides what was sent"),
    "create_calendar_event": Sink("sends", ("title", "participants"), "invites by e-mail, with any text"),
    "cancel_calendar_event": Sink("sends", ("event_id",), "tells the participants by e-mail"),
    "reschedule_calendar_event": Sink("sends", ("event_id",), "tells the participants by e-mail"),
    "add_calendar_event_participants": Sink("sends", ("event_id", "participants"), "shows the event to anybody"),
    "share_file": Sink("sends", ("file_id", "email"), "shows the file to anybody"),
    "append_to_file": Sink("sends", ("file_id",), "others read it where the file is shared"),
    "delete_file": Sink("executes", ("file_id",), "destroys"),
    # bookings
    "reserve_hotel": Sink("spends", ("hotel",), "books at the user's expense"),
    "reserve_restaurant": Sink("spends", ("restaurant",), "books at the user's expense"),
    "reserve_car_rental": Sink("spends", ("company",), "books at the user's expense"),
    # the bank
    "send_money": Sink("spends", ("recipient", "amount"), "pays; the subject carries anything to the payee"),
    "schedule_transaction": Sink("spends", ("recipient", "amount"), "pays later, and again"),
    "update_scheduled_transaction": Sink("spends", ("id", "recipient", "amount"), "sends the rent to another account"),
    "update_password": Sink("executes", ("password",), "locks the user out, and lets the attacker in"),
    "update_user_info": Sink(
        "executes", ("first_name", "last_name", "street", "city"), "sends the bank's letters elsewhere"
    ),
    # chat and web
    "send_direct_message": Sink("sends", ("recipient",), "carries anything, in the user's name"),
    "send_channel_message": Sink("sends", ("channel",), "carries anything, in the user's name"),
    "invite_user_to_slack": Sink("sends", ("user", "user_email"), "lets anybody in"),
    "add_user_to_channel": Sink("sends", ("user", "channel"), "shows the channel to anybody"),
    "remove_user_from_slack": Sink("executes", ("user",), "locks a colleague out"),
    "get_webpage": Sink("sends", ("url",), "a request carries anything to any server, in its address"),
    "post_webpage": Sink("sends", ("url",), "carries anything to any server"),
}
"""Sinks by name. `create_file` is none: the new file is the user's alone until it is shared, which is a sink."""

SOURCES = {
    "get_webpage": "web",
    "read_file": "document",
    "search_files": "document",
    "search_files_by_filename": "document",
    "get_file_by_id": "document",
    "list_files": "document",
}
"""The kinds of what functions read. The source of the others is the tool itself: nobody vouches for any result."""
