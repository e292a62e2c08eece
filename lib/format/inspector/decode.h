#ifndef NCCLPROF_FORMAT_INSPECTOR_DECODE_H
#define NCCLPROF_FORMAT_INSPECTOR_DECODE_H

#include "format/inspector/line.h"

enum inspector_status {
    INSPECTOR_LINE = 0,
    INSPECTOR_UNREADABLE = -1, /* no JSON object */
    INSPECTOR_NO_MEMORY = -2,
    INSPECTOR_STRANGE = -3 /* an object, but no record of ours */
};

/* Reads one object, whatever JSON it is. Texts and nodes point into `json`. */
enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line);

#endif
