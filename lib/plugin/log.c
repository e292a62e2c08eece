#include "plugin/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static _Atomic(api_logger *) current;

void log_set(api_logger *logger)
{
    atomic_store_explicit(&current, logger, memory_order_release);
}

static bool wanted(enum api_log_level level)
{
    const char *debug = getenv("NCCL_DEBUG");
    if (!debug)
        return false;
    bool information = strcasecmp(debug, "INFO") == 0 || strcasecmp(debug, "TRACE") == 0;
    return information || (level == API_LOG_WARN && strcasecmp(debug, "WARN") == 0);
}

void log_line(enum api_log_level level, const char *format, ...)
{
    char line[5000];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    if (length < 0)
        return;
    api_logger *logger = atomic_load_explicit(&current, memory_order_acquire);
    if (logger)
        logger((int)level, API_LOG_INIT, "ncclprof", 0, "ncclprof: %s", line);
    else if (wanted(level))
        fprintf(stderr, "ncclprof: %s\n", line);
}
