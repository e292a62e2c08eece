#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_FLIGHT_RECORDER_H

#include "format/format.h"

/* Dumps of PyTorch's Flight Recorder: pickles and JSON, a file a rank. */
extern const struct format format_flight_recorder;

#endif
