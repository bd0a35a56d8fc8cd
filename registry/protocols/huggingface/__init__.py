"""The Hub protocol: what huggingface_hub and its relatives say, over the same services and rows.

A thin face. Everything here reads through ``registry.versions.selectors`` and answers in the
protocol's own shapes, with its errors in headers. A version is a commit; ``git_names`` gave
the names long before.
"""
