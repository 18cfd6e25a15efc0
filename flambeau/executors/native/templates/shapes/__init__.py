"""Templates: copies, joins, borders, and elements that follow from where they are."""
