"""Pages of benchmarks."""
