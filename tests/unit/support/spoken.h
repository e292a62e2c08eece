#ifndef NCCLPROF_TESTS_SUPPORT_SPOKEN_H
#define NCCLPROF_TESTS_SUPPORT_SPOKEN_H

#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"

/*
 * What rules say. `make check` wants of each rule one assert_speaks and one assert_quiet that name it, and of
 * each limit one test that names it.
 */

/* It was asked, and speaks; or has nothing to say. */
void assert_speaks(const struct rule_results *rule_results, enum rule_id rule);
void assert_quiet(const struct rule_results *rule_results, enum rule_id rule);
void assert_not_asked(const struct rule_results *rule_results, enum rule_id rule);

/* Of a limit that decides where a rule is asked: the tests beside it pin this value. */
void assert_limit(enum limit_id limit, double value);

/* Whether some rule that was asked so far leaves a suspicion at low confidence; which of them is forgotten.
 */
int is_doubted_at_all(struct suspect *suspect);

/* Whether no rule has it that the length of its steps does not show what it cost. */
int steps_show(struct suspect suspect, struct lengthening lengthening);

#endif
