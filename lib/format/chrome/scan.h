#ifndef NCCLPROF_FORMAT_CHROME_SCAN_H
#define NCCLPROF_FORMAT_CHROME_SCAN_H

#include "format/chrome/line.h"

/*
 * The quick way to read a line: it knows the lines that NVIDIA's plugins of NCCL 2.23 to 2.31 and the bundled
 * one print, letter by letter, and nothing else. `*line` is the same as chrome_decode() would make it.
 */
enum { CHROME_HEADS = 27, CHROME_REPEAT_BYTES = 64 };

struct chrome_scanner {
    /* What kind of line came last, and what came behind each kind, begin and end, the last time. */
    unsigned char latest;
    unsigned char follower[2 * CHROME_HEADS];
    /* Text that comes again on the next lines, and what it means; no length: none yet. */
    char middle[CHROME_REPEAT_BYTES]; /* what stands between id and time */
    size_t middle_length;
    int64_t pid;
    char time[CHROME_REPEAT_BYTES]; /* of the last end */
    size_t time_length;
    int64_t time_ns;
};

void chrome_scanner_init(struct chrome_scanner *scanner);

/*
 * Reads one of the known lines, which begins at `text` and does not go beyond `end`. Returns where its object
 * ends, or NULL when it is none of them.
 */
const char *chrome_scan(struct chrome_scanner *scanner, const char *text, const char *end,
                        struct chrome_line *line);

/*
 * Begin and end of a network step's wait, line by line what most of a trace consists of, both at once:
 * `*line` is the begin, `*end_ns` the time of the end. Returns where the end's object ends, or NULL when
 * these lines have to be read one by one.
 */
const char *chrome_scan_wait(struct chrome_scanner *scanner, const char *text, const char *end,
                             struct chrome_line *line, int64_t *end_ns);

#endif
