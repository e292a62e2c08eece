#!/bin/sh
# Prints a C header with the commit of the sources, from the top of the repository: in a clone from git; in an archive of
# `make dist` from .packages/commit, which git fills in. If neither is available, the name is empty.
commit=
if [ -z "$(GIT_OPTIONAL_LOCKS=0 git rev-parse --show-cdup 2>/dev/null || echo none)" ]; then
    commit=$(git rev-parse --verify --quiet HEAD) && GIT_OPTIONAL_LOCKS=0 git diff --quiet HEAD || changed=', modified'
else
    commit=$(sed -n 's/^\([0-9a-f]\{12,\}\)$/\1/p' .packages/commit 2>/dev/null)
fi
name=$(printf %.12s "$commit")
echo "#define NCCLPROF_COMMIT \"${name:+commit $name$changed}\""
