"""The machine: files beneath a folder, processes, programs, shipped files, time."""
