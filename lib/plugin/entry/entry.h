/*
 * Functions that the entry files of the API versions share. The entry files convert the descriptors of one
 * version to records and pass these to the recorder.
 */
#ifndef NCCLPROF_PLUGIN_ENTRY_ENTRY_H
#define NCCLPROF_PLUGIN_ENTRY_ENTRY_H

#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct api_descriptor_v6;
struct api_proxy_op;
struct record;
struct record_names;
union api_state_args_v1;
union api_state_args_v4;

/* Event types that each version knows. */
#define ENTRY_KNOWN_V1 (API_GROUP | API_COLL | API_P2P | API_PROXY_OP | API_PROXY_STEP | API_PROXY_CTRL)
#define ENTRY_KNOWN_V3 (ENTRY_KNOWN_V1 | API_KERNEL_CH | API_NET_PLUGIN)
#define ENTRY_KNOWN_V5 (ENTRY_KNOWN_V3 | API_GROUP_API | API_COLL_API | API_P2P_API | API_KERNEL_LAUNCH)
#define ENTRY_KNOWN_V6 (ENTRY_KNOWN_V5 | API_CE_COLL | API_CE_SYNC | API_CE_BATCH)
/* Covers both versions 7, which use the same bit. */
#define ENTRY_KNOWN_V7 (ENTRY_KNOWN_V6 | API_USER_TAG)

/* The highest state that each version knows. The released version 7 has one more, for kernel phases only. */
enum {
    ENTRY_STATES_V1 = API_CTRL_APPEND_END,
    ENTRY_STATES_V4 = API_KERNEL_CH_STOP,
    ENTRY_STATES_V5 = API_GROUP_END_START,
    ENTRY_STATES_V6 = API_CE_BATCH_COMPLETE,
};

/* For versions 1 to 3, whose init function passes nothing about the communicator. */
void entry_init_unnamed(void **context, int *mask, unsigned version, uint32_t known);
void entry_init_named(void **context, int *mask, unsigned version, enum api_dialect dialect, uint32_t known,
                      const char *name, uint64_t hash, int nodes, int ranks, int rank, api_logger *logger);

void entry_fill_names(struct record_names *names, const char *function, const char *datatype,
                      const char *algorithm, const char *protocol);
void entry_proxy_op(struct record *record, const struct api_proxy_op *op, int rank);
void entry_proxy_step(struct record *record, int step);
void entry_kernel_ch(struct record *record, unsigned channel, uint64_t gpu_clock);
/* Returns false if the events of this network plugin are unknown. */
bool entry_net_plugin(struct record *record, int64_t id, const void *data);
void entry_plain(struct record *record, enum record_type type);
/*
 * Prepares the record of a collective or point-to-point operation, without the members that only some
 * versions have.
 */
void entry_task(struct record *record, enum record_type type);

/* Fills in a record from a descriptor of one version. Returns false if the event type is unknown. */
typedef bool entry_fill(struct record *record, const void *descriptor);

/* For versions 1 to 4. `event` may be null. */
int entry_start_v1(void *context, void **handle, const void *event, void *parent, entry_fill *fill);

/* Adds the members of a later version to a record that was filled in as for version 6. */
typedef void entry_more(struct record *record, const struct api_descriptor_v6 *event);

/*
 * For versions 5 to 7. If the event type is not in `known`, or has several bits, only the type is read,
 * because the layout of the rest is unknown. `more` may be null.
 */
int entry_start_v5(void *context, void **handle, const struct api_descriptor_v6 *event, uint32_t known,
                   entry_more *more);

/*
 * Shared by all versions or by several. If a state is above `highest`, the caller's version does not know it,
 * and the values are not read.
 */
int entry_stop(void *handle);
int entry_state_v1(void *handle, int state, union api_state_args_v1 *values);
int entry_state_v4(void *handle, int state, const union api_state_args_v4 *values, int highest);
int entry_finalize(void *context);

#endif
