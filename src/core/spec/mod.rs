//! Specs and deltas: reading, merging and writing them back byte for byte.
