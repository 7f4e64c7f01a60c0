"""The voters of the shipped feature banks that have many votes per case."""

from functools import cache

from l2d_core.datasets.feature_bank import FeatureBank, bank_path
from l2d_core.datasets.votes import ONE_VOTER, Voters


@cache
def bank_voters(name: str) -> Voters:
    """The voters on the cases of the shipped bank of that name. ValueError for a bank without votes."""
    bank = FeatureBank.load(bank_path(name))
    if bank.votes is None:
        raise ValueError(f"the bank {name} has no votes")
    return Voters.of(bank.ids, bank.votes, ONE_VOTER)
