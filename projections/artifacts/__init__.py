"""Artifacts and their texts, as readers find them."""
