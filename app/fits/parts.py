"""A fit in two workers at once, each with one of its losses, where two are free; the results are joined."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from app.fits.settings import Binning, LabSettings
from app.fits.tables import LabResult, Plane, Tables

if TYPE_CHECKING:
    import pandas as pd

OnProgress = Callable[[float], bool | None]


class Pool(Protocol):
    """What `fit` needs of `Workers`."""

    @property
    def num_free(self) -> int: ...

    def run(self, *arguments: Any, on_progress: OnProgress) -> LabResult: ...


def fit(pool: Pool, settings: LabSettings, binning: Binning, on_progress: OnProgress) -> LabResult:
    """`experiment.run` in the workers of a pool; raises what that and `Workers.run` raise.

    Only linear heads are divided, which use one core each; the losses of others use all cores together.
    """
    names = settings.surrogates
    if settings.head.kind != "linear" or pool.num_free < 2:
        return pool.run(settings, binning, names, on_progress=on_progress)
    groups = (names[:1], names[1:])
    done, failed = [0.0] * len(groups), []

    def run(place: int) -> LabResult:
        def report(share: float) -> bool:
            done[place] = share
            return not failed and on_progress(sum(done) / len(done)) is not False

        try:
            return pool.run(settings, binning, groups[place], on_progress=report)
        except BaseException as problem:
            failed.append(problem)
            raise

    with ThreadPoolExecutor(len(groups), "part of a fit") as threads:
        futures = [threads.submit(run, place) for place in range(len(groups))]
    if failed:
        raise failed[0]  # the others only stopped because of it
    return join([future.result() for future in futures])


def join(parts: Sequence[LabResult]) -> LabResult:
    """The results of some of the losses each, on the same cases, as one."""
    first = parts[0]
    return replace(
        first,
        curves=_merged(parts, "curves"),
        scores=_merged(parts, "scores"),
        seconds=max(part.seconds or 0.0 for part in parts),
        plane=first.plane and _with_maps(first.plane, parts),
        tables=_join_tables([part.tables for part in parts]),
    )


def _with_maps(plane: Plane, parts: Sequence[LabResult]) -> Plane:
    return replace(plane, deferred=_merged([part.plane for part in parts], "deferred"))


def _join_tables(parts: Sequence[Tables]) -> Tables:
    import pandas as pd

    by_name = [one.name for one in fields(Tables) if isinstance(getattr(parts[0], one.name), Mapping)]
    summary = pd.concat([part.summary for part in parts], ignore_index=True)
    return replace(parts[0], summary=summary, **{name: _merged(parts, name) for name in by_name})


def _merged(parts: Sequence[Any], name: str) -> "dict[str, pd.DataFrame]":
    return {key: value for part in parts for key, value in getattr(part, name).items()}
