#ifndef NCCLPROF_FORMAT_NCCL_WARNING_H
#define NCCLPROF_FORMAT_NCCL_WARNING_H

#include "format/text.h"
#include "model/event.h"

/*
 * What a warning of NCCL, or of a network plugin of it, is about, as far as it says, in all its forms
 * from 2.18 to 2.32, of aws-ofi-nccl, of the plugin of HPC-X and of RCCL. What no word of it tells is
 * WARNING_OTHER: among those are many that healthy jobs print (a speed that cannot be read, a table of
 * addresses that changed, a variable without effect, a port of RAS that another job has). Pieces are
 * borrowed; empty where it does not say.
 */
struct warning_words {
    enum warning_kind kind;
    int is_harmless; /* its words are known, and no result that NCCL hands up makes it more than WARNING_OTHER
                      */
    int64_t status;  /* of an InfiniBand completion: 12, retries exceeded; 5, flushed since another failed; of
                        a plugin's request its own number; COUNT_UNKNOWN */
    struct text peer; /* the other end: an address or a host's name, without its port */
    struct text nic;  /* of this end: "mlx5_0" */
};

void warning_read(struct text message, struct warning_words *words);

/*
 * "proxy.cc:698 -> 3": what NCCL hands up from the place where something failed, with what a warning is about
 * that has this result. 0: it is no such line, or nothing failed.
 */
int warning_read_result(struct text message, enum warning_kind *kind);

/* What such a line is about where no warning of its thread is before it: who was aborted is not who failed.
 */
enum warning_kind warning_of_result_alone(struct text message, enum warning_kind kind);

/* "Rank 1 has 1 local Net devices (max 2).": which rank has fewer network cards than another. 0: it is no
 * such line. */
int warning_read_fewer_cards(struct text message, int64_t *rank);

/* "Mismatched NCCL version detected : rank 1 version 22203 rank 0 version 22005": which two differ. 0: it is
 * no such line. */
int warning_read_versions(struct text message, int64_t *one, int64_t *other);

/* "Using network IB". */
int warning_is_network(struct text message);

/* "Bootstrap : Using eth0:10.0.0.10<0>": where others reach this host. Empty: it is no such line. */
struct text warning_own_address(struct text message);

#endif
