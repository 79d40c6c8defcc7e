// The lane of one stellar account: it polls the network in memory, decides with the rules of the service, signs, and sends. The explorer of
// the rules has a driver of the same form, which dies and forgets as well.
import { plan, restOf, totalsOf } from "../../networks/core/Queue.ts"
import type { Command, LaneSituation, Sign, Situation, Unreachable } from "../../networks/core/Rules.ts"
import { isFinal, isInFlight, newestRequest } from "../../networks/core/Transaction.ts"
import type { Attempt, Lane, LaneAccount, Transaction } from "../../networks/core/Transaction.ts"
import { maxSignaturesPerCommit } from "../../networks/core/TransactionValues.ts"
import type { Moment, Place } from "../../networks/core/TransactionValues.ts"
import { apply, withAttempt, withSent } from "../../networks/core/Transition.ts"
import type { Stellar, StellarTarget } from "../../networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../networks/stellar/rules/StellarRules.ts"
import type { NodeAnswer, StellarSeen } from "../../networks/stellar/rules/StellarSeen.ts"
import { accountAfter } from "../../networks/stellar/rules/StellarTerms.ts"
import type { Answer } from "../chain/Chain.ts"
import type { KitLane, LaneOptions } from "../KitNetwork.ts"
import { isResult } from "./Chain.ts"
import { paymentsOf, prepare, see, sequencesOf, watch } from "./Views.ts"
import type { Account, Memory } from "./Views.ts"
import { sealed } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

/** Questions of one decision: a proof, and then what a signature needs. */
const mostQuestions = 3

interface Options extends LaneOptions<Stellar> {
  readonly account: Account
  readonly target: StellarTarget
}

type View = StellarSeen | Unreachable

export const make = ({ account, key, rows, target }: Options): KitLane => {
  const { address, chain } = account
  const { window } = stellarRules.laneOf(target)
  const interval = stellarRules.pollInterval(target)
  const bytes = new Map<string, Bytes>()
  /** When it is decided about again, by number of the transaction. A new ledger comes before. */
  const due = new Map<number, Moment>()
  let memory: Memory | undefined
  let own: LaneAccount<Stellar> = { address, nextSequence: 0n, chainSequence: 0n, settledSequence: 0n }
  let height = chain.head().number
  let quietSince: Moment | undefined
  let lastSignedAt: Moment | undefined

  const find = (number: number): Transaction<Stellar> => {
    const found = rows.all().find((transaction) => transaction.number === number)
    if (found === undefined) throw new Error(`the ledger of the kit has no transaction ${number}`)
    return found
  }

  const open = () => rows.all().filter((transaction) => !isFinal(transaction))

  const totals = () => totalsOf<Stellar>(stellarRules, rows.all(), { lastSignedAt, quietSince })

  const lane = (): Lane<Stellar> => ({ generation: 0, windowSize: window, accounts: [own] })

  const base = (): LaneSituation<Stellar> => ({ lane: lane(), isDeepReorg: false })

  const sign = (number: number, place: Place, { cause, kind, maxFee, offer }: Sign<Stellar>, now: Moment): void => {
    const transaction = find(number)
    const { sequence = 0n } = place
    const request = newestRequest(transaction)
    const made = sealed(
      {
        source: address,
        fee: offer.fee,
        sequence,
        maxTime: BigInt(offer.maxTime),
        memo: request.memo,
        payments: paymentsOf(request) ?? []
      },
      key.secret,
      chain.networkId
    )
    const ordinal = transaction.attempts.length + 1
    const attempt: Attempt<Stellar> = {
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
    if (own.nextSequence <= sequence) own = { ...own, nextSequence: sequence + 1n }
    lastSignedAt = now
    due.set(number, now + target.network.average_blocktime_ms)
  }

  const nodeAnswerOf = (answer: Answer, signed: Bytes): NodeAnswer => {
    if (answer === undefined) return { status: "UNKNOWN" }
    const { refusal = "PENDING" } = answer
    if (refusal === "PENDING" || refusal === "DUPLICATE" || refusal === "TRY_AGAIN_LATER") return { status: refusal }
    return isResult(refusal)
      ? { status: "ERROR", result: refusal, fee: chain.neededFee(signed) }
      : { status: "UNKNOWN" }
  }

  /** All providers are asked. */
  const broadcast = (number: number, ordinal: number, now: Moment): void => {
    const transaction = find(number)
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const signed = attempt && bytes.get(attempt.hash)
    if (attempt === undefined || signed === undefined) throw new Error("the kit has lost the bytes of an attempt")
    const answers = chain.providers.map((provider) => nodeAnswerOf(chain.broadcast(provider, signed), signed))
    const heard = stellarRules.hear(transaction, attempt, answers, { at: now, height: chain.head().number })
    rows.store(withSent(transaction, heard))
  }

  /** A place that is given up, or used, frees the account for the next one. */
  const change = (before: Transaction<Stellar>, command: Command<Stellar>, now: Moment): void => {
    rows.store(apply(find(before.number), command, now))
    const frees = command._tag === "Finish" || command._tag === "Requeue" ? command.frees : undefined
    const { sequence = 0n } = before.place ?? {}
    if (frees === undefined || own.nextSequence !== sequence + 1n) return
    own = { ...own, nextSequence: frees.next, chainSequence: frees.next, settledSequence: frees.next }
  }

  const execute = (before: Transaction<Stellar>, commands: ReadonlyArray<Command<Stellar>>, now: Moment): void => {
    for (const command of commands) {
      switch (command._tag) {
        case "Sign":
          sign(before.number, before.place ?? { account: address, sequence: own.nextSequence }, command, now)
          broadcast(before.number, find(before.number).attempts.length, now)
          break
        case "Broadcast":
          for (const ordinal of command.ordinals) broadcast(before.number, ordinal, now)
          break
        case "Ask":
        case "PollAt":
        case "Rest":
          break
        default:
          change(before, command, now)
      }
    }
  }

  const situationOf = (transaction: Transaction<Stellar>, view: View, now: Moment): Situation<Stellar> => ({
    ...base(),
    transaction,
    terms: rows.termsOf(transaction),
    rest: restOf<Stellar>(stellarRules, transaction, totals(), false),
    view,
    now
  })

  const look = (known: Memory, now: Moment, proven?: Transaction<Stellar>): View =>
    see(account, known, proven) ?? { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + interval }

  const prepared = (view: View, transaction: Transaction<Stellar>, now: Moment): View =>
    view._tag === "Unreachable" ? view : { ...view, preparation: prepare(account, target, transaction, now) }

  const decideOne = (known: Memory, number: number, now: Moment): void => {
    const transaction = find(number)
    let view = look(known, now)
    let commands = stellarRules.decide(situationOf(transaction, view, now))
    for (let asked = 0; asked < mostQuestions; asked++) {
      const question = commands.find((command) => command._tag === "Ask")?.question
      if (question === undefined) break
      view = question === "proof" ? look(known, now, transaction) : prepared(view, transaction, now)
      commands = stellarRules.decide(situationOf(transaction, view, now))
    }
    for (const command of commands) if (command._tag === "PollAt") due.set(number, command.at)
    execute(transaction, commands, now)
  }

  /** Gives the next sequence to a pending transaction. */
  const assign = (known: Memory, now: Moment): void => {
    const candidates = rows
      .all()
      .filter(({ state }) => state === "pending")
      .map((transaction) => ({
        transaction,
        terms: rows.termsOf(transaction),
        view: prepared(look(known, now), transaction, now),
        providers: "of the network"
      }))
    if (candidates.length === 0) return
    const { decided, signings } = plan<Stellar>(stellarRules, candidates, base(), totals(), now, maxSignaturesPerCommit)
    for (const { transaction, commands } of decided) execute(transaction, commands, now)
    for (const { transaction, place, sign: command } of signings) sign(transaction.number, place, command, now)
    for (const { transaction } of signings) {
      broadcast(transaction.number, find(transaction.number).attempts.length, now)
    }
  }

  return {
    step: (now) => {
      memory ??= { polledSince: now, newest: { number: 0, since: now }, aloneSince: undefined }
      const known = memory
      height = chain.head().number
      const former = known.newest.number
      watch(account, known, now)
      const isNewLedger = known.newest.number !== former
      const isTaken = open().some(({ place }) => place !== undefined)
      own = accountAfter(own, sequencesOf(account), isTaken)
      for (const { number, state } of open()) {
        if (state !== "pending" && (isNewLedger || now >= (due.get(number) ?? now))) decideOne(known, number, now)
      }
      quietSince = rows.all().some(isInFlight) ? undefined : (quietSince ?? now)
      assign(known, now)
    },
    height: () => height
  }
}
