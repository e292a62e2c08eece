#include "analyse/analyses.h"

#include <stddef.h>

const struct analysis *const analysis_registry[] = {
    &analysis_report, &analysis_stragglers, &analysis_stalls, &analysis_diagnose, &analysis_clocks, NULL,
};
