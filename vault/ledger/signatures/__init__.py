"""Signed notes, checkpoints, cosignatures and the policy that says whose signatures count (C2SP)."""
