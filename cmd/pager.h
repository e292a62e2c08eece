#ifndef NCCLPROF_CMD_PAGER_H
#define NCCLPROF_CMD_PAGER_H

/*
 * What does not fit on the screen goes through a pager, as with git: $NCCLPROF_PAGER, else $PAGER, else less,
 * run by the shell; empty or "cat": none. Only where standard output is a terminal, and no dumb one. less is
 * told to leave at once where all fits, to keep colours, and to leave the screen as it is (LESS=FRX), unless
 * $LESS is set.
 */
void pager_begin(void);

/* After the last output, standard output being closed: waits until the user has read it. */
void pager_end(void);

#endif
