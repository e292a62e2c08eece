#ifndef NCCLPROF_FORMAT_CHROME_SCAN_H
#define NCCLPROF_FORMAT_CHROME_SCAN_H

#include "format/chrome/line.h"

/*
 * The quick way to read a line. A recorder prints lines of few layouts: the same words with other values
 * between them. A line that chrome_decode() has read shows a layout; the next one of it is read by comparing
 * the words and taking the values, and `*line` is the same as chrome_decode() would make it.
 */
enum { CHROME_LAYOUTS = 128, CHROME_REPEAT_BYTES = 64 };

struct chrome_layout;

struct chrome_scanner {
    struct chrome_layout *layouts[CHROME_LAYOUTS]; /* owned; the first layout_count are there */
    size_t layout_count;
    size_t oldest; /* the one that a new layout takes the place of, when there are as many as can be */
    /* Which line came last, and what came behind each: by number of the layout, those read as the end of a
     * wait behind all others. */
    unsigned char latest;
    unsigned char follower[2 * CHROME_LAYOUTS];
    char time[CHROME_REPEAT_BYTES]; /* of the last end, which is mostly that of the next begin */
    size_t time_length;             /* 0: none yet */
    int64_t time_ns;
};

void chrome_scanner_init(struct chrome_scanner *scanner);
void chrome_scanner_release(struct chrome_scanner *scanner);

/*
 * Learns the layout of the object [text, text + length), of which chrome_decode() made `line` and nothing was
 * lost. One that cannot be told from the text alone is left to chrome_decode().
 */
void chrome_scanner_learn(struct chrome_scanner *scanner, const char *text, size_t length,
                          const struct chrome_line *line);

/*
 * Reads a line of a known layout, which begins at `text` and does not go beyond `end`. Returns where its
 * object ends, or NULL when it is of none.
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
