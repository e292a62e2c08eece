#ifndef NCCLPROF_ANALYSE_ANALYSES_H
#define NCCLPROF_ANALYSE_ANALYSES_H

#include "analyse/analysis.h"

/* What each analysis's file exports to registry.c. */
extern const struct analysis analysis_clocks;
extern const struct analysis analysis_diagnose;
extern const struct analysis analysis_export;
extern const struct analysis analysis_html;
extern const struct analysis analysis_report;
extern const struct analysis analysis_stalls;
extern const struct analysis analysis_startup;
extern const struct analysis analysis_compare;
extern const struct analysis analysis_steps;
extern const struct analysis analysis_buffers;
extern const struct analysis analysis_stragglers;
extern const struct analysis analysis_timeline;

#endif
