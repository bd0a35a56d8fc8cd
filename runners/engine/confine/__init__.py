"""The sandboxed child: namespaces, landlock, seccomp, limits."""
