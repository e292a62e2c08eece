/* Why a trace ends before its process does. */
#ifndef PLUGIN_WRITE_STOP_H
#define PLUGIN_WRITE_STOP_H

#include <stdint.h>

#include "plugin/write/text.h"

enum stop_reason {
    STOP_NOT,
    STOP_LIMIT,   /* so many bytes were asked for at most */
    STOP_SPACE,   /* so many bytes are to stay free on the file system */
    STOP_DELETED, /* the file was: nobody would read what is written */
    STOP_ERROR    /* of the system's, when writing */
};

struct stop {
    enum stop_reason reason;
    uint64_t bytes;              /* of the first two */
    int error;                   /* errno, of the last */
    uint64_t at_ns, realtime_ns; /* CLOCK_MONOTONIC, CLOCK_REALTIME */
};

/* As members of a JSON object. */
void stop_print(struct text *text, const struct stop *stop, uint64_t written_bytes);

/* A clause for people, with the setting that decides where there is one. */
void stop_describe(char *to, size_t size, const struct stop *stop);

#endif
