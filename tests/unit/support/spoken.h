#ifndef NCCLPROF_TESTS_SUPPORT_SPOKEN_H
#define NCCLPROF_TESTS_SUPPORT_SPOKEN_H

#include "diagnose/diagnose.h"
#include "diagnose/rule.h"

/*
 * Assertions on rules. `make check` requires for each rule one assert_speaks and one assert_quiet that name
 * it, and for each limit one test that names it.
 */

/* The rule was applied, and its limit is exceeded; or it is not exceeded. */
void assert_speaks(const struct rule_results *rule_results, enum rule_id rule);
void assert_quiet(const struct rule_results *rule_results, enum rule_id rule);
void assert_not_asked(const struct rule_results *rule_results, enum rule_id rule);

/* The lowest confidence that a violated rule allows. */
enum confidence allowed_confidence(const struct rule_results *rule_results);

/* For a limit that decides whether a rule applies: the tests next to it depend on this value. */
void assert_limit(enum limit_id limit, double value);

#endif
