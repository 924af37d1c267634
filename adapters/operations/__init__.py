"""Everything that can be asked, defined once. `registry` has all of it; each module loads no engine."""
