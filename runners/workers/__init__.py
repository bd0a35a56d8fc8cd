"""Workers: polling, and running a claimed job."""
