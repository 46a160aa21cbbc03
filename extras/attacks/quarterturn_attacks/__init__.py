"""Attacks on boxes, gateways, worlds and judges, for `doctor --attack`: all that the short self-check leaves out.

`suite` is the whole catalogue; the attempts of an agent's place are those of `sandbox.attacks`.
"""
