#ifndef NCCLPROF_BASE_ERROR_H
#define NCCLPROF_BASE_ERROR_H

/*
 * Errors travel up as a chain of causes: the place that fails says what failed (error_set), each caller
 * that knows more adds one sentence (error_wrap), and main() prints the chain once, outermost first.
 *
 * An error needs no allocation, so that running out of memory can be told like anything else. Texts
 * longer than ERROR_TEXT_BYTES are cut, chains deeper than ERROR_DEPTH keep the innermost and outermost
 * causes. Every function that can fail takes `struct error *error` as its last argument, which may be
 * NULL for a caller that does not care, and returns -1 (or NULL).
 */

enum { ERROR_DEPTH = 8, ERROR_TEXT_BYTES = 768 };

struct error {
    int depth;
    int is_no_memory; /* the innermost cause is error_no_memory(): nothing is wrong with the input */
    char cause[ERROR_DEPTH][ERROR_TEXT_BYTES]; /* [0] is the innermost */
};

#define ERROR_INIT \
    {              \
        .depth = 0 \
    }

/* Forgets what was there and starts a chain. Returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set, with ": " and the text of errno value `number` after it. */
int error_set_errno(struct error *error, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds an outer cause to a chain. Returns -1. */
int error_wrap(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory" as the innermost cause. Returns -1. */
int error_no_memory(struct error *error);

void error_clear(struct error *error);

/* Lets compilers and analysers see that these return -1. */
static inline int error_returned(void)
{
    return -1;
}

#define error_set(...) (error_set(__VA_ARGS__), error_returned())
#define error_set_errno(...) (error_set_errno(__VA_ARGS__), error_returned())
#define error_wrap(...) (error_wrap(__VA_ARGS__), error_returned())
#define error_no_memory(error) (error_no_memory(error), error_returned())

#endif
