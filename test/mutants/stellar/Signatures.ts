// Rules of stellar that are checked before each signature.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/stellar/rules"
const tests = "test/networks/stellar/rules"
const traces = "test/networks/stellar/rules/README.md: trace"
const attacks = "docs/security/stellar.md: row"

export const signatures: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/StellarDecision.ts`, [
    {
      name: "other-network-gets-nothing",
      rule: "Nothing that another network says is believed, and nothing is sent to it.",
      source: `${traces} 35`,
      before: `if (isOnOtherChain(situation)) return`,
      after: `if (isOnOtherChain(situation) && transaction.restored) return`,
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/StellarDecision.ts`, [
    {
      name: "clock-fits-the-ledger",
      rule: "Nothing is signed while the clock differs from the close time of the ledger.",
      source: `${traces} 45`,
      before: "[usedByGuest, clockFits, hasTimeLeft,",
      after: "[usedByGuest, hasTimeLeft,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "account-that-providers-lack-holds-their-rows",
      rule: "Providers of one relayer that show no account hold its rows, and not those of a relayer with other URLs.",
      source: "test/transactions-failures.md D6",
      before: `hold(situation, "no_account", { minimum }, "providers")`,
      after: `hold(situation, "no_account", { minimum }, "lane")`,
      test: "test/networks/stellar/lane/SharedLane.test.ts"
    },
    {
      name: "guest-waits-for-what-used-its-sequence",
      rule: "The envelope of a guest does not expire while its sequence is used by a transaction that is not shown yet.",
      source: `${traces} 27`,
      before: `why?.code === "landing_unproven" ? validUntil + unseenPatience : validUntil`,
      after: `why?.code === "landing_unproven" ? validUntil + 0 * unseenPatience : validUntil`,
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "guest-fails-only-by-another-use",
      rule: "The envelope of a guest fails only if the transaction that used its sequence is shown.",
      source: `${traces} 27`,
      before: `if (proof.kind !== "taken") return unseen`,
      after: `if (proof.kind !== "taken") return [finish({ state: "failed", cause: cause("sequence_used", { sequence }) })]`,
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "last-sequence-is-not-used",
      rule: "Nothing is signed after the last sequence of an account.",
      source: `${traces} 14`,
      before: "payer, exhausted, channelWork,",
      after: "payer, channelWork,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "given-signature-comes-first",
      rule: "A request waits while a signature that a caller got may use the sequence.",
      source: `${traces} 47`,
      before: "required, givenFirst, room,",
      after: "required, room,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "required-sequence-is-the-next-one",
      rule: "A request that requires another sequence than the next one is not signed.",
      source: `${traces} 11`,
      before: "channelWork, required, givenFirst,",
      after: "channelWork, givenFirst,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "one-envelope-per-place",
      rule: "An account has one transaction in flight at a time.",
      source: `${traces} 29`,
      before: "givenFirst, room, guestTurn]",
      after: "givenFirst, guestTurn]",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "guest-has-its-turn",
      rule: "An envelope of a user is paid for only at its next sequence.",
      source: `${attacks} 29`,
      before: "givenFirst, room, guestTurn]",
      after: "givenFirst, room]",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "restored-request-is-not-signed",
      rule: "A pending request of a restored ledger waits for an operator.",
      source: `${traces} 32`,
      before: "  restored,\n  rows.notWanted,",
      after: "  rows.notWanted,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "canceled-request-is-not-signed",
      rule: "A canceled request that has no envelope gets none.",
      source: `${traces} 24`,
      before: "  restored,\n  rows.notWanted,",
      after: "  restored,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "deadline-before-the-signature",
      rule: "A request is not signed after its deadline.",
      source: `${traces} 4`,
      before: "  deadline,\n  rows.policy,",
      after: "  rows.policy,",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "paused-relayer-signs-nothing",
      rule: "A paused relayer signs nothing.",
      source: "test/transactions-failures.md 49",
      before: "  rows.paused,\n",
      after: "",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "enough-providers-before-a-signature",
      rule: "Nothing is signed while too few providers answer.",
      source: `${traces} 42`,
      before: "return !areEnough(asked, view, situation.now)",
      after: "return asked.length === 0 && !areEnough(asked, view, situation.now)",
      test: `${tests}/DecidePending.test.ts`
    },
    {
      name: "guest-sequence-is-used",
      rule: "An envelope of a user whose sequence is used is looked for before it ends.",
      source: `${attacks} 31`,
      before: `if (view.isProofAsked !== true) return [ask<Stellar>("proof")]`,
      after: "",
      test: `${tests}/DecidePending.test.ts`
    }
  ]),
  ...inFile(`${source}/DecideSignature.ts`, [
    {
      name: "guard-before-each-signature",
      rule: "The guard reads the final bytes before each signature.",
      source: `${traces} 39`,
      before: "[obsolete, broken, unshown, payment,",
      after: "[obsolete, unshown, payment,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "hidden-changes-are-not-signed",
      rule: "A call is not signed while one provider alone hides what it changes.",
      source: `${attacks} 48`,
      before: "broken, unshown, payment,",
      after: "broken, payment,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "one-of-two-hides-until-one-decides",
      rule: "What one of two providers hides ends a call only after the time after which one decides alone.",
      source: `${attacks} 48`,
      before: `if (verdict._tag === "Alone") return fail("balance_change", detail)`,
      after: `if (verdict._tag !== "Agreed") return fail("balance_change", detail)`,
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "failing-call-is-not-signed",
      rule: "A call whose simulation fails is not signed.",
      source: `${attacks} 33`,
      before: "payment, simulated, restore,",
      after: "payment, restore,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "fee-within-the-cap",
      rule: "No envelope offers more than the cap.",
      source: `${traces} 20`,
      before: "authorization, feeAboveCap, worth,",
      after: "authorization, worth,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "key-limit-bounds-the-fee",
      rule: "The fees that are left to an API key bound the fee of an envelope.",
      source: `${attacks} 38`,
      before: "terms.feeLimit !== undefined && terms.feeLimit < terms.cap ? terms.feeLimit : terms.cap",
      after: "terms.cap",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "payment-is-worth-the-fee",
      rule: "The payment of a user is worth the fee at the price of the signature.",
      source: `${traces} 40`,
      before: "feeAboveCap, worth, funds]",
      after: "feeAboveCap, funds]",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "payment-waits-for-a-price",
      rule: "Without a price of now, no envelope of a user is paid for.",
      source: `${traces} 40`,
      before: "unshown, payment, simulated,",
      after: "unshown, simulated,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "funds-before-the-signature",
      rule: "An envelope that the account cannot pay is not signed.",
      source: `${traces} 36`,
      before: "feeAboveCap, worth, funds]",
      after: "feeAboveCap, worth]",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "authorization-outlives-the-envelope",
      rule: "A call whose authorization expires is not signed.",
      source: `${traces} 21`,
      before: "restore, authorization, feeAboveCap,",
      after: "restore, feeAboveCap,",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "lowest-close-time-counts",
      rule: "The life of an envelope counts from the lowest close time, so that no provider can prolong it.",
      source: `${traces} 44`,
      before: "const closeTime = Math.min(...asked",
      after: "const closeTime = Math.max(...asked",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "restore-needs-a-key-without-limits",
      rule: "A key with limits pays for no restore, because its fee counts for no key.",
      source: `${traces} 22`,
      before: `if (situation.terms.feeLimit !== undefined) return hold(situation, "needs_restore")`,
      after: "",
      test: `${tests}/DecideSignature.test.ts`
    }
  ]),
  ...inFile(`${source}/DecideSignature.ts`, [
    {
      name: "reserves-are-those-of-the-network",
      rule: "The account keeps the reserves that its network has voted.",
      source: `${traces} 36`,
      before: "fundsFor(payers, need, view.settings ?? publicSettings)",
      after: "fundsFor(payers, need, publicSettings)",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "bids-are-within-the-funds",
      rule: "No provider can make an envelope wait for funds by high bids of others.",
      source: `${traces} 20`,
      before: "return left < 0n ? 0n : left < cap ? left : cap",
      after: "return left < 0n ? 0n : cap",
      test: `${tests}/DecideSignature.test.ts`
    }
  ]),
  ...inFile(`${source}/DecideSignature.ts`, [
    {
      name: "prices-of-dead-envelopes-hold-nothing-up",
      rule: "What a node asked for a dead envelope is not the present price.",
      source: `${traces} 20`,
      before: "currentAttempts(transaction).at(-1)?.refusal?.needed",
      after: "transaction.attempts.at(-1)?.refusal?.needed",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "bids-are-within-the-cap",
      rule: "High bids of others make no envelope wait whose base fee is within the cap.",
      source: `${traces} 20`,
      before: "highest.rate > least && isWithin(highest) ? highest : pricedAt(least, preparation, form)",
      after: "asked",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "bids-are-at-least-the-base-fee",
      rule: "No envelope offers less than the network, or a node that refused it, takes.",
      source: `${traces} 20`,
      before: "highest.rate > least && isWithin(highest)",
      after: "isWithin(highest)",
      test: `${tests}/DecideSignature.test.ts`
    }
  ]),
  ...inFile(`${source}/StellarNumbers.ts`, [
    {
      name: "calls-declare-what-the-network-takes",
      rule: "The margin of a call does not exceed the limits of the network.",
      source: `${traces} 21`,
      before: "limit === undefined ? withMargin : Math.max(units, Math.min(withMargin, limit))",
      after: "limit === undefined ? withMargin : Math.max(units, withMargin)",
      test: "test/networks/stellar/lane/VotedTraces.test.ts"
    },
    {
      name: "late-bytes-count-the-drift",
      rule: "While no ledger is seen, bytes are late as soon as nodes refuse them.",
      source: `${traces} 4`,
      before: "Math.max(0, Math.floor(secondsIn(now - newestSince)))",
      after: "Math.max(0, 0 * Math.floor(secondsIn(now - newestSince)))",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarNodes.ts", [
    {
      name: "reserve-has-bounds",
      rule: "A base reserve that no network has is not believed.",
      source: `${attacks} 45`,
      before: "value >= least && value <= most",
      after: "value >= least || value <= most",
      test: "test/networks/stellar/chain/StellarSettings.test.ts"
    },
    {
      name: "reserve-of-one-provider-waits",
      rule: "One of several providers changes no reserve: what counted before does, until two agree.",
      source: `${attacks} 45`,
      before: "const agreed = same ?? (configured < agreeing ? first : undefined)",
      after: "const agreed = same ?? first",
      test: "test/networks/stellar/chain/StellarSettings.test.ts"
    }
  ]),
  ...inFile("src/networks/stellar/requests/StellarChecks.ts", [
    {
      name: "acceptance-counts-the-voted-reserve",
      rule: "Acceptance counts the reserve that the network has voted for an API key.",
      source: `${attacks} 45`,
      before: "return settings === undefined ? terms : { ...terms, baseReserve: settings.baseReserve }",
      after: "return settings === undefined ? terms : { ...terms, baseReserve: terms.baseReserve }",
      test: "test/networks/stellar/requests/Signing.test.ts",
      only: "counts for a key with a max_value the reserve"
    },
    {
      name: "given-authorizations-may-name-own-accounts",
      rule: "Authorizations that a caller gives with operations are compared with the accounts of the service.",
      source: `${attacks} 43`,
      before: `operation.auth?.type === "xdr"`,
      after: `operation.auth?.type === "none"`,
      test: `test/networks/stellar/chain/GuardCredentials.test.ts`,
      only: "are looked for"
    }
  ]),
  ...inFile(`${source}/DecideSignature.ts`, [
    {
      name: "funds-in-flight-are-reserved",
      rule: "Funds of what is in flight are reserved.",
      source: `${traces} 36`,
      before: "const available = spendable - reserved",
      after: "const available = spendable - 0n * reserved",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "least-of-the-balances-counts",
      rule: "The lowest balance that a provider shows counts.",
      source: `${traces} 36`,
      before: "(one < least ? one : least)",
      after: "(one > least ? one : least)",
      test: `${tests}/DecideSignature.test.ts`
    },
    {
      name: "reserves-stay",
      rule: "What the entries of the account lock is not spent.",
      source: `${traces} 36`,
      before: "balance - sellingLiabilities - reserves * baseReserve",
      after: "balance - sellingLiabilities - 0n * reserves * baseReserve",
      test: `${tests}/DecideSignature.test.ts`
    }
  ]),
  ...inFile(`${source}/DecideInFlight.ts`, [
    {
      name: "restored-request-gets-no-new-envelope",
      rule: "A canceled or restored request gets no new envelope at its place.",
      source: `${traces} 25`,
      before: `if (!isDue || isOver || intent !== "execute" || restored) return undefined`,
      after: "if (!isDue || isOver) return undefined",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/StellarTerms.ts`, [
    {
      name: "used-channel-is-not-made-again",
      rule: "A channel that a transaction uses is not made again, although its account is not seen.",
      source: `${traces} 31`,
      before: `return isTaken ? stage : "creating"`,
      after: `return isTaken ? "creating" : "creating"`,
      test: `${tests}/Channels.test.ts`
    },
    {
      name: "used-channel-is-not-removed",
      rule: "A channel is removed only after no transaction uses it.",
      source: `${traces} 29`,
      before: `return exists === false && !isTaken ? undefined : "draining"`,
      after: `return exists === false ? undefined : "draining"`,
      test: `${tests}/Channels.test.ts`
    },
    {
      name: "one-work-on-channels-at-a-time",
      rule: "No work on channels begins before the former one is final.",
      source: `${traces} 31`,
      before: "if (isWorking || (failedAt",
      after: "if ((failedAt",
      test: `${tests}/Channels.test.ts`
    }
  ]),
  ...inFile("src/server/ledger/LanesRepo.ts", [
    {
      name: "relayers-without-lanes-are-own-accounts",
      rule: "Accounts of the service are those of all its relayers, also of relayers that have sent nothing and have no lane.",
      source: `${attacks} 16`,
      before: "        { table: \"relayers\", condition: `t.network_type = '${type}'` },\n",
      after: "",
      test: "test/networks/stellar/lane/OwnAccounts.test.ts"
    }
  ])
]
