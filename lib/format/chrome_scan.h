#ifndef NCCLPROF_FORMAT_CHROME_SCAN_H
#define NCCLPROF_FORMAT_CHROME_SCAN_H

#include "format/chrome_line.h"

/*
 * The quick way to read a line: it knows the lines that NVIDIA's plugins of NCCL 2.23 to 2.30 and the bundled
 * one print, letter by letter, and nothing else. `*line` is the same as chrome_decode() would make it.
 */
struct chrome_scanner {
    char process[64]; /* what stands between id and ts: the same on every line of a process */
    size_t process_length;
    int64_t pid;
};

void chrome_scanner_init(struct chrome_scanner *scanner);

/* True when the object was one of the known lines. */
int chrome_scan(struct chrome_scanner *scanner, const char *text, size_t length, struct chrome_line *line);

#endif
