"""The Merkle tree of RFC 6962 and its files (C2SP tlog-tiles)."""
