"""Reading JSON documents: what is absent or of a wrong type counts as absent."""

import pytest

from jobledger.core.values.documents import Json, child, items, number, text

DOCUMENT: Json = {
    "metadata": {"name": "train", "labels": {}, "generation": 3},
    "spec": {"groups": [{"name": "a"}, "b"], "replicas": True, "none": None},
}


@pytest.mark.parametrize("path", [("metadata", "name"), ("nothing",), ("spec", "groups", "x")])
def test_a_path_that_ends_in_no_object_is_an_empty_object(path: tuple[str, ...]) -> None:
    assert child(DOCUMENT, *path) == {}


def test_reading_objects_lists_texts_and_numbers() -> None:
    assert child(DOCUMENT, "metadata", "labels") == {}
    assert child(DOCUMENT) == DOCUMENT
    assert items(DOCUMENT, "spec", "groups") == [{"name": "a"}, "b"]
    assert items(["x"]) == ["x"]
    assert text(DOCUMENT, "metadata", "name") == "train"
    assert number(DOCUMENT, "metadata", "generation") == 3


@pytest.mark.parametrize("document", [None, 1, "text", [], True, DOCUMENT])
def test_wrong_types_count_as_absent(document: Json) -> None:
    assert items(document, "metadata", "name") == ()
    assert text(document, "metadata", "generation") == ""
    assert number(document, "spec", "replicas") is None
    assert number(document, "spec", "none") is None
    assert items(document, "spec", "none") == ()


def test_a_text_is_no_list() -> None:
    assert items("text") == ()
