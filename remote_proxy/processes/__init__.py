"""Several remote proxies on one machine as one command: started, watched, started again."""
