// Solana, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account.
import { Clock, Effect } from "effect"
import * as Base58 from "../../../domain/transaction/solana/Base58.ts"
import { base64Of } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { Solana, SolanaCounters } from "../../../domain/transaction/solana/Solana.ts"
import { signatureBytes } from "../../../domain/transaction/solana/Message.ts"
import { solanaRules } from "../../../domain/transaction/solana/SolanaRules.ts"
import { unsignedOf } from "../../../domain/transaction/solana/Unsigned.ts"
import { transactionBytes } from "../../../domain/transaction/solana/WireEncoding.ts"
import { isSignedBy } from "../../chains/solana/SolanaKeys.ts"
import { send, SolanaNodes } from "../../chains/solana/SolanaNodes.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { newestRequest, withAccount } from "../../../domain/transaction/Transaction.ts"
import type { Lane } from "../../../domain/transaction/Transaction.ts"
import { firstOfEachSet, wrongKey } from "../LaneNetwork.ts"
import type {
  Finding,
  Inquiry,
  LaneChain,
  LaneOptions,
  Poll,
  PollOptions,
  SendingNetwork,
  Unsigned
} from "../LaneNetwork.ts"
import * as LaneTelemetry from "../LaneTelemetry.ts"
import * as SolanaContext from "./SolanaContext.ts"
import * as SolanaMetrics from "./SolanaMetrics.ts"
import * as SolanaPolls from "./SolanaPolls.ts"
import type { SolanaPoll } from "./SolanaPolls.ts"
import * as SolanaRestore from "./SolanaRestore.ts"
import { forgottenOf } from "./SolanaForgotten.ts"
import { prepare } from "./SolanaPreparing.ts"

/** Transactions of a lane that are prepared, or on their way to a node, at once. They need no order. */
const inParallel = 32

/** What lanes of solana need of the service. */
type Parts = Pick<SolanaContext.SolanaContext, "nodes" | "prices">

/**
 * The lane with all places below the lowest open one settled, so that the next holder does not read their transactions. On solana, a
 * place counts signatures, and the chain knows nothing of it.
 */
const settled = ({ lane, totals }: PollOptions<Solana>, height: number, counters: SolanaCounters): Lane<Solana> => {
  const [account] = lane.accounts
  const lowest = totals.lowestOpen ?? account.nextSequence
  // A signature that a caller got reserves funds until the chain has passed its last height. A finalized height needs no hash.
  const chainBlock = { number: Math.max(height, account.chainBlock?.number ?? 0), hash: "" }
  return withAccount(lane, { ...account, chainSequence: lowest, settledSequence: lowest, chainBlock, counters })
}

/** The lowest finalized height that a provider reports: no provider alone ends what a signature that a caller got reserves. */
const passedBy = (poll: SolanaPoll | undefined): number => {
  const heights = (poll?.looks ?? []).map(({ look }) => look.finalized?.height ?? 0)
  return heights.length === 0 ? 0 : Math.min(...heights)
}

const open = (parts: Parts, { address, genesis, keys }: LaneOptions): LaneChain<Solana> => {
  const context: SolanaContext.SolanaContext = { ...parts, address, memory: SolanaContext.make(genesis) }
  const { memory } = context
  const ownKey = keys({
    curve: "ed25519",
    isOwn: (publicKey) => Effect.succeed(Base58.encode(publicKey) === address)
  })

  /**
   * What the lane stores between two holders: the newest own signature that is finalized, and how far a restored database was
   * compared with the chain. A process that has just claimed the lane continues with them.
   */
  const countersOf = Effect.fnUntraced(function* ({ lane, rows, now, own: ownHashes, given }: PollOptions<Solana>) {
    const [{ counters = {} }] = lane.accounts
    const [{ relayer }] = rows
    const { anchor, restore } = counters
    if (anchor !== undefined && memory.known.length === 0) SolanaContext.remember(memory, anchor)
    const providers = yield* SolanaContext.providersOf(context, relayer)
    const known = (hashes: ReadonlyArray<string>) =>
      Effect.zipWith(ownHashes(hashes), given(hashes), (one, other) => new Set([...one, ...other]))
    // What is finalized after the copy was put back is newer than what the list is read for, also if this process has seen it already.
    const newest = SolanaContext.anchorOf(memory)
    const since = counters.since ?? anchor ?? { slot: 0 }
    const next = yield* SolanaRestore.advance({ context, providers, rows, since, known, now }, restore)
    return {
      ...present("anchor", newest),
      ...present("restore", next),
      ...(SolanaRestore.isOpen(rows, next) ? { since } : {})
    } satisfies SolanaCounters
  })

  const poll = Effect.fn("SolanaLane.poll")(function* (options: PollOptions<Solana>) {
    const { rows, stored, now } = options
    memory.genesis = stored.genesis
    memory.signed = rows.map(({ transaction }) => ({
      number: transaction.number,
      request: newestRequest(transaction),
      attempts: transaction.attempts
    }))
    SolanaContext.forgetKnown(memory)
    const polls = new Map<string, SolanaPoll>()
    let foundGenesis: string | undefined
    for (const relayer of firstOfEachSet(rows.map(({ relayer }) => relayer))) {
      const shared = rows.filter((row) => row.relayer.urlsKey === relayer.urlsKey)
      const one = yield* SolanaPolls.poll(context, relayer, shared, now)
      polls.set(relayer.urlsKey, one)
      yield* LaneTelemetry.countPoll(
        one.isOtherChain ? "chain_changed" : one.failure === undefined ? "seen" : "unreachable"
      )
      foundGenesis ??= yield* (yield* SolanaContext.providersOf(context, relayer)).genesis
    }
    const all = [...polls.values()]
    const isAnswered = all.some(({ failure }) => failure === undefined)
    const [{ relayer: lead }] = rows
    const isRead = polls.get(lead.urlsKey)?.failure === undefined
    const counters = isRead ? yield* countersOf(options) : {}
    const result: Poll<Solana> = {
      isAnswered,
      isOtherChain: all.some(({ isOtherChain }) => isOtherChain),
      seenOf: (row, at) => SolanaPolls.seenOf(context, row, polls.get(row.relayer.urlsKey), at),
      heightOf: ({ urlsKey }) =>
        Math.max(0, ...(polls.get(urlsKey)?.looks ?? []).map(({ look }) => look.finalized?.height ?? 0)),
      ...(isRead
        ? {
            reading: {
              lane: settled(options, passedBy(polls.get(lead.urlsKey)), counters),
              ...(foundGenesis === undefined ? {} : { genesis: foundGenesis }),
              usedTrust: false,
              fillers: [],
              foreign: []
            }
          }
        : {})
    }
    return result
  })

  const inquire: LaneChain<Solana>["inquire"] = Effect.fn("SolanaLane.inquire")(function* (_, inquiries) {
    const now = yield* Clock.currentTimeMillis
    const proofs = new Map<number, Solana["seen"]>()
    const asking = inquiries.filter(({ question }) => question === "proof")
    for (const relayer of firstOfEachSet(asking.map(({ row }) => row.relayer))) {
      const shared = asking.filter(({ row }) => row.relayer.urlsKey === relayer.urlsKey)
      for (const [number, seen] of yield* SolanaPolls.prove(context, relayer, shared, now)) proofs.set(number, seen)
    }
    const findingOf = (inquiry: Inquiry<Solana>): Effect.Effect<Finding<Solana>> => {
      const { row, seen, question } = inquiry
      if (question === "proof") return Effect.succeed({ seen: proofs.get(row.transaction.number) ?? seen })
      if (question === "life") {
        return Effect.map(forgottenOf(context, inquiry, now), (forgotten) => ({ seen: { ...seen, forgotten } }))
      }
      return Effect.map(prepare(context, inquiry, now), (preparation) => ({ seen: { ...seen, preparation } }))
    }
    return yield* Effect.forEach(inquiries, findingOf, { concurrency: inParallel })
  })

  const sign = Effect.fn("SolanaLane.sign")(function* ({ relayer, request = {}, sign: { offer } }: Unsigned<Solana>) {
    const account = { payer: address, tables: memory.tables }
    const found = [...memory.restore.found.values()].find(({ taken }) => taken.hash === offer.taken)
    if (found !== undefined) return { hash: found.taken.hash, raw: found.raw }
    const { messageBytes, signatures } = yield* Effect.orDie(Effect.fromResult(unsignedOf(request, account, offer)))
    const [, ...others] = signatures
    if (offer.taken !== undefined) {
      return {
        hash: offer.taken,
        raw: transactionBytes([Base58.decode(offer.taken, signatureBytes), ...others], messageBytes)
      }
    }
    const { signature, isChecked } = yield* ownKey.sign(relayer.signerId, messageBytes)
    if (!isChecked && !isSignedBy(signature, messageBytes, address)) return yield* wrongKey()
    return { hash: Base58.encode(signature), raw: transactionBytes([signature, ...others], messageBytes) }
  })

  return {
    poll,
    inquire,
    sign,
    broadcast: Effect.fnUntraced(function* (relayer: SolanaContext.SolanaRelayer, raw: Uint8Array, sends: number) {
      const providers = yield* SolanaContext.providersOf(context, relayer)
      return yield* providers.broadcast(send(base64Of(raw)), sends)
    }),
    broadcastsAtOnce: () => inParallel,
    noteFinal: ({ number, mined, attempts }, apiKeyId) =>
      Effect.suspend(() => {
        SolanaContext.forget(memory, { number, attempts })
        const landed = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
        if (landed !== undefined && mined !== undefined) {
          SolanaContext.remember(memory, { hash: landed.hash, slot: mined.receipt.height })
        }
        return Effect.andThen(
          SolanaMetrics.countAttempts(attempts.length),
          mined === undefined ? Effect.void : SolanaMetrics.countLanded(apiKeyId, mined.receipt.isSuccess)
        )
      })
  }
}

export const networkOf = (parts: Parts): SendingNetwork<Solana> => ({
  rules: solanaRules,
  open: (lane) => open(parts, lane),
  // Nothing is loaded: the wire form and the signatures need no library.
  warmUp: Effect.void
})

export const network = Effect.map(Effect.all({ nodes: SolanaNodes, prices: PriceSource }), networkOf)
