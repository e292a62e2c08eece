#ifndef NCCLPROF_FORMAT_NCCL_RAS_REPORT_H
#define NCCLPROF_FORMAT_NCCL_RAS_REPORT_H

#include "format/format.h"
#include "format/nccl_ras/seats.h"

/*
 * The text that `ncclras` prints unless it is asked for JSON: the only form of NCCL 2.24 to 2.28.6. It lists
 * communicators whose ranks launched different numbers of operations, and says of the common ones no more
 * than how many ranks they are. Source: NVIDIA/nccl, src/ras/client_support.cc, rasClientRunComms().
 */

/* Whether a text begins with such a report. */
int ras_report_begins(const char *bytes, size_t length);

/* Reads all reports of the input, one after the other, and hands over what the last of them says. */
int ras_report_read(struct ras_seats *seats, struct input *input, const struct format_sink *sink,
                    struct error *error);

#endif
