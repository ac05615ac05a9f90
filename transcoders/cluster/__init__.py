"""Pictures made on other machines' processors: a Dask cluster, if there is one."""
