#ifndef NCCLPROF_BASE_STUDENT_H
#define NCCLPROF_BASE_STUDENT_H

#include <stddef.h>

/* Student's t: how often chance alone makes a difference so great, where its spread is known from few values
 * only. */

/* The chance that |t| is beyond `t` with `freedom` degrees of freedom, above 0; 1 where either is no number.
 */
double student_beyond(double t, double freedom);

/* The t beyond which |t| is by chance `part` of the time, above 0 and at most 1. */
double student_limit(double part, double freedom);

/*
 * Holm's step-down (1979) as one level: what each of `count` questions has to be below to be answered with
 * yes, so that all answers of yes are right but for a chance of `level`, whatever the questions have to do
 * with each other. `chances` are those of the questions; they are sorted.
 */
double holm_level(double *chances, size_t count, double level);

#endif
