#ifndef NCCLPROF_TESTS_SAME_LINE_H
#define NCCLPROF_TESTS_SAME_LINE_H

#include "format/chrome/chrome.h"
#include "format/inspector/inspector.h"

/* A difference between two readings of one line; NULL if they agree. */
const char *difference_of_chrome_lines(const struct chrome_line *left, const struct chrome_line *right);
const char *difference_of_inspector_lines(const struct inspector_line *left,
                                          const struct inspector_line *right);

#endif
