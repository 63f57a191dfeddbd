"""How results are printed: screens, tables, JSON lines and JUnit XML."""
