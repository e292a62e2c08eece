#include "plugin/caller.h"

#include <dlfcn.h>
#include <stddef.h>

/* The handle is closed here; null: it is of nothing. A search looks into what a library depends on, too. */
static bool exports(void *library, const void *base, const char *symbol)
{
    if (!library)
        return false;
    Dl_info where;
    const void *found = dlsym(library, symbol);
    bool its_own = found && dladdr(found, &where) && where.dli_fbase == base;
    dlclose(library);
    return its_own;
}

bool caller_exports(const void *address, const char *symbol)
{
    Dl_info where;
    if (!dladdr(address, &where) || !where.dli_fname)
        return false;
    /* A program has no name by which it can be opened. */
    return exports(dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD), where.dli_fbase, symbol) ||
           exports(dlopen(NULL, RTLD_LAZY), where.dli_fbase, symbol);
}
