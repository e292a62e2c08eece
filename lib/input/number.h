#ifndef NCCLPROF_INPUT_NUMBER_H
#define NCCLPROF_INPUT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers read from their text, exactly: 64-bit integers and times do not survive a double. Each function
 * wants the whole text to be the number and returns -1 when it is not or when it does not fit.
 */

/* "-12", "12", and "12.000" or "1.2e1" too, as other tools rewrite numbers, where nothing is cut off. */
int number_int64(const char *text, size_t length, int64_t *value);
int number_uint64(const char *text, size_t length, uint64_t *value);

/* "0x55d0" or "55d0". */
int number_hexadecimal(const char *text, size_t length, uint64_t *value);

/*
 * A decimal number of microseconds as nanoseconds, rounded half away from zero. Beyond NUMBER_MOST_NS, 146
 * years, it is taken for one that does not fit: so the difference of any two times does.
 */
#define NUMBER_MOST_NS ((INT64_C(1) << 62) - 1)
int number_microseconds_ns(const char *text, size_t length, int64_t *ns);

/* Whether one of the functions above for decimal numbers can read it. */
int number_fits(const char *text, size_t length);

/* True for what JSON calls a number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)? */
int number_is_json(const char *text, size_t length);

#endif
