#ifndef NCCLPROF_TESTS_SAME_LINE_H
#define NCCLPROF_TESTS_SAME_LINE_H

#include "format/chrome/chrome.h"
#include "format/inspector/inspector.h"

/* What two readings of one line differ in; NULL when they are the same. */
const char *difference_of_chrome_lines(const struct chrome_line *left, const struct chrome_line *right);
const char *difference_of_inspector_lines(const struct inspector_line *left,
                                          const struct inspector_line *right);

#endif
