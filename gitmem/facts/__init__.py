"""What lasts: facts, whether they hold, how they are found in what a person says, and every write of them."""
