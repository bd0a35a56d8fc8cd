"""An S3 bucket as the hub's storage: Amazon's, Ceph's, or another with the same API.

``bucket`` speaks the protocol, ``staging`` receives uploads, ``local_files`` keeps what workers
need on disk, and ``storage`` is the store.
"""
