"""Files opened safely, programs, processes and the clock of this machine."""
