"""Every public name explains itself: a first line that ends in a full stop, and an example, which pytest runs."""

import inspect
from collections.abc import Callable, Iterator

from public_names import PUBLIC

WITHOUT_EXAMPLE = {
    "Categories.from_source": "takes a file that is open already; the example is at Categories.from_file"
}
"""Public methods that need no example of their own, and why; tables of an evaluation are shown by that of the class."""


def methods_of(name: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Give the methods that a public class is the first to define; abstract ones have nothing to show."""
    kind = PUBLIC[name]
    if not inspect.isclass(kind):
        return
    for own, found in vars(kind).items():
        method = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        is_new = not any(own in vars(base) for base in kind.__mro__[1:])
        is_abstract = getattr(method, "__isabstractmethod__", False)
        if inspect.isfunction(method) and is_new and not is_abstract and not own.startswith("_"):
            yield f"{name}.{own}", method


METHODS = dict(pair for name in PUBLIC for pair in methods_of(name))


def lacks_sentence(text: str) -> bool:
    return not text.strip() or not text.strip().splitlines()[0].endswith(".")


def test_every_public_name_and_method_has_a_sentence_and_an_example() -> None:
    names = {name: thing.__doc__ or "" for name, thing in PUBLIC.items()}
    texts = names | {name: method.__doc__ or "" for name, method in METHODS.items()}
    assert [name for name, text in texts.items() if name not in WITHOUT_EXAMPLE and lacks_sentence(text)] == []
    shown = {name for name, text in texts.items() if ">>> " in text or name.startswith("Evaluation.")}
    assert set(texts) - shown == set(WITHOUT_EXAMPLE)
