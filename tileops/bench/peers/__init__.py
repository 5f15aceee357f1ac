"""One file for each other implementation. `tileops.bench.peer` says what a file holds."""
