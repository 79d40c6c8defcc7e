// What two or more providers prove together about the envelopes of a transaction.
import { describe } from "@effect/vitest"
import { stalledAfter } from "../../../../src/domain/chain/Rpc.ts"
import { cause } from "../../../../src/networks/core/Cause.ts"
import { ledgerTime, unseenPatience } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import {
  alive,
  applied,
  check,
  clock,
  dead,
  forgotten,
  found,
  look,
  n,
  now,
  past,
  proven,
  seen,
  situation,
  submitted,
  taken,
  unseen
} from "./Situations.ts"

const two = (first: ReturnType<typeof look>, second: ReturnType<typeof look>, more = {}) =>
  seen([first, second], { ...proven, ...more })
const stalled = { ...alive, isStalled: true }
const silent = look(n, { testimony: {} })
const failed = { isSuccess: false, code: "txFailed", operations: ["paymentUnderfunded"] }

describe("two providers", () => {
  const alone = { aloneSince: now - 60_000 }
  const lagging = { cause: cause("landing_unproven"), causeSince: now - unseenPatience }
  const waiting = { ...submitted, cause: cause("second_provider_missing"), causeSince: now - 3_600_000 }
  check([
    ["have to say the same", situation(submitted, two(found(), found())), "Finish confirmed confirmed next 1"],
    [
      "agree that it is dead at different ledgers",
      situation(submitted, two(dead, look(n - 1n, {}, { number: 513, closeTime: past.closeTime + 5 }))),
      "Requeue queued 0 next 0"
    ],
    ["keep it if one is behind", situation(submitted, two(dead, alive)), "Hold second_provider_behind"],
    [
      "keep it if one has not seen the ledger",
      situation(
        submitted,
        two({ ...found({ ledger: 501 }), testimony: { found: { ...applied, ledger: 501 } } }, alive)
      ),
      "Hold second_provider_behind"
    ],
    [
      "disagree if one excludes what the other found",
      situation(submitted, two(found(), alive)),
      "Hold providers_disagree"
    ],
    [
      "disagree about the result",
      situation(submitted, two(found(), found({ ...failed, result: "BBBB" }))),
      "Hold providers_disagree"
    ],
    [
      "disagree about the sequence at one ledger",
      situation(submitted, two(dead, look(n, { testimony: {} }, past))),
      "Hold providers_disagree"
    ],
    [
      "keep it if one found nothing in its ledgers",
      situation(submitted, two(found(), taken())),
      "Hold providers_disagree"
    ],
    [
      "wait for the index of one that is behind, if the other one found it",
      situation(submitted, two(found(), unseen)),
      "Hold landing_unproven"
    ],
    [
      "wait for the index of one that is behind, if the other one shows another use of the sequence",
      situation(submitted, two(taken(), unseen)),
      "Hold landing_unproven"
    ],
    ["wait for the indexes of both", situation(submitted, two(unseen, unseen)), "Hold landing_unproven"],
    [
      "wait for the index of one while the other one does not answer",
      situation(submitted, two(unseen, stalled, alone)),
      "Hold landing_unproven"
    ],
    [
      "wait for the index of one that has forgotten nothing, if the other one has",
      situation(submitted, two(forgotten, unseen)),
      "Hold landing_unproven"
    ],
    [
      "send on while one shows the sequence as unused",
      situation(submitted, two(unseen, look(n - 1n, {}, { number: 499, closeTime: clock - 7 }))),
      "Hold in_queue"
    ],
    [
      "leave it to an operator if the indexes of both stay behind",
      situation({ ...submitted, ...lagging }, two(unseen, unseen)),
      "Hold nonce_taken_unproven"
    ],
    [
      "wait for a second one if the index of one stays behind",
      situation({ ...submitted, ...lagging }, two(found(), unseen)),
      "Hold second_provider_missing"
    ],
    [
      "let the one that found it decide after an hour, if the index of the other one stays behind",
      situation(waiting, two(found(), unseen)),
      "Finish confirmed confirmed by one next 1"
    ],
    [
      "keep it as unproven if one has forgotten the ledgers",
      situation(submitted, two(taken(), forgotten)),
      "Hold nonce_taken_unproven"
    ],
    [
      "show different sequences after another use: the lower one counts",
      situation(submitted, two(taken({}, n + 5n), taken({}, n + 2n))),
      "Requeue nonce_taken 1 next 3"
    ],
    ["wait for the second one", situation(submitted, two(dead, stalled, alone)), "Hold second_provider_missing"],
    [
      "wait for the second one if it answers with errors",
      situation(submitted, two(found(), silent)),
      "Hold landing_unproven"
    ],
    [
      "let one decide after an hour",
      situation(waiting, two(found(), stalled, alone)),
      "Finish confirmed confirmed by one next 1"
    ],
    [
      "let none decide alone before this process has polled for as long as makes a provider stalled",
      situation(waiting, two(found(), forgotten, { polledSince: now - stalledAfter(ledgerTime) + 1 })),
      "Hold second_provider_missing"
    ],
    [
      "let one decide if this process has polled for so long",
      situation(waiting, two(found(), forgotten, { polledSince: now - stalledAfter(ledgerTime) })),
      "Finish confirmed confirmed by one next 1"
    ],
    [
      "never let one decide if the network says so",
      situation(waiting, two(found(), stalled, alone), { terms: { finalityByOne: "never" } }),
      "Hold second_provider_missing"
    ],
    [
      "let one decide if the other has forgotten the ledger",
      situation(waiting, two(found(), forgotten)),
      "Finish confirmed confirmed by one next 1"
    ],
    [
      "let one decide if the first has forgotten the ledger",
      situation(waiting, two(forgotten, found())),
      "Finish confirmed confirmed by one next 1"
    ],
    [
      "are outvoted by none: of three, two that agree decide",
      situation(submitted, seen([alive, found(), found()], proven)),
      "Finish confirmed confirmed next 1"
    ]
  ])
})

describe("three or more providers", () => {
  const later = found({ ledger: 505 })
  /** A false time of a ledger before the one that contains the envelope. */
  const early = look(n - 1n, {}, { ...past, number: 498 })
  const many = (...looks: ReadonlyArray<ReturnType<typeof look>>) =>
    situation(submitted, seen(looks, { ...proven, configured: looks.length }))
  check([
    [
      "of which two agree decide against the third",
      many(found(), taken(), found()),
      "Finish confirmed confirmed next 1"
    ],
    [
      "of which two contradict the two others hold the transaction",
      many(found(), found(), taken(), taken()),
      "Hold providers_disagree"
    ],
    [
      "of which two contradict the two others hold it in any order",
      many(taken(), found(), taken(), found()),
      "Hold providers_disagree"
    ],
    [
      "of which two show another use of the sequence before the ledger of a result hold it",
      many(taken(), taken(), later, later),
      "Hold providers_disagree"
    ],
    [
      "of which two show that it is dead before the ledger of a result hold it",
      many(early, early, found(), found()),
      "Hold providers_disagree"
    ],
    [
      "of which two have forgotten the ledgers believe the two that found it",
      many(forgotten, forgotten, found(), found()),
      "Finish confirmed confirmed next 1"
    ],
    [
      "of which two have forgotten the ledgers believe the two that show another use of the sequence",
      many(forgotten, forgotten, taken(), taken()),
      "Requeue nonce_taken 1 next 1"
    ],
    [
      "of which two have forgotten the ledgers wait for another one if a third found it",
      many(forgotten, forgotten, found()),
      "Hold second_provider_missing"
    ]
  ])
})
