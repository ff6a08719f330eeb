"""Reads all that exists out of the beginning of a watch.

The server sends it out of its memory, an object to a line, where each page of a list costs it a
look into etcd: half a millisecond of its CPU for a RayJob. Source: KEP-3157 (`sendInitialEvents`).
"""

from collections.abc import Iterator

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.errors import event_error, unreadable
from jobledger.adapters.kube.watching.stream import WatchStream
from jobledger.core.values.documents import Manifest, text


def initial_events(
    stream: WatchStream, decoder: ObjectDecoder, about: str, present: set[str]
) -> Iterator[tuple[str, tuple[Manifest, ...]]]:
    """Yield the objects, and at last at which version that is all; the stream is at its end then.

    What is told as deleted meanwhile is taken out of `present`, the UIDs of what has been taken.
    Raises `UnreadableAnswer` for a stream that ends before, and what the server says instead.
    """
    for line in stream.lines():
        told = decoder.line(about, line)
        match told.type:
            case "ADDED" | "MODIFIED":
                yield "", (told.object,)
            case "DELETED":
                present.discard(text(told.object, "metadata", "uid"))
            case "BOOKMARK":
                if _ends_the_list(told.object):
                    yield text(told.object, "metadata", "resourceVersion"), ()
                    return
            case "ERROR":
                raise event_error(about, told.object)
            case _:
                raise unreadable(about, "a watch event of an unknown type")
    raise unreadable(about, "a list that ends before everything was told")


def _ends_the_list(bookmark: Manifest) -> bool:
    return text(bookmark, "metadata", "annotations", "k8s.io/initial-events-end") == "true"
