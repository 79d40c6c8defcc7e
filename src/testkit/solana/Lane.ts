// The lane of one solana account: it polls the cluster in memory, decides with the rules of the service, signs, and sends. The explorer of the
// rules has a driver of the same form, which dies and forgets as well.
import { Result } from "effect"
import { plan, restOf, totalsOf } from "../../networks/core/Queue.ts"
import type { Command, LaneSituation, Sign, Situation, Unreachable } from "../../networks/core/Rules.ts"
import { isFinal, isInFlight, newestRequest } from "../../networks/core/Transaction.ts"
import type { Attempt, Lane, Transaction } from "../../networks/core/Transaction.ts"
import { maxSignaturesPerCommit } from "../../networks/core/TransactionValues.ts"
import type { Moment, Place } from "../../networks/core/TransactionValues.ts"
import { apply, withAttempt, withSent } from "../../networks/core/Transition.ts"
import { unsignedOf } from "../../networks/solana/rules/RequestBytes.ts"
import type { Solana, SolanaTarget } from "../../networks/solana/rules/Solana.ts"
import { pollAfter } from "../../networks/solana/rules/SolanaNumbers.ts"
import { solanaRules } from "../../networks/solana/rules/SolanaRules.ts"
import type { SolanaSeen } from "../../networks/solana/rules/SolanaSeen.ts"
import type { KitLane, LaneOptions } from "../KitNetwork.ts"
import { sealed } from "./Bytes.ts"
import type { Bytes } from "./Bytes.ts"
import { nodeAnswerOf } from "./Chain.ts"
import { makeMemory, prepare, see } from "./Views.ts"
import type { Account } from "./Views.ts"

/** What follows if decisions ask to be made again at once: a fork that is gone, and what is done then. */
const decisionsInARow = 3

interface Options extends LaneOptions<Solana> {
  readonly account: Account
  readonly target: SolanaTarget
}

export const make = ({ account, key, rows, target }: Options): KitLane => {
  const { address, chain } = account
  const { window } = solanaRules.laneOf(target)
  const memory = makeMemory()
  const bytes = new Map<string, Bytes>()
  let next = 0n
  let height = chain.head().number
  let quietSince: Moment | undefined
  let lastSignedAt: Moment | undefined

  const find = (number: number): Transaction<Solana> => {
    const found = rows.all().find((transaction) => transaction.number === number)
    if (found === undefined) throw new Error(`the ledger of the kit has no transaction ${number}`)
    return found
  }

  const totals = () => totalsOf<Solana>(solanaRules, rows.all(), { lastSignedAt, quietSince })

  const lane = (): Lane<Solana> => ({
    generation: 0,
    windowSize: window,
    accounts: [{ address, nextSequence: next, chainSequence: 0n, settledSequence: 0n, counters: {} }]
  })

  const base = (): LaneSituation<Solana> => ({ lane: lane(), isDeepReorg: false })

  const sign = (number: number, place: Place, { cause, kind, maxFee, offer }: Sign<Solana>, now: Moment): void => {
    const transaction = find(number)
    const unsigned = unsignedOf(newestRequest(transaction), { payer: address, tables: new Map() }, offer)
    const made = sealed(Result.getOrThrow(unsigned), key.secret)
    const ordinal = transaction.attempts.length + 1
    const attempt: Attempt<Solana> = {
      ordinal,
      kind,
      generation: 0,
      requestVersion: transaction.versions.length,
      hash: made.hash,
      place,
      offer,
      maxFee,
      signedAt: now,
      sends: 0,
      outcome: "unknown"
    }
    bytes.set(made.hash, made)
    rows.store(withAttempt(transaction, attempt, cause, now), { ordinal, raw: made.raw })
    next = (place.sequence ?? next) >= next ? (place.sequence ?? next) + 1n : next
    lastSignedAt = now
  }

  /** All providers are asked. */
  const broadcast = (number: number, ordinal: number, now: Moment): void => {
    const transaction = find(number)
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const signed = attempt && bytes.get(attempt.hash)
    if (attempt === undefined || signed === undefined) throw new Error("the kit has lost the bytes of an attempt")
    const answers = chain.providers.map((provider) => nodeAnswerOf(chain.broadcast(provider, signed)))
    const heard = solanaRules.hear(transaction, attempt, answers, { at: now, height: chain.head().number })
    rows.store(withSent(transaction, heard))
  }

  /** A list of the address that lacks a final signature is behind. */
  const remember = ({ attempts, mined }: Transaction<Solana>): void => {
    const landed = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
    if (landed !== undefined && mined !== undefined) {
      memory.known.push({ hash: landed.hash, slot: mined.receipt.height })
    }
  }

  const execute = (before: Transaction<Solana>, commands: ReadonlyArray<Command<Solana>>, now: Moment): void => {
    for (const command of commands) {
      switch (command._tag) {
        case "Sign":
          sign(before.number, before.place ?? { account: address, sequence: next }, command, now)
          broadcast(before.number, find(before.number).attempts.length, now)
          break
        case "Broadcast":
          for (const ordinal of command.ordinals) broadcast(before.number, ordinal, now)
          break
        case "Ask":
        case "PollAt":
        case "Rest":
          break
        default: {
          const after = apply(find(before.number), command, now)
          rows.store(after)
          if (command._tag === "Finish") remember(after)
        }
      }
    }
  }

  const situationOf = (
    transaction: Transaction<Solana>,
    view: SolanaSeen | Unreachable,
    now: Moment
  ): Situation<Solana> => ({
    ...base(),
    transaction,
    terms: rows.termsOf(transaction),
    rest: restOf<Solana>(solanaRules, transaction, totals(), false),
    view,
    now
  })

  const look = (transaction: Transaction<Solana>, now: Moment) =>
    see(account, transaction, memory, { now, retryAt: now + pollAfter })

  const prepared = (view: SolanaSeen | Unreachable, transaction: Transaction<Solana>, now: Moment) =>
    view._tag === "Unreachable"
      ? view
      : { ...view, preparation: prepare({ account, memory, now, target, transaction }) }

  /** Whether the decision asks to be made again at once. */
  const decideOne = (number: number, now: Moment): boolean => {
    const transaction = find(number)
    const view = look(transaction, now)
    const first = solanaRules.decide(situationOf(transaction, view, now))
    const isAsked = first.some((command) => command._tag === "Ask" && command.question === "prepare")
    const commands = isAsked
      ? solanaRules.decide(situationOf(transaction, prepared(view, transaction, now), now))
      : first
    execute(transaction, commands, now)
    return commands.some((command) => command._tag === "PollAt" && command.at <= now)
  }

  /** Gives places to pending transactions, commits all signatures, and sends the bytes. */
  const assign = (now: Moment): void => {
    const candidates = rows
      .all()
      .filter(({ state }) => state === "pending")
      .map((transaction) => ({
        transaction,
        terms: rows.termsOf(transaction),
        view: prepared(look(transaction, now), transaction, now),
        providers: "of the network"
      }))
    if (candidates.length === 0) return
    const { decided, signings } = plan<Solana>(solanaRules, candidates, base(), totals(), now, maxSignaturesPerCommit)
    for (const { transaction, commands } of decided) execute(transaction, commands, now)
    for (const { transaction, place, sign: command } of signings) sign(transaction.number, place, command, now)
    for (const { transaction } of signings) {
      broadcast(transaction.number, find(transaction.number).attempts.length, now)
    }
  }

  return {
    step: (now) => {
      height = chain.head().number
      const open = rows.all().filter((transaction) => transaction.state !== "pending" && !isFinal(transaction))
      for (const { number } of open) {
        for (let again = 0; again < decisionsInARow && decideOne(number, now);) again += 1
      }
      quietSince = rows.all().some(isInFlight) ? undefined : (quietSince ?? now)
      assign(now)
    },
    height: () => height
  }
}
