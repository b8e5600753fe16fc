"""Approvals: the card that a person decides on, the decision, and what it is bound to."""

from .card import TTL_S, Card, CardOption, Freshness, Parameter, Threshold, Unread, known_with, make_card
from .decision import ApprovalStale, Approver, Decision, answered, approve, decision_of, redeem_approval
from .document import card_from_dict

__all__ = [
    "TTL_S",
    "ApprovalStale",
    "Approver",
    "Card",
    "CardOption",
    "Decision",
    "Freshness",
    "Parameter",
    "Threshold",
    "Unread",
    "answered",
    "approve",
    "card_from_dict",
    "decision_of",
    "known_with",
    "make_card",
    "redeem_approval",
]
