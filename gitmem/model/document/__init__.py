"""A markdown document with front matter."""
