"""The public log: leaves, Merkle tree, checkpoints, release bundles and their audit."""
