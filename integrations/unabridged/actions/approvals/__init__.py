"""Approvals: the card that a person decides on, the decision, and what it is bound to."""

from .card import Card, CardOption, Freshness, Parameter, Threshold, Unread, make_card
from .decision import ApprovalStale, Approver, Decision, approve, decision_of, redeem_approval

__all__ = [
    "ApprovalStale",
    "Approver",
    "Card",
    "CardOption",
    "Decision",
    "Freshness",
    "Parameter",
    "Threshold",
    "Unread",
    "approve",
    "decision_of",
    "make_card",
    "redeem_approval",
]
