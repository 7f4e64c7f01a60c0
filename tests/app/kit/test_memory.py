"""Uploads and sessions are freed when a tab has been closed, not when the next one is."""

import gc
import weakref
from types import SimpleNamespace

from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from app.kit import memory


class Session(SimpleNamespace):
    def shutdown(self):
        self.ended.append(self.id)


def test_a_session_whose_time_is_over_is_shut_down_though_no_other_tab_is_closed():
    now, ended, storage = [0.0], [], MemorySessionStorage()
    storage._cache = type(storage._cache)(maxsize=2, ttl=120, timer=lambda: now[0])
    session = Session(id="closed", ended=ended)
    session.itself, gone = session, weakref.ref(session)
    storage.save(SessionInfo(client=None, session=session))
    del session
    memory.free_expired(storage)
    assert not ended  # its tab may still come back
    now[0] = 121.0
    gc.collect()
    assert gone() is not None  # as Streamlit leaves it
    memory.free_expired(storage)
    assert ended == ["closed"]
    assert gone() is None


def test_a_storage_of_another_kind_is_left_alone():
    memory.free_expired(SimpleNamespace())
    memory.free_expired(None)
