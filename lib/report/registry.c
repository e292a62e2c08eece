/*
 * Analyses. A new one, foo, takes a line in analysis_registry below: command, help, completion and --format
 * come from it. It takes what follows, too; `make check` says what is missing.
 * - lib/report/foo.c: exports `const struct analysis analysis_foo` (lib/report/report.h): options, columns,
 *   rows; what it computes has unit tests
 * - schemas/analysis/foo.sql: its SQL, if it has any; C code has none
 * - schemas/output/foo.schema.json: describes the JSON
 * - man/ncclprof-foo.1: its page, which names each key of the JSON's rows
 * - man/ncclprof.1: mentions it
 * - README.md: its name under "Commands"
 * - tests/cli/test_foo.py: its figures, against definitions or tests/cli/reader.py
 * - tests/cli/test_golden.py: foo among COMMANDS; `make golden` writes its outputs
 * - tests/cli/test_output.py: foo among COMMANDS: JSON against the schema
 * - tests/cli/test_found.py: foo among COMMANDS: what fuzzers found
 * - tests/torture/faults.py: foo among READERS: every call fails once
 *
 * The fuzzers read the list of analyses from here.
 */
#include "report/internal.h"
#include "report/report.h"

#include <stddef.h>

/* Exported by the file of each analysis. */
extern const struct analysis analysis_clocks;
extern const struct analysis analysis_diagnose;
extern const struct analysis analysis_export;
extern const struct analysis analysis_html;

extern const struct analysis analysis_stalls;
extern const struct analysis analysis_startup;
extern const struct analysis analysis_compare;
extern const struct analysis analysis_steps;
extern const struct analysis analysis_buffers;
extern const struct analysis analysis_stragglers;
extern const struct analysis analysis_timeline;

const struct analysis *const analysis_registry[] = {
    &analysis_report,
    &analysis_stragglers,
    &analysis_stalls,
    &analysis_diagnose,
    &analysis_steps,
    &analysis_buffers,
    &analysis_clocks,
    &analysis_startup,
    &analysis_export,
    &analysis_timeline,
    &analysis_html,
    &analysis_compare,
    NULL,
};
