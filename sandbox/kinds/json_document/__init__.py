"""The state kind JSON document: seed, mutations proposed and applied."""
