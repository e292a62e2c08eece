#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_LAUNCHES_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_LAUNCHES_H

#include "format/flight_recorder/dump.h"

/*
 * Calls that were launched at once (batch_isend_irecv, coalesced collectives): a closing entry "coalesced"
 * comes behind them and has their state and times; theirs stay "scheduled" for ever. Gives each member what
 * its launch has. The collectives of a launch become one, of all their bytes: they have one number and one
 * kernel. A closing entry whose calls are there is left out; one without is a collective of which nothing
 * more is known (torch before 2.7 recorded only sends and receives inside), or what a ring's beginning left.
 */
void dump_settle_launches(struct dump *dump);

/* Leaves out what came last where the file is cut behind it: the closing entry of a launch may have followed.
 */
void dump_leave_out_last(struct dump *dump);

#endif
