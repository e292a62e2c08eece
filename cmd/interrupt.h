#ifndef NCCLPROF_CMD_INTERRUPT_H
#define NCCLPROF_CMD_INTERRUPT_H

/*
 * From here on the first Ctrl-C (or SIGTERM) asks for a clean stop, which the command has to look for; the
 * second one kills as usual. interrupt_restore ends that.
 */
void interrupt_watch(void);
void interrupt_restore(void);

/*
 * For work that looks too seldom, and leaves nothing half done when it ends at once: some seconds after the
 * first Ctrl-C, and some seconds after `seconds` (0: never), the process exits with status 130 and 1.
 */
void interrupt_insist(unsigned seconds);

/* From here on Ctrl-C ends the process at once, with status 130: the store rolls back by itself. */
void interrupt_at_once(void);

/* A directory, kept by the caller as are the two files that may be in it, that is removed when Ctrl-C or a
 * closed pipe ends the process at once. */
void interrupt_removes(const char *directory, const char *file, const char *other);

/* Whether a stop was asked for. `context` is not looked at: the function serves as a callback. */
int interrupt_wanted(void *context);

#endif
