"""Many runs at once, on Dask."""
