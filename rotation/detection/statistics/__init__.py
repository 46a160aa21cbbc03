"""Tables of results, ability estimates, tail probabilities and corrections."""
