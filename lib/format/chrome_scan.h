#ifndef NCCLPROF_FORMAT_CHROME_SCAN_H
#define NCCLPROF_FORMAT_CHROME_SCAN_H

#include "format/chrome_line.h"

/*
 * The quick way to read a line: it knows the lines that NVIDIA's plugins of NCCL 2.23 to 2.30 and the bundled
 * one print, letter by letter, and nothing else. `*line` is the same as chrome_decode() would make it.
 */
struct chrome_scanner {
    /* Text that comes again on the next lines, and what it means. */
    struct chrome_repeat {
        char text[88];
        size_t length; /* 0: none yet */
    } middle, time;    /* what stands between phase and time, the time itself */
    int64_t id;
    int64_t pid;
    int64_t time_ns;
};

void chrome_scanner_init(struct chrome_scanner *scanner);

/* True when the object was one of the known lines. */
int chrome_scan(struct chrome_scanner *scanner, const char *text, size_t length, struct chrome_line *line);

#endif
