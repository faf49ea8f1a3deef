"""E-mails with the files attached to them, each of which is a document of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ConfigDict, Field

from trivium.schema import Document


class Attachment(NamedTuple):
    """A file attached to an e-mail, and its text.

    Args:
        name: its name; that of a file in an attached e-mail follows the name of this one: `offer.eml/price.pdf`.
        start: the offset of its text in that of the e-mail.
        document: its text, with pages, lines and boxes of its own.
    """

    name: str
    start: int
    document: Document

    @property
    def title(self) -> str:
        """The line above its text.

        >>> Attachment("price.pdf", 40, Document(content="")).title
        'Attachment: price.pdf\\n'
        """
        return f"Attachment: {self.name}\n"

    @property
    def begin(self) -> int:
        """The offset of its title."""
        return self.start - len(self.title)

    @property
    def end(self) -> int:
        """The offset behind its text."""
        return self.start + len(self.document.content)


class MailDocument(Document):
    """An e-mail with attached files that were read: its own text, then that of each of them below its name.

    Args:
        attachments: these files in their order; they are not part of what is stored, so that a mail that comes back
            from its JSON has their texts, and no places in them.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    attachments: tuple[Attachment, ...] = Field(default=(), exclude=True, repr=False)

    def parts(self) -> Iterator[Document]:
        """Yield the e-mail itself and each attached file as documents.

        The metadata of a file have its name as `attachment`, and tell where in the whole it begins.
        """
        end = self.attachments[0].begin if self.attachments else len(self.content)
        yield Document(content=self.content[:end], metadata=self.metadata)
        for name, start, document in self.attachments:
            more = self.metadata.model_extra or {}
            place = {**more, "source": self.metadata.source, "attachment": name, "first_offset": start}
            yield Document(content=document.content, metadata=document.metadata.model_copy(update=place))


def attachment_at(document: Document, offset: int) -> Attachment | None:
    """Return the attached file in which a character of a document stands; None if it stands in none.

    Args:
        document: any document.
        offset: the offset of the character.
    """
    found = document.attachments if isinstance(document, MailDocument) else ()
    return next((each for each in reversed(found) if offset >= each.begin), None)
