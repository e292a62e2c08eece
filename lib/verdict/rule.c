/*
 * Rules. A new one, RULE_FOO, takes a line in enum rule_id (lib/verdict/rule.h), one in `rules` below, and
 * what follows; `make check` says what is missing.
 * - lib/diagnose/: where what it looks at is at hand, a function that returns its measure, or NOT_ASKED where
 *   the rule does not apply, handed to suspect_ask (a suspicion) or finding_ask (a finding). It decides
 *   nothing. A rule of how jobs stop lies in lib/postmortem
 * - lib/verdict/limits.c: its limit, if there is none of that meaning
 * - tests/unit/: assert_speaks and assert_quiet (tests/unit/support/spoken.h) with RULE_FOO, at its limit and
 *   beside it
 * - man/ncclprof-diagnosis.7: `make golden` writes its paragraph from the table
 */
#include "verdict/rule.h"

#include <string.h>

/* The names follow their enum: RULE_ROUGH_END is rough-end. */
const struct rule rules[RULE_COUNT] = {
    [RULE_ROUGH_END] =
        {"rough-end", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "one step, or a record that leaves sends and receives out; and what is not doubtful is less than "
         "--min-gain in each step, less than rest, or in fewer than half of the steps",
         "the share of its known lateness that comes after a send of which no kernel, or a receive of which "
         "only the host tells the end, or may be a receive that is left out: ranks meet in stages, and own "
         "time is usually hidden-pair or has none to compare with; but for what the host was late by within "
         "the step, or after a call of all ranks that all had left",
         "may have waited for a send or receive whose end is told roughly, or not at all"},
    [RULE_GROUP_END] =
        {"group-end", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "a record of finished operations only",
         "the share of its lateness that comes after sends and receives called as one, of which "
         "only the host tells some ends",
         "may have waited for any of the sends and receives called as one before"},
    [RULE_AFTER_WARM_UP] = {"after-warm-up", OF_RANK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_ONE, NULL,
                            "how many steps after the first one that follows the warm-up its last step is",
                            "was late in the first step after the warm-up only, which may be part of that"},
    [RULE_EXCHANGE] = {"exchange", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                       "a record that leaves sends and receives out, and ranks that all meet in all calls",
                       "the share of its steps in which another rank was late by half as much",
                       "may have exchanged with others what nobody recorded"},
    [RULE_LEAF_OF_TREE] =
        {"leaf-of-tree", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "a record of finished operations only, and aligned clocks",
         "the share of its lateness behind an AllReduce that another rank left later by half "
         "of that",
         "may have been the leaf of a tree, which is done before the others"},
    [RULE_BEHIND_ROOT] = {"behind-root", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                          "a record of finished operations only; partners waited for less than waited",
                          "the share of its lateness that comes after a call with a root",
                          "may have been idle after a call with a root, as it was done first"},
    [RULE_ROOT_OF_TREE] = {"root-of-tree", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ALL,
                           "a record of finished operations only",
                           "the share of the steps after the warm-up that are its",
                           "ends after the others in every step, as the root of a tree does"},
    [RULE_IN_GROUPS] = {"in-groups", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                        "a record of finished operations only",
                        "the share of its slowness in sends and receives called as one",
                        "was slow in sends and receives that are over together"},
    [RULE_SHARED_PROCESS] =
        {"shared-process", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE, NULL,
         "1 where it is one of several ranks of a process that cannot be told apart (several GPUs; one "
         "number in several containers; no GPU clocks that differ), else 0",
         "is one of several ranks of a process that cannot be told apart"},
    [RULE_LOST_RECORDS] =
        {"lost-records", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "a rank of which a file may be lost, or the end of a record is",
         "the share of its lateness from where a record ends, or that may hide calls of a lost "
         "file (hidden-pair)",
         "may have done what the lost records held"},
    [RULE_SILENT_RANK] = {"silent-rank", OF_ALL, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_UNEXPLAINED,
                          "a rank without a trace",
                          "how many times what it amounts to its steps were longer for no other known "
                          "reason; a step beyond outstanding is as the middle one",
                          "may be an effect of a rank without a trace"},
    [RULE_WAITED_FOR_OTHER] =
        {"waited-for-other", OF_RANK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF, NULL,
         "the share of its lateness in which it may have waited for a rank or link under greater suspicion "
         "in that step: after a receive from it of which no kernel tells the end; after a call of which some "
         "channels tell no stop, or a tree, that its slow link may have held for half of that, or without "
         "network steps one slower by half of that, unless it received on each channel, outside trees "
         "(RecvGpuWait), or its host was late within the step; where only finished operations are recorded, "
         "for its own network, after or in a send or receive of which only the host tells the end",
         "may have waited for a rank or link under greater suspicion"},
    [RULE_LATE_RECEIVERS] = {"late-receivers", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
                             "a score of senders",
                             "the share of its slowness in sends to ranks that are believed to be late in "
                             "that step",
                             "may have waited for receivers that were late"},
    [RULE_TWINS] = {"twins", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_TWINS,
                    "a record with sends and receives; of a host, one of the others by its host",
                    "how many other ranks were late by as much (alike) in more than half of the same steps",
                    "is late by as much as others in the same steps: they may have one cause"},
    [RULE_TWIN_OF_HIDDEN_PAIR] =
        {"twin-of-hidden-pair", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
         "a record that leaves sends and receives out",
         "how many other ranks were late by as much (alike) in more than half of the "
         "same steps, but for those that may have waited for this one: whose lateness "
         "alone, or in stages neither's, may be a receive",
         "is late by as much as another rank in the same steps: either may have waited"},
    [RULE_COMMON_LATENESS] =
        {"common-lateness", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_HALF,
         "other ranks in each of its steps; of a GPU, other hosts late by half as much in "
         "more than half of its steps",
         "the share of its lateness that the middle one of the other hosts had, too, or of "
         "those of its role (ranks-of-role)",
         "was late while most hosts were"},
    [RULE_CROWD] =
        {"crowd", OF_ALL, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_HALF,
         "medium confidence or high by all other rules",
         "the share of its steps in which more than half of the ranks, crowd at least, are accused",
         "is one of most ranks that are accused at once: they may have one cause"},
    [RULE_SHARED_NETWORK] =
        {"shared-network", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_SHARED,
         "medium confidence or high by all other rules; two other networks that are not believed to be at "
         "fault "
         "slow in shared-steps of its steps, or its only one; one slow step of another does "
         "not count beside three and more",
         "what those were slow by in its steps, as a share of what it was",
         "was slow along with other networks: a switch or host that they share may be"},
    [RULE_NO_PEERS] =
        {"no-peers", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE, NULL,
         "in how many of its steps there is no other rank; where in most none of its role or of the "
         "operation tells its own time, in how many",
         "has no other rank to be held against"},
    [RULE_ALONE_IN_ROLE] =
        {"alone-in-role", OF_RANK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_ROLE,
         "gaps, a record that leaves sends and receives out, or lateness in more than half of "
         "the steps",
         "how many ranks play its role",
         "plays its role alone: it may as well have been early in the other steps"},
    [RULE_IRREGULAR] = {"irregular", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_REGULAR, NULL,
                        "the share of calls that have their place in a step",
                        "is of a job whose steps are mostly unlike each other"},
    [RULE_ESTIMATED_STEADY] = {"estimated-steady", OF_RANK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ALL,
                               "ends that are estimated: clocks that are off by as much in all steps make "
                               "them too early for one rank",
                               "the share of the steps after the warm-up that are its",
                               "lasts through all steps, and rests on ends that are estimated"},
    [RULE_WORTH] = {"worth", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_WORTH, NULL,
                    "what it is worth in each step, in --min-gain of a median step", "costs too little"},
    [RULE_WORTH_MOMENT] =
        {"worth-moment", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_WORTH_MOMENT, "one step",
         "what it is worth, as a share of a median step",
         "costs too little for a step alone: sends stand still for a moment on healthy networks"},
    [RULE_BY_DESIGN] =
        {"by-design", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_BY_DESIGN,
         "all steps after the warm-up; of a host nearly-all; of a network, or where only finished "
         "operations are recorded, more than half",
         "what it is worth in each step, as a share of a median step",
         "lasts through so many steps that ranks may differ so by design"},
    [RULE_ONE_PLACE] =
        {"one-place", OF_COMPUTE, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_ONE_PLACE,
         "a score of several ranks or steps, through all steps",
         "the share of its peers' own time in a step that lies at places where it takes longer",
         "is heavier at some places only, as it may be by design"},
    [RULE_LONGER_WAY] =
        {"longer-way", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_ONE,
         "a score of senders, through all steps",
         "how many others of its host, which wait less than slower-operations times as long as those of "
         "other hosts, send to a host that it sends to; of one rank alone none",
         "may have the longer way by design"},
    [RULE_BUSIEST] =
        {"busiest", OF_COMPUTE, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_BUSIER,
         "a record of all that GPUs did, and a rank of fewer than ranks-of-role that computes for half of "
         "each step",
         "how many times as long its GPU computes in a step as that of any other rank",
         "has more to compute than others, as stages may by design"},
    [RULE_NO_GAIN] =
        {"no-gain", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_NO_GAIN,
         "gaps, or another rank that cost shadow times as much in each of those steps; and steps "
         "not longer by half of what partners waited",
         "the gain in each step, in --min-gain of a median step",
         "gains nothing in the replay, and what would show it is missing"},
    [RULE_NOT_IN_STEPS] = {"not-in-steps", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SHOWN,
                           "two other steps whose length is known",
                           "what its steps were longer than the median of the others, as a share of the gain",
                           "does not show in the length of its steps"},
    [RULE_WITHIN_SPREAD] = {"within-spread", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_ERRORS,
                            "two other steps whose length is known",
                            "what its steps were longer than the median of the others, in standard errors",
                            "has steps that are no longer than steps are anyway"},
    [RULE_NOT_IN_STEPS_OF_LATE] =
        {"not-in-steps-of-late", OF_RANK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SHOWN_OF_LATE,
         "two other steps whose length is known",
         "what its steps were longer than the median of the others, and errors standard "
         "errors, less what most hosts were late by, as a share of the greater of gain "
         "and what partners waited",
         "does not show in the length of its steps"},
    [RULE_CONNECTING] = {"connecting", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_STEP,
                         "three steps and more, from the first after the warm-up and not to the last",
                         "by how much its weakest step was slow, in median steps",
                         "may be connections that get up to speed"},
    [RULE_CERTAINTY] = {"certainty", OF_ALL, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_CERTAINTY,
                        "a score of several ranks or steps", "the log of the odds that it is no noise",
                        "may have come by chance"},
    [RULE_CERTAINTY_SENDERS] = {"certainty-senders", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW,
                                LIMIT_CERTAINTY_SURE, "a score of senders",
                                "the log of the odds that it is no noise",
                                "may have come by chance: links have moments that last for several steps"},
    [RULE_CHANCE] =
        {"chance", OF_ALL, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_CHANCE,
         "two steps that count and more, as strong as any other step alone, or of a network longer by "
         "longer-two each; no pause of a network",
         "how many such runs of steps noise makes; of a network of steps-told steps and more as few as of "
         "what its rank was late by behind sends that are left out",
         "may have come by chance"},
    [RULE_CHANCE_BEHIND] =
        {"chance-behind", OF_ALL, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_CHANCE_BEHIND,
         "two steps that count and more, the weakest less than some other step alone; no pause "
         "of a network, nor one longer by longer-two each",
         "how many such runs of steps noise makes",
         "may have come by chance, as another step alone was stronger"},
    [RULE_CHANCE_ALONE] =
        {"chance-alone", OF_ALL, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_CHANCE_ALONE,
         "one step, less than far-ahead; no pause of a network; of a host not worth late-alone "
         "and ahead-many, of a GPU nor late-gpu and ahead-gpu, unless only finished operations "
         "are recorded, and it is the first after the warm-up, or calls may be missing",
         "how many such steps noise makes", "may have come by chance"},
    [RULE_AHEAD_LITTLE_TWO] = {"ahead-little-two", OF_RANK, CONFIDENCE_LOW, SPEAKS_BELOW,
                               LIMIT_AHEAD_LITTLE_TWO,
                               "two steps that count, worth less than little-two each",
                               "how many times any other step alone the weaker one is",
                               "is little, and no more than some other step alone"},
    [RULE_AHEAD_NETWORK_TWO] = {"ahead-network-two", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW,
                                LIMIT_AHEAD_NETWORK_TWO,
                                "two steps that count, worth less than longer-two each",
                                "how many times any other step alone the weaker one is",
                                "is little more than some other step alone"},
    [RULE_NOT_SLOWER] =
        {"not-slower", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SLOWER,
         "network steps; calls took less than slower-operations; one step or two, or all, or not "
         "so long and far ahead as for not-slower-many",
         "how many times as long as usual the network steps of its slow edges waited",
         "is no slower than healthy links are at times"},
    [RULE_NOT_SLOWER_MANY] =
        {"not-slower-many", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_SLOWER_MANY,
         "network steps; calls took less than slower-operations; three steps and more, not "
         "all, that are ahead-many, or worth longer-many and as strong as any other step "
         "alone, not both; worth less than longer-steps",
         "how many times as long as usual the network steps of its slow edges waited",
         "is no slower than healthy links are at times"},
    [RULE_STEADY] = {"steady", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_FROM, LIMIT_ALL, NULL,
                     "the share of the steps after the warm-up that are its",
                     "lasts through all steps: only the comparison with peers speaks for it"},
    [RULE_CERTAINTY_SURE] = {"certainty-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_CERTAINTY_SURE,
                             "a score of several ranks or steps", "the log of the odds that it is no noise",
                             "may have come by chance, if rarely"},
    [RULE_WORTH_SURE] = {"worth-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_WORTH_SURE, NULL,
                         "what it is worth in each step, in --min-gain of a median step",
                         "costs little more than the least that counts"},
    [RULE_CHANCE_SURE] = {"chance-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_CHANCE_SURE,
                          "two steps that count and more; no pause of a network longer than pause by sure",
                          "how many such runs of steps noise makes", "is not unlikely enough to be sure"},
    [RULE_CHANCE_ALONE_SURE] = {"chance-alone-sure", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE,
                                LIMIT_CHANCE_ALONE_SURE,
                                "one step, less than far-ahead by sure; no pause longer than pause by sure",
                                "how many such steps noise makes", "is not unlikely enough to be sure"},
    [RULE_DAMAGED_LINES] = {"damaged-lines", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_NONE, NULL,
                            "how many lines could not be read",
                            "is of a trace with damaged lines, which leave room for another explanation"},
    [RULE_LOST_EVENTS] = {"lost-events", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_NONE, NULL,
                          "how many events the recorder says it lost",
                          "is of a trace with lost events, which leave room for another explanation"},
    [RULE_GAPS] =
        {"gaps", OF_ALL, CONFIDENCE_MEDIUM, SPEAKS_ABOVE, LIMIT_GAPS, NULL,
         "the share of operations that are missing from their sequences, but for those that all ranks "
         "left out",
         "is of a trace with gaps, which leave room for another explanation"},
    [RULE_ESTIMATED] = {"estimated", OF_RANK, CONFIDENCE_MEDIUM, SPEAKS_FROM, LIMIT_ONE, NULL,
                        "1 where most of it is own time since ends that are estimated, as kernels note none, "
                        "else 0",
                        "rests on ends that are estimated"},
    [RULE_START_SCATTER] = {"start-scatter", OF_HOST, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_START_APART,
                            "a log that tells how long ranks waited at start-up, and a rank that came to it "
                            "start-late or more after all others",
                            "how many times as far behind the others it came as these came apart",
                            "came no farther behind than others behind each other"},
    [RULE_SILENT_PEER] =
        {"silent-peer", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
         "a log that tells of failed transfers, and of calls-ahead calls since at the most",
         "how many ranks at the other end, which may be any where that is not known, warn of "
         "nothing",
         "lost a peer that may have died: a rank there warns of nothing"},
    [RULE_ENDS] =
        {"ends", OF_NETWORK, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ENDS,
         "a log that tells of failed transfers, and of calls-ahead calls since at the most",
         "how many network cards, or hosts, may have failed: those that the transfers do not have in "
         "common",
         "is one of several whose transfers failed"},
    [RULE_SEVERAL_ERRORS] = {"several-errors", OF_ERROR, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_ONE,
                             "an error that the rank reports itself, and calls-ahead calls since at the most",
                             "how many ranks report errors of their own that weigh as much; of one host "
                             "those that came less than "
                             "errors-apart after the first",
                             "is one of several ranks that report such errors"},
    [RULE_NO_ECHO] = {"no-echo", OF_ERROR, CONFIDENCE_MEDIUM, SPEAKS_BELOW, LIMIT_ONE,
                      "an error that the rank reports itself, and calls-ahead calls since at the most",
                      "how many other ranks report that they lost a peer, or were aborted",
                      "reports an error of which no other rank reports an effect"},
    [RULE_MERE_SETTING] = {"mere-setting", OF_ERROR, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
                           "an error that the rank reports itself, and first-calls calls since at the most, "
                           "of a port calls-ahead",
                           "1 where what it reports is a network card or plugin that it lacks, or that "
                           "differs, or a port that went "
                           "and did not come back, else 0",
                           "reports what need not end a job"},
    [RULE_STUCK_IN_START] =
        {"stuck-in-start", OF_MISSING, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_ONE,
         "a log of a communicator whose making did not end, and first-calls calls on it at the most",
         "how many ranks hold it up, or are held up: which of them, the log does not tell",
         "is one of several ranks that never got out of the making of a communicator"},
    [RULE_NO_TRACE] =
        {"no-trace", OF_MISSING, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
         "a log of a communicator whose making did not end, and first-calls calls on it at the most",
         "1 where the ranks that the others wait for left no trace at all, else 0",
         "left no trace at all, which may merely not be given"},
    [RULE_OUTLIVED] =
        {"outlived", OF_ENDED_EARLY, CONFIDENCE_LOW, SPEAKS_BELOW, LIMIT_OUTLIVED,
         "a job most of whose files have no end, and a file of the rank",
         "for how many seconds more the bundled plugin wrote of each rank that waits; 0 where clocks do not "
         "tell, or another wrote",
         "has a file that ends about when others do: it may merely have been cut elsewhere"},
    [RULE_UNRECORDED] =
        {"unrecorded", OF_MISSING, CONFIDENCE_MEDIUM, SPEAKS_FROM, LIMIT_ONE,
         "a rank that others wait for, or that one reports; where it left no record, records of records "
         "times as "
         "many ranks as without, or records-unsized times where none tells how many there are",
         "1 where no call of it is recorded, else 0",
         "left no record of its calls: that may be lost, and it may have made the call"},
    [RULE_UNSIZED] = {"unsized", OF_MISSING, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE,
                      "a rank without a record, and others that tell how far calls came",
                      "1 where no record tells how many ranks the communicator has, else 0",
                      "is known from a gap in the numbers of ranks alone, and more ranks may be absent"},
    [RULE_HALF_ABSENT] =
        {"half-absent", OF_MISSING, CONFIDENCE_LOW, SPEAKS_FROM, LIMIT_ONE, "a rank without a record",
         "how many ranks the files say nothing of, for each that they say anything of",
         "is one of as many ranks without a trace as there are with one: it may wait for another of them"},
    [RULE_REPORTS_DIFFER] = {"reports-differ", OF_MISSING, CONFIDENCE_LOW, SPEAKS_ABOVE, LIMIT_NONE,
                             "a report of PyTorch's on how far all ranks came",
                             "how many ranks made a report that does not name it",
                             "is not named by the reports of all ranks that made one"},
};

int rule_speaks(enum rule_id rule, double reading)
{
    double limit = limit_of(rules[rule].limit);
    switch (rules[rule].side) {
    case SPEAKS_BELOW:
        return reading < limit;
    case SPEAKS_FROM:
        return reading >= limit;
    default:
        return reading > limit;
    }
}

const char *rule_side_name(enum rule_side side)
{
    static const char *const names[] = {"below", "from", "above"};
    return names[side];
}

int rule_find(const char *name, size_t length)
{
    for (int i = 0; i < RULE_COUNT; i++)
        if (strlen(rules[i].name) == length && memcmp(rules[i].name, name, length) == 0)
            return i;
    return -1;
}
