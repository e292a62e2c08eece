#include "plugin/recorder/caller.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "plugin/ring/api.h"

/* The handle is closed here; null: it is of nothing. A search looks into what a library depends on, too. */
static void *symbol_of(void *library, const void *base, const char *name)
{
    if (!library)
        return NULL;
    Dl_info where;
    void *found = dlsym(library, name);
    if (found && (!dladdr(found, &where) || where.dli_fbase != base))
        found = NULL;
    dlclose(library);
    return found;
}

void *caller_symbol(const void *address, const char *name)
{
    Dl_info where;
    if (!dladdr(address, &where) || !where.dli_fname)
        return NULL;
    void *found = symbol_of(dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD), where.dli_fbase, name);
    /* A program has no name by which it can be opened. */
    return found ? found : symbol_of(dlopen(NULL, RTLD_LAZY), where.dli_fbase, name);
}

int caller_nccl_version(const void *address)
{
    int (*get_version)(int *);
    void *symbol = address ? caller_symbol(address, "ncclGetVersion") : NULL;
    int version = 0;
    memcpy(&get_version, &symbol, sizeof(get_version));
    return get_version && get_version(&version) == API_SUCCESS ? version : 0;
}
