#ifndef NCCLPROF_FORMAT_CHROME_DECODE_H
#define NCCLPROF_FORMAT_CHROME_DECODE_H

#include "format/chrome/line.h"
#include "format/scan.h"
#include "input/raw_json.h"

#include <stddef.h>

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

/* The objects of an event: itself, its arguments, and the states of a proxy operation among these. */
enum chrome_place {
    CHROME_IN_EVENT,
    CHROME_IN_ARGUMENTS,
    CHROME_IN_POSTED,
    CHROME_IN_PEER_WAIT,
    CHROME_IN_RECEIVED,
    CHROME_IN_TRANSMITTED,
    CHROME_IN_DONE,
    CHROME_PLACES
};

/* A member that matters, in events of some categories, and where its value goes. */
struct chrome_member {
    unsigned categories; /* 1 << enum chrome_category */
    enum chrome_place place;
    const char *key;
    enum scan_type type;
    size_t offset; /* in struct chrome_line */
};

/* What stands under a key; NULL: nothing that matters. Texts of keys are as they stand, escapes and all. */
const struct chrome_member *chrome_find_member(enum chrome_category category, enum chrome_place place,
                                               struct raw_json key);

/* The object under a key; CHROME_PLACES: none that matters. */
enum chrome_place chrome_find_place(enum chrome_place outside, struct raw_json key);

/* Whether the arguments of such an event matter. */
int chrome_reads_arguments(const struct chrome_line *line);

#endif
