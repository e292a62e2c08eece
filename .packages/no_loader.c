#include <dlfcn.h>
#include <stddef.h>

/*
 * A library that a static program loads would bring a second C library. SQLite can load extensions, although
 * the store keeps them switched off; these functions replace the ones that it would call (ld's --wrap).
 */

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
    return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    return NULL;
}

int __wrap_dlclose(void *handle)
{
    return -1;
}

char *__wrap_dlerror(void)
{
    static char text[] = "a static program loads no libraries";
    return text;
}
