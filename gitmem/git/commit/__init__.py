"""Write commits and move the branch."""
