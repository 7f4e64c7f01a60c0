"""The states of a training that is started from a page, under the names that its views and its folder use."""

STARTING, QUEUED, RUNNING, STOPPING = PENDING = ("starting", "queued", "running", "stopping")
STOPPED, INTERRUPTED, FAILED = CAN_RESUME = ("stopped", "interrupted", "failed")
DONE, BROKEN = "done", "broken"
STATES = (*PENDING, *CAN_RESUME, DONE, BROKEN)
