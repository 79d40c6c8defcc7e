// Decisions about transactions with bytes, row by row: nothing but a finalized signature or a proof ends one.
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Transaction } from "../../../../src/networks/core/Transaction.ts"
import type { Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import { decide } from "../../../../src/networks/solana/rules/SolanaDecision.ts"
import { looksApart, maxAttempts } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import type { EarlierConclusion, Look } from "../../../../src/networks/solana/rules/SolanaSeen.ts"
import {
  alive,
  attempt,
  check,
  dead,
  landed,
  laneAfter,
  mined,
  now,
  preparation,
  seen,
  situation,
  submitted
} from "./Situations.ts"

const { offer } = attempt

/** The list of the address was not read since the restore. */
const unread = laneAfter({ bound: 300 })

const inFlight = (
  looks: ReadonlyArray<Look>,
  transaction: Partial<Transaction<Solana>> = {},
  more: Parameters<typeof situation>[2] = {}
) => situation({ ...submitted, ...transaction }, seen(looks), more)

const absent = (from: Look, question: keyof Look): Look => {
  const { [question]: _, ...rest } = from
  return rest
}
/** Finalized, in a block of a moment that a provider names. */
const landedAt = (at: number, validUntil: number) =>
  situation(
    { ...submitted, validUntil },
    seen([landed("finalized"), landed("finalized")], { landings: new Map([["s1", { at }]]) })
  )
const prune = (firstAvailable: number): Look => ({ ...dead, firstAvailable })
/** The node keeps blocks from slot 90 on, and none of them has an entry of the list. */
const emptied: Look = {
  ...dead,
  listed: { from: 353, signatures: new Set(), isEmpty: true },
  firstAvailable: 90,
  keptFrom: 90
}
const proofAt = (at: number): EarlierConclusion => ({ at, conclusion: { _tag: "Dead", attempts: 1 } })
const verdictAt = (at: number): EarlierConclusion => ({
  at,
  conclusion: { _tag: "Landed", hash: "s1", slot: 222, isSuccess: true }
})
const refreshed = (changed: Partial<Transaction<Solana>> = {}) =>
  situation({ ...submitted, ...changed }, seen([dead, dead], { preparation }))

describe("a transaction with bytes", () => {
  check([
    ["is sent again", inFlight([alive, alive]), "Broadcast"],
    [
      "is sent again only after two seconds",
      inFlight([alive, alive], { attempts: [{ ...attempt, lastSentAt: now }] }),
      "PollAt"
    ],
    [
      "is not sent again if every provider has refused it, and says so",
      inFlight([alive, alive], { attempts: [{ ...attempt, outcome: "refused" }] }),
      "Hold refused_by_all"
    ],
    ["is mined when one provider has it", inFlight([landed("processed"), alive]), "Mine mined mined_waiting"],
    [
      "stays submitted while an error is not final",
      inFlight([landed("confirmed", false), alive]),
      "Mine submitted failed_unconfirmed"
    ],
    [
      "is confirmed when two providers have it finalized",
      inFlight([landed("finalized"), landed("finalized")]),
      "Finish confirmed confirmed"
    ],
    [
      "waits if two of four providers have it finalized, and the two others prove that it is dead",
      inFlight([landed("finalized"), dead, landed("finalized"), dead]),
      "Mine mined providers_disagree"
    ],
    [
      "waits if two of four providers have it finalized, and the two others have its error",
      inFlight([landed("finalized"), landed("finalized"), landed("finalized", false), landed("finalized", false)]),
      "Mine mined providers_disagree"
    ],
    [
      "is confirmed by two of three providers, whatever the third one says",
      inFlight([dead, landed("finalized"), landed("finalized")]),
      "Finish confirmed confirmed"
    ],
    [
      "fails when two providers have its error finalized",
      inFlight([landed("finalized", false), landed("finalized", false)]),
      "Finish failed failed_on_chain"
    ],
    [
      "is confirmed late after its deadline",
      inFlight([landed("finalized"), landed("finalized")], { validUntil: now }),
      "Finish confirmed executed_late"
    ],
    [
      "is confirmed in time if it was seen in a block before its deadline, however late that is final",
      inFlight([landed("finalized"), landed("finalized")], {
        state: "mined",
        mined,
        cause: cause("mined_waiting"),
        causeSince: now - 2,
        validUntil: now - 1
      }),
      "Finish confirmed confirmed"
    ],
    [
      "is confirmed late if it was first seen in a block at its deadline",
      inFlight([landed("finalized"), landed("finalized")], {
        state: "mined",
        mined,
        cause: cause("mined_waiting"),
        causeSince: now - 1,
        validUntil: now - 1
      }),
      "Finish confirmed executed_late"
    ],
    [
      "is confirmed in time if its block was made before its deadline",
      landedAt(now - 2000, now - 1999),
      "Finish confirmed confirmed"
    ],
    [
      "is confirmed late if its block was made at its deadline",
      landedAt(now - 2000, now - 2000),
      "Finish confirmed executed_late"
    ],
    [
      "waits for an operator while finality stands still, ten minutes after the signature",
      inFlight([alive, alive], { attempts: [{ ...attempt, signedAt: now - 600_000, lastSentAt: now }] }),
      "Hold landing_unproven"
    ],
    [
      "waits for finality before that",
      inFlight([alive, alive], { attempts: [{ ...attempt, signedAt: now - 599_999, lastSentAt: now }] }),
      "PollAt"
    ],
    [
      "is sent again while finality stands still",
      inFlight([alive, alive], { attempts: [{ ...attempt, signedAt: now - 600_000 }] }),
      "Broadcast"
    ],
    [
      "is confirmed although it is canceled",
      inFlight([landed("finalized"), landed("finalized")], { intent: "cancel" }),
      "Finish confirmed confirmed"
    ],
    [
      "waits while one provider has it finalized",
      inFlight([landed("finalized"), landed("confirmed")]),
      "Mine mined mined_waiting"
    ],
    ["waits while a verdict is contradicted", inFlight([landed("finalized"), dead]), "Mine mined providers_disagree"],
    [
      "is confirmed by two of three providers",
      inFlight([dead, landed("finalized"), landed("finalized")]),
      "Finish confirmed confirmed"
    ],
    ["is reorganised when nobody shows it any more", inFlight([alive, alive], { state: "mined", mined }), "Unmine"],
    ["stays mined while nobody answers", inFlight([absent(alive, "statuses")], { state: "mined", mined }), "PollAt"],
    ["stays alive at its deadline", inFlight([alive, alive], { validUntil: now }), "Broadcast"],
    ["stays alive when it is canceled", inFlight([alive, alive], { intent: "cancel" }), "Broadcast"],
    ["is refreshed after the proof", refreshed(), "Sign refresh 7000"],
    ["asks for what a refresh needs after the proof", inFlight([dead, dead]), "Ask prepare"],
    [
      "passes all rules again before a refresh",
      situation(submitted, seen([dead, dead], { preparation: { ...preparation, broken: "program_not_allowed" } })),
      "Finish failed program_not_allowed"
    ],
    ["is canceled after the proof", refreshed({ intent: "cancel" }), "Finish canceled canceled"],
    ["expires after the proof", refreshed({ validUntil: now }), "Finish expired deadline_passed"],
    [
      "of a restored ledger waits for the operator after the proof",
      refreshed({ restored: true }),
      "Hold restored_unproven"
    ],
    [
      "expires with its blockhash if it cannot be refreshed",
      refreshed({ facts: { isPrebuilt: true, isRefreshable: false } }),
      "Finish expired blockhash_expired"
    ],
    [
      "expires with its blockhash if that was dead when the signature was taken over",
      refreshed({ attempts: [{ ...attempt, offer: { ...offer, isLast: true } }] }),
      "Finish expired blockhash_expired"
    ],
    [
      "fails after the proof if every provider has refused it",
      refreshed({ attempts: [{ ...attempt, outcome: "refused" }] }),
      "Finish failed refused_by_all"
    ],
    [
      "ends after as many attempts as are allowed",
      refreshed({ attempts: Array.from({ length: maxAttempts }, (_, index) => ({ ...attempt, ordinal: index + 1 })) }),
      "Finish expired attempts_exhausted"
    ],
    ["waits if only one of two providers proves its death", inFlight([dead, alive]), "Ask proof"],
    [
      "belongs to a chain that is gone",
      inFlight([alive, alive], {}, { lane: { ...unread, generation: 2 } }),
      "Finish failed chain_changed"
    ],
    [
      "believes nothing of another chain",
      inFlight([dead, dead], {}, { stop: cause("chain_changed") }),
      "Hold chain_changed"
    ],
    [
      "is neither sent to another chain nor landed there",
      inFlight([landed("finalized"), landed("finalized")], {}, { stop: cause("chain_changed") }),
      "Hold chain_changed"
    ],
    [
      "is not sent before the list of a restored ledger was read",
      inFlight([alive, alive], { restored: true }, { lane: unread }),
      "Hold restored_unproven"
    ],
    [
      "waits for the list of a restored ledger",
      inFlight([dead, dead], { restored: true }, { lane: unread }),
      "Hold restored_unproven"
    ],
    ["that is final rests", situation({ ...submitted, state: "confirmed" }, seen([dead, dead])), "Rest"]
  ])
})

describe("no proof comes from a provider", () => {
  const known = [{ hash: "s0", slot: 200 }]
  const none = new Map([["s1", null]])
  /** The finalized slot is 351, the bound 300, and the bytes were signed at slot 100. */
  const shown = { fromSlot: 100, toHeight: 300 }
  const answering = (statuses: Look["statuses"] & {}): Look => ({ ...dead, statuses })
  const valid: Look = { ...dead, blockhashes: { slot: 381, valid: new Map([["h1", true]]) } }
  const stale: Look = { ...dead, blockhashes: { slot: 350, valid: new Map([["h1", false]]) } }
  check([
    ["without history", inFlight([absent(dead, "statuses"), dead]), "Ask proof"],
    [
      "whose finalized height is the bound itself",
      inFlight([{ ...dead, finalized: { slot: 351, height: 300 } }, dead]),
      "Ask proof"
    ],
    [
      "whose statuses are older than its finalized slot",
      inFlight([answering({ slot: 350, of: none, indexed: [shown] }), dead]),
      "Ask proof"
    ],
    [
      "that says nothing about the signature",
      inFlight([answering({ slot: 351, of: new Map(), indexed: [shown] }), dead]),
      "Ask proof"
    ],
    ["whose index has shown nothing", inFlight([answering({ slot: 351, of: none }), dead]), "Ask proof"],
    [
      "whose index was only shown below the bound",
      inFlight([answering({ slot: 351, of: none, indexed: [{ ...shown, toHeight: 299 }] }), dead]),
      "Ask proof"
    ],
    [
      "whose index was only shown after the signature",
      inFlight([answering({ slot: 351, of: none, indexed: [{ ...shown, fromSlot: 101 }] }), dead]),
      "Ask proof"
    ],
    [
      "that lists the signature",
      inFlight([{ ...dead, listed: { from: 0, signatures: new Set(["s1"]) } }, dead]),
      "Ask proof"
    ],
    [
      "whose list does not reach back to the signature",
      inFlight([{ ...dead, listed: { from: 101, signatures: new Set() } }, dead]),
      "Ask proof"
    ],
    [
      "whose list misses a signature that is known as finalized",
      situation(submitted, seen([dead, dead], { known })),
      "Ask proof"
    ],
    [
      "whose list is empty although it has dropped no block",
      inFlight([{ ...emptied, firstAvailable: 0, keptFrom: 0 }, dead]),
      "Ask proof"
    ],
    [
      "whose list is empty, and that was asked once for its first block",
      inFlight([absent(emptied, "keptFrom"), dead]),
      "Ask proof"
    ],
    [
      "whose list is empty, and that has dropped the slot of the signature meanwhile",
      inFlight([{ ...emptied, firstAvailable: 101 }, dead]),
      "Ask proof"
    ],
    [
      "whose list is empty although it has the block of an own transaction that is known",
      situation(submitted, seen([emptied, dead], { known: [{ hash: "s0", slot: 90 }] })),
      "Ask proof"
    ],
    ["that answers no list", inFlight([absent(dead, "listed"), dead]), "Ask proof"],
    ["that holds the blockhash for valid", inFlight([valid, dead]), "Ask proof"],
    ["whose answer about the blockhash is older than its finalized slot", inFlight([stale, dead]), "Ask proof"],
    ["that has forgotten the slot of the signature", inFlight([prune(101), dead]), "Ask proof"],
    ["that does not say what it has forgotten", inFlight([absent(dead, "firstAvailable"), dead]), "Ask proof"]
  ])
})

describe("a provider that has dropped the old transactions of the relayer", () => {
  check([
    ["proves with an empty list that bytes are dead", inFlight([emptied, emptied]), "Ask prepare"],
    [
      "does so if it has dropped the newest own transaction that is known",
      situation(submitted, seen([emptied, emptied], { known: [{ hash: "s0", slot: 89 }] })),
      "Ask prepare"
    ]
  ])

  const unproven = (looks: ReadonlyArray<Look>, signedAt = now - 60_000) => {
    const asked = seen(looks, { isProofAsked: true })
    const decided = decide(situation({ ...submitted, attempts: [{ ...attempt, signedAt }] }, asked))
    const hold = decided.find((command) => command._tag === "Hold")
    return hold?._tag === "Hold" ? hold.cause.figures : {}
  }
  const hosted = (look: Look): Look => ({ ...look, host: "http://node.example" })

  it("names the blocks that it does not have any more, before anything else that is missing", () =>
    assert.strictEqual(
      unproven([hosted(absent(absent(prune(101), "listed"), "statuses")), dead]).error,
      "does not have the blocks since the signature any more: it keeps those from slot 101 on, and needs those from slot 100 on"
    ))

  it("makes an operator wait for a day if another one can still prove it, else for ten minutes", () =>
    assert.deepStrictEqual(
      [unproven([prune(101), absent(dead, "listed")]).until, unproven([prune(101), prune(101)]).until],
      [now - 60_000 + 24 * 3_600_000, now - 60_000 + 600_000]
    ))
})

describe("a provider that decides alone", () => {
  const one = (look: Look) => situation(submitted, seen([look], { configured: 1, preparation }))
  /** `since`: when the ledger has noted that the other one is missing. */
  const left = (look: Look, since: number, more: Parameters<typeof situation>[2] = {}, aloneSince = since) =>
    situation(
      { ...submitted, cause: cause("second_provider_missing"), causeSince: since },
      seen([look, {}], { aloneSince, preparation }),
      more
    )
  /** The ledger has not noted it. */
  const unnoted = (look: Look, aloneSince: number) => situation(submitted, seen([look, {}], { aloneSince }))
  const verdict: Look = { ...landed("finalized"), earlier: verdictAt(0) }
  /** Ten times as long as 32 slots take. */
  const least = 10 * 32 * 400
  const hour = 3_600_000
  check([
    ["proves an absence in two looks", one(dead), "Ask proof"],
    [
      "has proven an absence after two looks",
      one({ ...dead, earlier: proofAt(now - looksApart) }),
      "Sign refresh 7000"
    ],
    [
      "has not proven it if the looks are too close",
      one({ ...dead, earlier: proofAt(now - looksApart + 1) }),
      "Ask proof"
    ],
    ["gives a verdict at once if it is the only one", one(landed("finalized")), "Finish confirmed confirmed"],
    [
      "waits while the other one may still answer",
      left({ ...landed("finalized"), earlier: verdictAt(0) }, now - hour + 1),
      "Mine mined second_provider_missing"
    ],
    [
      "gives a verdict when the other one was silent for long enough",
      left({ ...landed("finalized"), earlier: verdictAt(0) }, now - hour),
      "Finish confirmed confirmed by one"
    ],
    [
      "waits as long for each transaction, however long the other one was silent before",
      unnoted(verdict, now - 2 * hour),
      "Mine mined second_provider_missing"
    ],
    [
      "is not alone before the other one was silent for half a minute",
      unnoted(verdict, now - 29_999),
      "Mine mined mined_waiting"
    ],
    [
      "counts the time that another process has seen, but not before the other one is silent here as well",
      left(verdict, now - hour, {}, now - 29_999),
      "Mine mined second_provider_missing"
    ],
    [
      "decides if another process has seen most of that time",
      left(verdict, now - hour, {}, now - 30_000),
      "Finish confirmed confirmed by one"
    ],
    [
      "waits ten times as long as finality takes, if the network says less",
      left(verdict, now - least + 1, { terms: { finalityByOne: 60_000 } }),
      "Mine mined second_provider_missing"
    ],
    [
      "decides after that time",
      left(verdict, now - least, { terms: { finalityByOne: 60_000 } }),
      "Finish confirmed confirmed by one"
    ],
    [
      "gives that verdict only in two looks",
      left(landed("finalized"), now - hour),
      "Mine mined second_provider_missing"
    ],
    [
      "proves an absence when the other one was silent for long enough",
      left({ ...dead, earlier: proofAt(0) }, now - hour),
      "Sign refresh 7000"
    ],
    [
      "does not decide if the network never allows it",
      left({ ...landed("finalized"), earlier: verdictAt(0) }, 0, { terms: { finalityByOne: "never" } }),
      "Mine mined second_provider_missing"
    ]
  ])
})
