#ifndef NCCLPROF_VERDICT_KINDS_H
#define NCCLPROF_VERDICT_KINDS_H

/* What a finding accuses a rank of. */
enum finding_kind {
    FINDING_COMPUTE = 0, /* its GPU took longer before its operations */
    FINDING_HOST,        /* it enqueued late */
    FINDING_NETWORK,     /* its sends (or one link, or its receives) were slow */
    FINDING_MISSING,     /* it never began an operation that others wait in */
    FINDING_MISMATCH,    /* it called something else than the others */
    FINDING_ENDED_EARLY, /* its trace stops long before its peers' */
    FINDING_ERROR        /* its own record reports an error that ends a job */
};

enum { FINDING_KINDS = FINDING_ERROR + 1 };

enum confidence { CONFIDENCE_LOW = 0, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

#endif
