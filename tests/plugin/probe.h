/* Shared by the scenarios of the probe. */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>

#include "fakecore_api.h"

extern struct fake_plugin probe_plugin;
extern int probe_number;       /* from the command line, or 0 */
extern char **probe_libraries; /* libraries that call the plugin's init, from the command line; or null */

uint64_t probe_now_ns(void);

/* A communicator of two ranks; returns its context. */
void *probe_init(uint64_t hash);
void *probe_start(void *context, struct nccl_event_v7 event);

/* An AllReduce with one channel below a call, a group or nothing. */
void *probe_task(void *context, void *parent, uint64_t sequence);
void *probe_kernel(void *context, void *task);
void probe_stop_kernel(void *kernel);
/* From its start to the end of its kernel. */
void probe_play_task(void *context, void *parent, uint64_t sequence);

/* probe_trees.c */
void probe_replays(void);
void probe_late_tasks(void);
void probe_young_task(void);
void probe_foreign_context(void);
void probe_nccl_tags(void);
void probe_many_communicators(void);
void probe_group_that_hangs(void);
void probe_group_that_waits(void);

/* probe_dialects.c */
void probe_both_libraries(void);
void probe_unnumbered_library(void);
void probe_phases(void);
void probe_tag_names(void);
void probe_many_tag_names(void);
void probe_tag_names_in_handler(void);

/* probe_fields.c */
void probe_every_field(void);

/* probe_settings.c */
void probe_changed_environment(void);
void probe_two_causes(void);
void probe_logger_after_finalize(void);

/* probe_tags.c */
void probe_tags_in_handler(void);
void probe_changed_tag_settings(void);

/* probe_ends.c */
void probe_exit_in_handler(void);
void probe_exit_at_steps(void);
void probe_exit_during_init(void);
void probe_fork_during_init(void);
void probe_bare_fork(void);
void probe_nested_fork(void);
void probe_end_without_a_ring(void);
void probe_end_beside_another(void);

/* probe_forks.c */
void probe_init_beside_long_fork(void);
void probe_finalize_beside_long_fork(void);
void probe_first_init_beside_long_fork(void);

/* probe_disk.c */
void probe_hanging_disk(void);
void probe_fork_in_first_init(void);
void probe_fork_on_hanging_disk(void);
void probe_reserved_words(void);
void probe_deleted_directory(void);

#endif
