#ifndef NCCLPROF_FORMAT_CHROME_DECODE_H
#define NCCLPROF_FORMAT_CHROME_DECODE_H

#include "format/chrome/line.h"

enum chrome_status {
    CHROME_LINE = 0,
    CHROME_UNREADABLE = -1, /* no JSON object, not even nearly */
    CHROME_NO_MEMORY = -2
};

/*
 * Reads one object through json.h; where that refuses it, in the two ways in which NCCL's plugins are known
 * to print what is no JSON: words without quotes, tags with quotes inside. An object that is no event at all
 * has category CHROME_OTHER and no phase.
 */
enum chrome_status chrome_decode(struct json *json, const char *text, size_t length,
                                 struct chrome_line *line);

#endif
