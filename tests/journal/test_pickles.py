"""Journals that are sent to other processes."""

from __future__ import annotations

import pickle
from copy import copy

from journal._places import Place
from trivium.journal import step


def test_a_journal_in_another_process_is_that_of_the_same_place(place: Place):
    journal = place.journal()
    with journal.run("a"):
        assert step("one", lambda: 1) == 1
    for other in (pickle.loads(pickle.dumps(journal)), copy(journal)):
        with other.run("a"):
            assert step("one", lambda: 2) == 1
        other.close()
    assert journal.info("a").epoch == 1
    assert pickle.loads(pickle.dumps(journal.refusing_changes())).__reduce__()[2] == {"_changes": "refuse"}
    journal.close()
