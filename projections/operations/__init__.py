"""How often which operation happened, by hour (B §14)."""
