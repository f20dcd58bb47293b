"""Tests: oracles and properties."""
