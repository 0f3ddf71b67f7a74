"""The only package that starts git, imports GitPython or touches a `.git` folder."""
