"""The only room that starts git, imports GitPython or touches a `.git` folder."""
