"""The OCI distribution protocol, for pulling: a version is a ModelPack artifact."""
