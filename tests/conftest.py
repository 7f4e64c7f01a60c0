"""How two or more processes share the tests (`pytest -n 2`): the browser's in one of them, the others file by file."""

import gc
import logging
import os

import pytest


class _Loggers(dict):
    """All loggers, of which a thread may make a new one while pytest goes through them as each test begins."""

    def values(self):
        return list(super().values())


logging.root.manager.loggerDict = _Loggers(logging.root.manager.loggerDict)

# The processes share the cores; numpy reads it once, so it comes before any test's imports.
os.environ.setdefault("OMP_NUM_THREADS", "1")


gc.disable()  # what is imported now stays


def pytest_collection_finish():
    """The million objects that came with the libraries are not looked through for garbage again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()


def _is_browsers(nodeid):
    return "browser/" in nodeid.partition("::")[0]


def pytest_collection_modifyitems(items):
    """Browser tests come first: they take longest, and leave half of a core free."""
    items.sort(key=lambda item: not _is_browsers(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One server and one browser serve all browser tests; what a file sets up is set up once, as in one process."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "browser" if _is_browsers(nodeid) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # which would put last the files of few, long tests
    return ByFile(config, log)
