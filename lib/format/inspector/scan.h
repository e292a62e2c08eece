#ifndef NCCLPROF_FORMAT_INSPECTOR_SCAN_H
#define NCCLPROF_FORMAT_INSPECTOR_SCAN_H

#include "format/inspector/line.h"

/*
 * The quick way. It remembers the beginnings of lines, up to the time of writing, which come again and again:
 * one for each communicator of the process.
 */
enum { INSPECTOR_HEADS = 8, INSPECTOR_HEAD_BYTES = 512 };

struct inspector_head {
    char text[INSPECTOR_HEAD_BYTES];
    size_t length;                      /* 0: none */
    struct inspector_identity identity; /* but for host and pid; its texts are in `text` */
};

struct inspector_scanner {
    struct inspector_head heads[INSPECTOR_HEADS];
    unsigned latest;
};

void inspector_scanner_init(struct inspector_scanner *scanner);

/*
 * Reads the object that [text, end) begins with, and says where it ends, when it is one of the known lines,
 * letter by letter; `*line` is then the same as inspector_decode() would make it. Otherwise NULL. Texts point
 * into `text` and into the scanner.
 */
const char *inspector_scan(struct inspector_scanner *scanner, const char *text, const char *end,
                           struct inspector_line *line);

#endif
