// Rules of stellar about what proves that an envelope was applied, is dead, or lost its sequence.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/stellar/rules"
const tests = "test/networks/stellar/rules"
const looks = "test/networks/stellar/chain/StellarLooks.test.ts"
const traces = "test/networks/stellar/rules/README.md: trace"

export const evidence: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/StellarSeen.ts`, [
    {
      name: "dead-after-max-time",
      rule: "An envelope is dead only after a ledger that closed after its maxTime.",
      source: `${traces} 4`,
      before: "BigInt(closeTime) > maxTime || (",
      after: "BigInt(closeTime) > 0n || (",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "dead-if-all-envelopes-are",
      rule: "All envelopes of a place are past before one of them counts as dead.",
      source: `${traces} 43`,
      before: "watched.every((one) => isPast(ledger, one))",
      after: "watched.some((one) => isPast(ledger, one))",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "used-sequence-is-looked-for",
      rule: "Envelopes whose account has reached the sequence are looked for, not called dead.",
      source: `${traces} 5`,
      before: "if (account.sequence === undefined || account.sequence >= sequence)\n    return ofUsed(",
      after: "if (account.sequence === undefined || account.sequence > sequence)\n    return ofUsed(",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "missing-account-is-looked-for",
      rule: "An account that is gone may have used the sequence before.",
      source: `${traces} 41`,
      before: "if (account.sequence === undefined || account.sequence >= sequence)\n    return ofUsed(",
      after: "if (account.sequence !== undefined && account.sequence >= sequence)\n    return ofUsed(",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "silence-is-no-other-use",
      rule: "That the ledgers show no transaction with the sequence does not prove that another one used it.",
      source: `${traces} 11`,
      before: `return { kind: use === undefined && (isForgotten || scan?.isCut === true) ? "unproven" : "unseen", ledger }`,
      after: `if (use === undefined) return { kind: "taken", ledger, foreign: "" }
  return { kind: isForgotten || scan?.isCut === true ? "unproven" : "unseen", ledger }`,
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "own-hash-in-a-ledger",
      rule: "A sequence is not taken by others if the transaction that used it is ours.",
      source: `${traces} 11`,
      before: "if (use !== undefined && !isOurs(use, watched)) {",
      after: "if (use !== undefined) {",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "inner-hash-in-a-ledger",
      rule: "The user of an envelope may have sent it: its inner hash is looked for as well.",
      source: `${traces} 27`,
      before: "hashes.includes(hash) || (innerHash !== undefined && hashes.includes(innerHash))",
      after: "hashes.includes(hash)",
      test: `${tests}/Evidence.test.ts`
    },
    {
      name: "providers-have-one-result",
      rule: "Two providers that show different results of an envelope prove nothing.",
      source: `${traces} 9`,
      before: "one.hash === other.hash && one.ledger === other.ledger && one.result === other.result",
      after: "one.hash === other.hash",
      test: `${tests}/SeveralProviders.test.ts`
    },
    {
      name: "providers-prove-the-same",
      rule: "What two providers prove differently is unknown.",
      source: `${traces} 10`,
      before: `if (!kinds.has("taken") || !kinds.has("unproven")) return unknown`,
      after: `if (!kinds.has("taken") || !kinds.has("unproven")) return one`,
      test: `${tests}/SeveralProviders.test.ts`
    }
  ]),
  ...inFile(`${source}/Proving.ts`, [
    {
      name: "silence-of-stellar-is-seen-here",
      rule: "A process that has not seen the silence of the others itself lets no provider decide alone.",
      source: "test/transactions-failures.md A7",
      before: "seen.aloneSince ?? seen.polledSince",
      after: "seen.aloneSince ?? 0",
      test: `${tests}/SeveralProviders.test.ts`
    },
    {
      name: "operator-waits-for-the-index",
      rule: "An operator is asked what used a sequence only after the index had time to show it.",
      source: `${traces} 33`,
      before: "const isOver = now >= unseenUntil(judging)",
      after: "const isOver = now >= 0 * unseenUntil(judging)",
      test: `${tests}/SeveralProviders.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarLooks.ts", [
    {
      name: "use-is-of-the-account",
      rule: "A transaction of another account does not use the sequence, although it has the same number.",
      source: `${traces} 11`,
      before: "const isUse = source === used.account && sequence",
      after: "const isUse = sequence",
      test: looks
    },
    {
      name: "use-has-the-sequence",
      rule: "A transaction of the account with another sequence does not prove that this one is taken.",
      source: `${traces} 11`,
      before: "source === used.account && sequence === used.sequence",
      after: "source === used.account && sequence > 0n",
      test: looks
    },
    {
      name: "move-is-shown-by-its-meta",
      rule: "A bumpSequence that failed, or that stayed below the sequence, does not take it.",
      source: `${traces} 11`,
      before: "isMove(operation, source, used.account)) && movesPast(lib, meta, used)",
      after: "isMove(operation, source, used.account)) && meta !== undefined",
      test: looks
    },
    {
      name: "move-begins-below-the-sequence",
      rule: "A bumpSequence after the sequence was used is not what took it.",
      source: `${traces} 11`,
      before: "if (isBelow && after !== undefined && after >= sequence) return true",
      after: "if (after !== undefined && after >= sequence) return true",
      test: looks
    },
    {
      name: "short-page-is-not-the-end",
      rule: "A page with fewer transactions than were asked for does not end a scan.",
      source: `${traces} 11`,
      before: "if (last === undefined || last.ledger > to) return",
      after: "if (last === undefined || transactions.length < 200 || last.ledger > to) return",
      test: looks
    }
  ]),
  ...inFile(`${source}/DecideInFlight.ts`, [
    {
      name: "taken-three-times",
      rule: "A request whose sequence is taken gets another place at most three times.",
      source: `${traces} 12`,
      before: "return requeues >= maxRequeues && !isGiven",
      after: "return requeues > maxRequeues && !isGiven",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "required-sequence-is-not-exchanged",
      rule: "A request that requires its sequence gets no other one.",
      source: `${traces} 11`,
      before: "if (transaction.requiredSequence !== undefined) {",
      after: "if (transaction.requiredSequence !== undefined && requeues < 0) {",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "restored-request-waits-after-a-foreign-use",
      rule: "A request of a restored ledger whose sequence was used waits for an operator.",
      source: `${traces} 32`,
      before: `if (restored) return requeue(situation, ["restored_unproven", figures], next, { restored })`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "restored-request-waits-after-the-proof",
      rule: "A request of a restored ledger whose envelopes are dead waits for an operator.",
      source: `${traces} 32`,
      before: `if (restored) return requeue(situation, ["restored_unproven"], next, { restored })`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "canceled-request-ends-when-dead",
      rule: "A canceled request whose envelopes are dead gets no new one.",
      source: `${traces} 24`,
      before: 'if (intent !== "execute") return ended(situation, endOf(transaction), next)\n  const result',
      after: "const result",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "canceled-request-ends-when-taken",
      rule: "A canceled request whose sequence is taken gets no new one.",
      source: `${traces} 24`,
      before: 'if (intent !== "execute") return ended(situation, endOf(transaction), next)\n  if (isPastDeadline',
      after: "if (isPastDeadline",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "late-request-ends-when-dead",
      rule: "A request past its deadline whose envelopes are dead gets no new one.",
      source: `${traces} 4`,
      before: "if (facts.guest !== undefined || isPastDeadline(situation)) return ended(",
      after: "if (facts.guest !== undefined) return ended(",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "refused-request-ends-when-dead",
      rule: "A request whose envelopes all nodes refuse for good ends after the proof.",
      source: `${traces} 19`,
      before: `if (result !== undefined) return ended(situation, failedWith("refused_by_all", { error: result }), next)`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "unproven-waits-for-an-operator",
      rule: "A used sequence whose ledgers no provider keeps waits for an operator.",
      source: `${traces} 33`,
      before: `if (transaction.intent === "clear") return ended(situation, endOf(transaction), sequence + 1n)`,
      after: `if (transaction.intent !== "cancel") return ended(situation, endOf(transaction), sequence + 1n)`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "lowest-shown-sequence-counts",
      rule: "After a foreign use the lowest sequence that is shown counts.",
      source: `${traces} 13`,
      before: "shown.reduce((least, one) => (one < least ? one : least))",
      after: "shown.reduce((most, one) => (one > most ? one : most))",
      test: `${tests}/SeveralProviders.test.ts`
    },
    {
      name: "proof-is-asked-when-the-sequence-is-reached",
      rule: "Before an envelope is called dead or taken, it is looked for by its hashes.",
      source: `${traces} 5`,
      before: `if (needsProof(situation)) return [ask<Stellar>("proof"), pollNext(situation)]`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/StellarRules.ts`, [
    {
      name: "unknown-answer-is-no-refusal",
      rule: "An unknown answer of one node is no refusal of all.",
      source: `${traces} 2`,
      before: `(refused.length === classes.length || found.kind !== "permanent")`,
      after: `(refused.length > 0 || found.kind !== "permanent")`,
      test: `${tests}/Hear.test.ts`
    },
    {
      name: "most-hopeful-answer-counts",
      rule: "If nodes differ, the answer counts after which the bytes may still be taken.",
      source: `${traces} 2`,
      before: `  "not_now",\n  "look",\n  "funds",\n  "fee",`,
      after: `  "permanent",\n  "not_now",\n  "look",\n  "funds",\n  "fee",`,
      test: `${tests}/Hear.test.ts`
    }
  ]),
  ...inFile(`${source}/StellarSeen.ts`, [
    {
      name: "bad-sequence-is-no-proof",
      rule: "txBAD_SEQ proves nothing: the account's entry decides.",
      source: `${traces} 3`,
      before: `    case "txBadSeq":\n`,
      after: "",
      test: `${tests}/Hear.test.ts`
    },
    {
      name: "try-again-later-is-no-failure",
      rule: "TRY_AGAIN_LATER is no failure.",
      source: `${traces} 2`,
      before: `return { kind: "not_now" }\n    case "FILTERED":`,
      after: `return { kind: "permanent", result: "later" }\n    case "FILTERED":`,
      test: `${tests}/Hear.test.ts`
    },
    {
      name: "late-bytes-are-not-sent",
      rule: "Bytes whose maxTime is near are not sent any more.",
      source: `${traces} 4`,
      before: "BigInt(closeTime + quiet + slack) < maxTime",
      after: "BigInt(closeTime + quiet - 1000 * slack) < maxTime",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "unknown-results-are-no-refusal-for-good",
      rule: "A result of a later protocol is no refusal for good: the same bytes are sent again.",
      source: "test/transactions-failures.md 46",
      before: `permanent.has(result) ? "permanent" : "other"`,
      after: `permanent.has(result) || result.startsWith("txUnknown") ? "permanent" : "other"`,
      test: `${tests}/Hear.test.ts`
    }
  ]),
  ...inFile("src/networks/stellar/lane/StellarContext.ts", [
    {
      name: "proofs-are-asked-again",
      rule: "A provider that does not have a proof is asked again after a pause.",
      source: "test/transactions-failures.md 47",
      before: "if (former !== undefined && now < former.at + pauseAfter(former.times)) {",
      after: "if (former !== undefined) {",
      test: "test/networks/stellar/lane/VotedTraces.test.ts"
    },
    {
      name: "proofs-are-asked-after-pauses",
      rule: "A provider that does not have a proof is not asked at each poll.",
      source: "test/transactions-failures.md 47",
      before: "proofPause.first * 2 ** (times - 1)",
      after: "0 * times",
      test: "test/networks/stellar/lane/VotedTraces.test.ts"
    }
  ]),
  ...inFile("src/networks/stellar/chain/StellarCalls.ts", [
    {
      name: "unknown-results-end",
      rule: "A result with an unknown code ends the transaction by the status that the node names.",
      source: `${traces} 2`,
      before: "optional(() => wholeIn(lib, text)) ?? optional(() => partIn(lib, text))",
      after: "optional(() => wholeIn(lib, text))",
      test: "test/networks/stellar/lane/VotedTraces.test.ts"
    }
  ]),
  ...inFile(`${source}/StellarDecision.ts`, [
    {
      name: "operator-waits-for-lost-envelopes",
      rule: "An operator sends a restored request again only after lost envelopes are dead.",
      source: `${traces} 32`,
      before: `const error = answer === "send" ? tooEarly(transaction) : undefined`,
      after: `const error = answer === "give_up" ? tooEarly(transaction) : undefined`,
      test: `${tests}/StellarRestore.test.ts`
    },
    {
      name: "lost-envelopes-live-as-long-as-forgotten-ones",
      rule: "Envelopes that the database has forgotten can be applied until a time after the restore.",
      source: `${traces} 32`,
      before: "Math.max(now, closed) + forgottenLife",
      after: "Math.max(now, closed) + 0 * forgottenLife",
      test: `${tests}/StellarRestore.test.ts`
    }
  ])
]
