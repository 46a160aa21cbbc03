"""The public half of the vault: leaves, tree, checkpoints, bundles and the audit of them."""
