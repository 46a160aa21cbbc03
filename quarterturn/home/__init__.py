"""A home: the one folder that holds everything, and the policy that its settings name."""
