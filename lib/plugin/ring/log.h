/* One line to whoever runs the job, through NCCL's own logger where it gives one. */
#ifndef PLUGIN_RING_LOG_H
#define PLUGIN_RING_LOG_H

#include "plugin/ring/api.h"

/* Null while no communicator lives: NCCL may be unloaded then. */
void log_set(api_logger *logger);

/* The highest level that goes to standard error where there is no logger (versions 1 to 3); 0: none does. */
void log_limit(int most);

void log_line(enum api_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same by this logger, or none: in a call of NCCL's it is there, whether a communicator lives or not. */
void log_line_by(api_logger *logger, enum api_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
