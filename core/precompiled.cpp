// No code: what the precompiled headers belong to.
