// Solana, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account, and what follows a restore.
import { Clock, Effect, Result, Schema } from "effect"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { answeredSets, firstOfEachSet, pollSets, wrongKey } from "../../../server/lanes/LaneNetwork.ts"
import type {
  Finding,
  Inquiry,
  LaneChain,
  LaneOptions,
  LaneRow,
  Poll,
  PollOptions,
  SendingNetwork,
  Unsigned
} from "../../../server/lanes/LaneNetwork.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { present } from "../../core/Presentation.ts"
import { agreeing, neededOf } from "../../core/Rows.ts"
import { newestRequest, withAccount } from "../../core/Transaction.ts"
import type { Lane } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { isSignedBy } from "../chain/SolanaAccounts.ts"
import * as Calls from "../chain/SolanaCalls.ts"
import { sendTransaction, SolanaNodes } from "../chain/SolanaCalls.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import * as SolanaLooks from "../chain/SolanaLooks.ts"
import { signatureBytes } from "../rules/Message.ts"
import { feeOf } from "../rules/Programs.ts"
import { draftOf, executes, executesNone, isLifeOf, unsignedOf } from "../rules/RequestBytes.ts"
import type { TransactionDescription } from "../rules/RequestBytes.ts"
import type { RestoredSince, Solana, SolanaCounters, SolanaRestore } from "../rules/Solana.ts"
import { base64Of, bytesOf } from "../rules/SolanaExchanges.ts"
import * as Numbers from "../rules/SolanaNumbers.ts"
import { solanaRules } from "../rules/SolanaRules.ts"
import type { SolanaOffer, TakenAttempt } from "../rules/SolanaSeen.ts"
import { decodeBase58, decodeTransaction, encodeBase58, transactionBytes } from "../rules/Wire.ts"
import * as SolanaPolls from "./SolanaPolls.ts"
import {
  anchorOf,
  countAttempts,
  countLanded,
  forgetKnown,
  forgetTransaction,
  makeMemory,
  providersOf,
  rememberFinalized,
  seenIn
} from "./SolanaPolls.ts"
import type { Looks, SolanaContext, SolanaRelayer, TakenBytes } from "./SolanaPolls.ts"
import { lifetimeOfRequest, prepare, reportedBy } from "./SolanaPreparing.ts"

// What follows after a copy of the database was put back: the lane waits until bytes of the lost process cannot land any more, reads
// the list of its address, and finds the transactions that executed restored requests.

interface RestoreWork {
  readonly context: SolanaContext
  readonly providers: SolanaProviders
  /** Open transactions, in the order in which they were accepted. */
  readonly rows: ReadonlyArray<LaneRow<Solana>>
  /** From where lists are read. */
  readonly since: RestoredSince
  /** Those of the signatures that the ledger has. */
  readonly known: (signatures: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>
  readonly now: Moment
}

const heightAt = Effect.fnUntraced(function* (node: RpcNode) {
  const [height, { lastValid, height: from }] = yield* Effect.all(
    [node.call(Calls.blockHeight("processed")), reportedBy(node)],
    { concurrency: "unbounded" }
  )
  return { height, life: lastValid - from }
})

/** Undefined: too few providers answer. */
const boundNow = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const answers = yield* providers.answers(Numbers.maxAskedProviders, heightAt)
  const found = answers.filter(({ life }) => isLifeOf(life))
  if (found.length < neededOf(providers)) return undefined
  const life = Math.max(...found.map((one) => one.life))
  return Math.max(...found.map(({ height }) => height)) + Numbers.livesAfterRestore * life + Numbers.boundMargin
})

/**
 * Whether one of the lists reaches the signature since which they are read. A back end that is younger, or has dropped its older blocks,
 * gives a shorter list. If no list has shown it for ten minutes, no provider has it any more.
 */
const isReached = (
  { context: { memory }, now, since }: RestoreWork,
  lists: ReadonlyArray<ReadonlySet<string>>
): boolean => {
  const { hash } = since
  const { restore } = memory
  if (hash === undefined || lists.some((list) => list.has(hash))) {
    restore.lackedSince = undefined
    return true
  }
  restore.lackedSince ??= now
  return now >= restore.lackedSince + Numbers.unprovableAfter
}

/** What as many providers list as must agree, when the bound is final for each of them. Undefined: not yet, or they disagree. */
const listed = Effect.fnUntraced(function* (work: RestoreWork, { bound }: SolanaRestore) {
  const { context, providers, now, since } = work
  const { address, memory } = context
  const until = since.slot
  const answers = yield* providers.answers(Numbers.maxAskedProviders, (node) =>
    SolanaLooks.history(node, { address, bound, until, lists: memory.lists, now })
  )
  const complete = answers
    .filter((one) => one !== undefined)
    .filter(({ listed: { from, isWhole } }) => isWhole === true || from <= until)
  const [first] = complete
  if (first === undefined || complete.length < neededOf(providers)) return undefined
  const lists = complete.map(({ listed: { signatures } }) => signatures)
  if (!isReached(work, lists)) return undefined
  return { slot: Math.min(...complete.map(({ finalized }) => finalized.slot)), lists }
})

/** Undefined: the provider does not have it, or gives bytes that cannot be read. */
const readBy = Effect.fnUntraced(function* (node: RpcNode, signature: string) {
  const found = yield* node.call(Calls.transactionOf(signature))
  if (found === null) return undefined
  const raw = bytesOf(found.transaction[0])
  const decoded = decodeTransaction(raw)
  if (Result.isFailure(decoded)) return undefined
  const { writable = [], readonly = [] } = found.meta?.loadedAddresses ?? {}
  return { raw, message: decoded.success.message, loaded: [...writable, ...readonly], slot: found.slot }
})
type Fetched = NonNullable<Effect.Success<ReturnType<typeof readBy>>>

/** Undefined: no provider gives bytes that can be read. */
const fetchTransaction = Effect.fnUntraced(function* (providers: SolanaProviders, signature: string) {
  const read = (node: RpcNode) => Effect.map(readBy(node, signature), (found) => ({ node, found }))
  const asked = yield* Effect.result(providers.first(read))
  if (Result.isFailure(asked)) return undefined
  const { node, found } = asked.success
  if (found !== undefined) return found
  const other = yield* providers.second(node, read, ({ found }) => found !== undefined)
  return typeof other === "object" ? other.found : undefined
})

/** An error that names the version of the transaction, as `Transaction version (2) is not supported …`. */
const versionIn = (text: string): number | undefined => {
  const [, version] = /transaction version \((\d+)\)/iu.exec(text) ?? []
  return version === undefined ? undefined : Number(version)
}

/** Undefined: the provider says nothing about it. */
const describedBy = Effect.fnUntraced(function* (node: RpcNode, signature: string) {
  const question = Calls.descriptionOf(signature)
  const first = yield* node.ask(question)
  // Some providers take no number above the versions that they know. Their error to the usual question names the version.
  const isRefused = first._tag === "RpcError" && first.code !== Calls.versionNotSupported
  const answer = isRefused ? yield* node.ask(Calls.transactionOf(signature)) : first
  if (answer._tag === "RpcError" && answer.code === Calls.versionNotSupported) {
    const description: TransactionDescription = present("version", versionIn(answer.message))
    return description
  }
  const decoded = answer._tag === "Result" ? Schema.decodeUnknownResult(question.result)(answer.value) : undefined
  if (decoded === undefined || Result.isFailure(decoded) || decoded.success === null) return undefined
  const { transaction, version } = decoded.success
  const [payer] = transaction.message.accountKeys
  const description: TransactionDescription = { ...present("payer", payer), ...present("version", version) }
  return transaction.signatures[0] === signature ? description : undefined
})

/** Whether enough providers say that the relayer did not sign the transaction, and no provider says that it did. */
const isOfOthers = Effect.fnUntraced(function* ({ context, providers }: RestoreWork, signature: string) {
  const answers = yield* providers.answers(Numbers.maxAskedProviders, (node) => describedBy(node, signature))
  const said = answers.filter((one) => one !== undefined)
  return said.length >= neededOf(providers) && said.every((one) => executesNone(one, context.address))
})

/** The transaction has landed. Its slot stands for the height of its block, which is never above the slot. */
const takenOf = (hash: string, { raw, message, slot }: Fetched): TakenBytes => {
  const { total, computeUnitLimit, computeUnitPrice } = feeOf(message)
  const offer = {
    blockhash: message.blockhash,
    bound: slot,
    signedSlot: slot,
    computeUnitPrice,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit })
  }
  return { raw, taken: { hash, offer, maxFee: total } }
}

/**
 * One transaction of the chain executed one request: the oldest one that it could be. False: one of them cannot be read, and may be
 * one of the relayer's.
 */
const matchRestored = Effect.fnUntraced(function* (work: RestoreWork, unknown: ReadonlyArray<string>) {
  const { context, providers, rows } = work
  const { address, memory } = context
  const { found, foreign } = memory.restore
  for (const signature of unknown.slice(0, Numbers.maxCompared)) {
    const fetched = yield* fetchTransaction(providers, signature)
    if (fetched === undefined) {
      if (!(yield* isOfOthers(work, signature))) return false
      foreign.add(signature)
      continue
    }
    const row = rows.find(
      ({ transaction }) =>
        transaction.restored &&
        !found.has(transaction.number) &&
        executes(fetched.message, fetched.loaded, address, newestRequest(transaction))
    )
    if (row === undefined) foreign.add(signature)
    else found.set(row.transaction.number, takenOf(signature, fetched))
  }
  return unknown.length <= Numbers.maxCompared
})

/** A provider that is alone has to show the same in two looks. */
const isRepeated = ({ context: { memory }, providers, now }: RestoreWork): boolean => {
  if (providers.configured >= agreeing) return true
  memory.restore.completeSince ??= now
  return now >= memory.restore.completeSince + Numbers.looksApart
}

/** Newest last: the oldest request is the one that was executed first. */
const unknownIn = Effect.fnUntraced(function* (
  { context: { memory }, known }: RestoreWork,
  lists: ReadonlyArray<ReadonlySet<string>>
) {
  const { found, foreign } = memory.restore
  const taken = new Set([...found.values()].map(({ taken: { hash } }) => hash))
  const all = [...new Set(lists.flatMap((list) => [...list].toReversed()))].filter(
    (one) => !foreign.has(one) && !taken.has(one)
  )
  const own = yield* known(all)
  return all.filter((one) => !own.has(one))
})

/** Those that the ledger has as attempts by now, or that ended otherwise. */
const forgetAdopted = ({ context: { memory }, rows }: RestoreWork): void => {
  const { found } = memory.restore
  const open = new Map(rows.map(({ transaction }) => [transaction.number, transaction]))
  for (const [number, { taken }] of found) {
    const transaction = open.get(number)
    const isOpen = transaction !== undefined && transaction.restored
    if (!isOpen || transaction.attempts.some(({ hash }) => hash === taken.hash)) found.delete(number)
  }
}

/** Whether the list of the address has to be read for restored rows. */
const isRestoreOpen = (rows: ReadonlyArray<LaneRow<Solana>>, restore: SolanaRestore | undefined): boolean =>
  restore?.slot === undefined && rows.some(({ transaction }) => transaction.restored)

/** What the lane knows of the restore after this poll. Undefined: nothing yet. */
const advanceRestore = Effect.fn("SolanaLane.advance")(function* (
  work: RestoreWork,
  before: SolanaRestore | undefined
) {
  const { context, providers, rows } = work
  const { memory } = context
  if (!isRestoreOpen(rows, before)) return before
  if (before === undefined) {
    const bound = yield* boundNow(providers)
    return bound === undefined ? undefined : { bound }
  }
  forgetAdopted(work)
  // What was found is committed first: then the list shows nothing that the ledger does not have.
  if (memory.restore.found.size > 0) return before
  const read = yield* listed(work, before)
  if (read === undefined) return before
  const unknown = yield* unknownIn(work, read.lists)
  if (unknown.some((signature) => read.lists.some((list) => !list.has(signature)))) return before
  const isCompared = yield* matchRestored(work, unknown)
  if (!isCompared || memory.restore.found.size > 0) return before
  return isRepeated(work) ? { ...before, slot: read.slot } : before
})

// Bytes that a caller has and the ledger does not know: a prebuilt transaction that comes with the relayer's own signature. It was
// signed by a process whose database was restored since.

/** No provider says when a dead blockhash died. The life of a blockhash that is read now counts, because it ends later. */
const lastOf = Effect.fnUntraced(function* (providers: SolanaProviders) {
  const answers = yield* providers.answers(Numbers.maxAskedProviders, reportedBy)
  const found = answers.filter(({ lastValid, height }) => isLifeOf(lastValid - height))
  if (found.length < neededOf(providers)) return undefined
  const life = Math.max(...found.map(({ lastValid, height }) => lastValid - height))
  return {
    bound: Math.max(...found.map(({ height }) => height)) + life + Numbers.boundMargin,
    signedSlot: Math.max(0, Math.min(...found.map(({ slot }) => slot)) - 2 * life),
    isLast: true as const
  }
})

const forgottenOf = Effect.fn("SolanaLane.forgottenOf")(function* (
  context: SolanaContext,
  { row: { transaction, relayer } }: Inquiry<Solana>,
  now: Moment
) {
  const { given } = transaction.facts
  const draft = draftOf(newestRequest(transaction), { payer: context.address, tables: new Map() })
  if (given === undefined || Result.isFailure(draft)) return "unavailable" as const
  const { message } = draft.success
  const { blockhash } = message
  const providers = yield* providersOf(context, relayer)
  const life = yield* lifetimeOfRequest(context, providers, transaction.number, blockhash, now)
  const found = life === "dead" ? yield* lastOf(providers) : life
  if (found === undefined || found === "unavailable") return "unavailable" as const
  const { computeUnitLimit, computeUnitPrice, total } = feeOf(message)
  const offer: SolanaOffer = {
    blockhash,
    ...found,
    computeUnitPrice,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit })
  }
  const taken: TakenAttempt = { hash: given.hash, offer, maxFee: total }
  return taken
})

/** Transactions of a lane that are prepared, or on their way to a node, at once. They need no order. */
const inParallel = 32

/** What lanes of solana need of the service. */
type Parts = Pick<SolanaContext, "nodes" | "prices">

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
const passedBy = ({ looks }: Looks): number => Math.min(...looks.map(({ look }) => look.finalized?.height ?? 0))

const openLane = (parts: Parts, { address, genesis, keys }: LaneOptions): LaneChain<Solana> => {
  const context: SolanaContext = { ...parts, address, memory: makeMemory(genesis) }
  const { memory } = context
  const ownKey = keys({
    curve: "ed25519",
    isOwn: (publicKey) => Effect.succeed(encodeBase58(publicKey) === address)
  })

  /**
   * What the lane stores between two holders: the newest own signature that is finalized, and how far a restored database was
   * compared with the chain. A process that has just claimed the lane continues with them. `relayer`: its providers speak for the lane.
   */
  const countersOf = Effect.fnUntraced(function* (
    { lane, rows, now, own: ownHashes, given }: PollOptions<Solana>,
    relayer: SolanaRelayer
  ) {
    const [{ counters = {} }] = lane.accounts
    const { anchor, restore } = counters
    if (anchor !== undefined && memory.known.length === 0) rememberFinalized(memory, anchor)
    const providers = yield* providersOf(context, relayer)
    const known = (hashes: ReadonlyArray<string>) =>
      Effect.zipWith(ownHashes(hashes), given(hashes), (one, other) => new Set([...one, ...other]))
    // What is finalized after the copy was put back is newer than what the list is read for, also if this process has seen it already.
    const newest = anchorOf(memory)
    const since = counters.since ?? anchor ?? { slot: 0 }
    const next = yield* advanceRestore({ context, providers, rows, since, known, now }, restore)
    return {
      ...present("anchor", newest),
      ...present("restore", next),
      ...(isRestoreOpen(rows, next) ? { since } : {})
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
    forgetKnown(memory)
    let genesis: string | undefined
    const { poll: common, polls } = yield* pollSets<Solana, Looks>(options, {
      rules: solanaRules,
      ask: Effect.fnUntraced(function* (relayer, shared) {
        const found = yield* Effect.result(SolanaPolls.poll(context, relayer, shared, now))
        genesis ??= yield* (yield* providersOf(context, relayer)).genesis
        return yield* Effect.fromResult(found)
      }),
      seenIn: (found, row, at) => seenIn(context, row, found, at),
      heightIn: ({ looks }) => Math.max(0, ...looks.map(({ look }) => look.finalized?.height ?? 0))
    })
    const [source] = answeredSets(options, polls)
    if (source === undefined) return common
    const lane = settled(options, passedBy(source.poll), yield* countersOf(options, source.relayer))
    const reading = { lane, ...present("genesis", genesis), usedTrust: false, fillers: [], foreign: [] }
    return { ...common, reading } satisfies Poll<Solana>
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
        raw: transactionBytes([decodeBase58(offer.taken, signatureBytes), ...others], messageBytes)
      }
    }
    const { signature, isChecked } = yield* ownKey.sign(relayer.signerId, messageBytes)
    if (!isChecked && !isSignedBy(signature, messageBytes, address)) return yield* wrongKey()
    return { hash: encodeBase58(signature), raw: transactionBytes([signature, ...others], messageBytes) }
  })

  return {
    poll,
    inquire,
    sign,
    broadcast: Effect.fnUntraced(function* (relayer: SolanaRelayer, raw: Uint8Array, sends: number) {
      const providers = yield* providersOf(context, relayer)
      return yield* providers.broadcast(sendTransaction(base64Of(raw)), sends)
    }),
    broadcastsAtOnce: () => inParallel,
    noteFinal: ({ number, mined, attempts }, apiKeyId) =>
      Effect.suspend(() => {
        forgetTransaction(memory, { number, attempts })
        const landed = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
        if (landed !== undefined && mined !== undefined) {
          rememberFinalized(memory, { hash: landed.hash, slot: mined.receipt.height })
        }
        return Effect.andThen(
          countAttempts(attempts.length),
          mined === undefined ? Effect.void : countLanded(apiKeyId, mined.receipt.isSuccess)
        )
      })
  }
}

export const networkOf = (parts: Parts): SendingNetwork<Solana> => ({
  rules: solanaRules,
  open: (lane) => openLane(parts, lane),
  // Nothing is loaded: the wire form and the signatures need no library.
  warmUp: Effect.void
})

export const network = Effect.map(Effect.all({ nodes: SolanaNodes, prices: PriceSource }), networkOf)
