"""One importer for each foreign program: its files in, plain entries out."""
