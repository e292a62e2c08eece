/*
 * Error chains: each function that fails sets a cause, and its callers add theirs. Only main() prints the
 * chain.
 */
#include "base/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 3, 0)))
put(struct error *error, int at, const char *format, va_list arguments)
{
    int wanted = vsnprintf(error->cause[at], ERROR_TEXT_BYTES, format, arguments);
    if (wanted >= ERROR_TEXT_BYTES)
        memcpy(error->cause[at] + ERROR_TEXT_BYTES - 4, "...", 4);
}

int(error_set)(struct error *error, const char *format, ...)
{
    if (!error)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    put(error, 0, format, arguments);
    va_end(arguments);
    error->depth = 1;
    error->is_no_memory = 0;
    return -1;
}

int(error_set_errno)(struct error *error, int number, const char *format, ...)
{
    if (!error)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    put(error, 0, format, arguments);
    va_end(arguments);
    error->depth = 1;
    error->is_no_memory = number == ENOMEM;
    size_t used = strlen(error->cause[0]);
    snprintf(error->cause[0] + used, ERROR_TEXT_BYTES - used, ": %s", strerror(number));
    return -1;
}

int(error_wrap)(struct error *error, const char *format, ...)
{
    if (!error)
        return -1;
    int at = error->depth < ERROR_DEPTH ? error->depth++ : ERROR_DEPTH - 1;
    va_list arguments;
    va_start(arguments, format);
    put(error, at, format, arguments);
    va_end(arguments);
    return -1;
}

int(error_no_memory)(struct error *error)
{
    error_set(error, "out of memory");
    if (error)
        error->is_no_memory = 1;
    return -1;
}

void error_clear(struct error *error)
{
    if (error)
        error->depth = error->is_no_memory = 0;
}
