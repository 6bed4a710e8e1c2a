"""Pure text work that more than one room needs; import its modules directly."""
