// Evm, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account.
import { Clock, Effect, Metric, Option } from "effect"
import { Hex } from "effect/encoding"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { answeredSets, pollSets } from "../../../server/lanes/LaneNetwork.ts"
import type {
  Finding,
  Inquiry,
  LaneChain,
  LaneOptions,
  Poll,
  PollOptions,
  SendingNetwork
} from "../../../server/lanes/LaneNetwork.ts"
import { RelayerTargets } from "../../../server/relayers/RelayerTargets.ts"
import { present } from "../../core/Presentation.ts"
import type { Destination } from "../../core/Rules.ts"
import { currentAttempts, isFinal, newestRequest, requestOf } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import { poll as pollBounds } from "../../core/TransactionValues.ts"
import * as EvmBytes from "../chain/EvmBytes.ts"
import {
  agreedEstimate,
  callAt,
  isHalt,
  isOutOfGas,
  nodeEstimate,
  receiptOf,
  revertReasonOf
} from "../chain/EvmCalls.ts"
import type { CallError, NodeEstimate } from "../chain/EvmCalls.ts"
import { listedEstimate, listedEstimateOf } from "../chain/EvmEstimates.ts"
import { findTaker, hashAt } from "../chain/EvmEvidence.ts"
import { readDataFee } from "../chain/EvmMarkets.ts"
import { EvmNodes, sendBytes } from "../chain/EvmNodes.ts"
import type { EvmProviders } from "../chain/EvmNodes.ts"
import { wireOf } from "../rules/Batch.ts"
import { isEstimated } from "../rules/Costs.ts"
import { authorizationOrigin } from "../rules/Delegation.ts"
import { isEstimatedPrivately, knownHashes, nonceOf, noncesOf } from "../rules/Evm.ts"
import type { Evm, Question, ReceiptDetails, RevertsNow, Seen, TakerEvidence } from "../rules/Evm.ts"
import { ampleBalance, privateBlocks } from "../rules/EvmNumbers.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { takerVerdictOf } from "../rules/LaneNonces.ts"
import { classify } from "../rules/Refusal.ts"
import type { NodeAnswer } from "../rules/Refusal.ts"
import { findAuthorities, findDelegations } from "./EvmAuthorities.ts"
import type { RelayersAmong } from "./EvmAuthorities.ts"
import {
  beliefsOf,
  makeMemory,
  makeSigner,
  numbersOf,
  privateProvidersOf,
  providersOf,
  unsignedTransactionOf,
  warmUpSigner
} from "./EvmContext.ts"
import type { EvmContext, EvmMemory, EvmRelayer, PollResult } from "./EvmContext.ts"
import * as EvmCounts from "./EvmCounts.ts"
import { codeAt, estimateDelegation } from "./EvmDelegating.ts"
import * as EvmPoll from "./EvmPoll.ts"

// Answers what decisions about evm transactions ask besides a poll: what a call needs, which transaction used a nonce, and why a
// call reverted.

type Ask<Tag extends Question["_tag"]> = Extract<Question, { readonly _tag: Tag }>

/** `Unknown` if no provider answers, even if the request gives its gas. Only private providers are asked about a private call. */
const estimated = Effect.fnUntraced(function* (context: EvmContext, { row, seen }: Inquiry<Evm>) {
  const { transaction, relayer } = row
  const providers = yield* providersOf(context, relayer)
  const isPrivate = isEstimatedPrivately(transaction)
  const estimating = isPrivate ? yield* privateProvidersOf(context, relayer) : providers
  const request = newestRequest(transaction)
  const { authorization_list: list, delegate } = request
  const wire = wireOf(request, context.address)
  const call = { ...wire, from: context.address }
  const estimateOf = (node: RpcNode) =>
    delegate === undefined
      ? agreedEstimate(estimating, node, call)
      : estimateDelegation(node, { account: context.address, delegate, chainId: numbersOf(relayer).chainId })
  const gasOf = (node: RpcNode) => (isEstimated(request) ? Effect.asSome(estimateOf(node)) : Effect.succeedNone)
  const listedGas =
    list !== undefined && isEstimated(request)
      ? Effect.asSome(listedEstimate(estimating, { ...call, authorization_list: list }))
      : Effect.succeedNone
  const dataFeeOf = (node: RpcNode) =>
    readDataFee(node, numbersOf(relayer), wire, context.memory.lastRollupFee, transaction.route?.kind === "private")
  const apart = list === undefined ? estimating.first(gasOf) : listedGas
  const both =
    isPrivate || list !== undefined
      ? Effect.all([isEstimated(request) ? apart : Effect.succeedNone, providers.first(dataFeeOf)], {
          concurrency: 2
        })
      : providers.first((node) => Effect.all([gasOf(node), dataFeeOf(node)], { concurrency: 2 }))
  const asked = Effect.map(both, ([gas, data]): Partial<Seen> => ({
    ...(gas._tag === "Some" ? { estimate: gas.value } : {}),
    ...(data === undefined ? {} : { dataFee: data })
  }))
  const found = yield* Effect.orElseSucceed(asked, (): Partial<Seen> => ({ estimate: { _tag: "Unknown" } }))
  return { seen: { ...seen, ...found, isInquired: true } } satisfies Finding<Evm>
})

/** Remembers since when the indexes of providers lag behind the block that used the nonce. */
const noteBehind = Effect.fnUntraced(function* ({ behind }: EvmMemory, number: number, taker: TakerEvidence) {
  if (taker._tag !== "Behind") {
    behind.delete(number)
    return taker
  }
  const since = behind.get(number) ?? (yield* Clock.currentTimeMillis)
  behind.set(number, since)
  return { ...taker, since }
})

/**
 * Whether every provider answers, and none of them has a receipt of one of the attempts. Those whose hashes are secret are looked for in the
 * block that used the nonce.
 */
const hasNoReceipt = Effect.fnUntraced(function* (
  providers: EvmProviders,
  transaction: Transaction<Evm>,
  place: Parameters<typeof hashAt>[1],
  head: number
) {
  const known = knownHashes(transaction)
  const secret = currentAttempts(transaction).flatMap(({ hash }) => (known.includes(hash) ? [] : [hash]))
  const answers = yield* providers.each(
    Effect.fnUntraced(function* (node) {
      const receipts = yield* Effect.forEach(known, (hash) => node.call(receiptOf(hash)), { concurrency: "unbounded" })
      const shown = secret.length === 0 ? undefined : yield* hashAt(node, place, head)
      return receipts.every((receipt) => receipt === null) && shown !== "behind" && !secret.includes(shown ?? "")
    })
  )
  return answers.every((hasNone) => hasNone === true)
})

/** What used the nonce. What is in no attempt marks the requests that it could be, before any of them gets a new nonce. */
const findForeign = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  { nonce }: Ask<"Foreign">
) {
  const providers = yield* providersOf(context, relayer)
  const { address } = context
  const place = { address, nonce, finality: numbersOf(relayer).finality }
  const sought = { ...place, hashes: knownHashes(transaction) }
  const find = providers.first((node) => findTaker(providers, node, sought, seen.head.number))
  const answered = yield* Effect.orElseSucceed(find, () => ({ _tag: "Behind" }) as const)
  const taker = yield* noteBehind(context.memory, transaction.number, answered)
  const verdict = takerVerdictOf(transaction, address, { ...seen, taker }, yield* Clock.currentTimeMillis)
  const isOpen = verdict._tag === "Unproven" || verdict._tag === "Behind"
  const needsAll = isOpen && transaction.intent === "clear"
  const finding: Finding<Evm> = {
    seen: {
      ...seen,
      taker,
      ...(needsAll ? { hasNoReceipt: yield* hasNoReceipt(providers, transaction, place, seen.head.number) } : {})
    },
    ...(verdict._tag === "Taken" && verdict.call !== undefined ? { foreign: [verdict.call] } : {})
  }
  return finding
})

/** The words of an exceptional halt are shown in any case: they are those of the node. A reason has data of the contract. */
const failureOf = (error: CallError, isWanted: boolean): Partial<ReceiptDetails> => ({
  ...present("revertReason", isWanted || isHalt(error) ? revertReasonOf(error) : undefined),
  ...present("isOutOfGas", isOutOfGas(error))
})

/** What the call does at the state after its block. */
const findRevertReason = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { transaction, relayer }, seen }: Inquiry<Evm>,
  { isWanted, ordinal, receipt }: Ask<"RevertReason">
) {
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  const providers = isEstimatedPrivately(transaction)
    ? yield* privateProvidersOf(context, relayer)
    : yield* providersOf(context, relayer)
  const answer =
    attempt === undefined
      ? undefined
      : yield* Effect.orElseSucceed(
          providers.first((node) => {
            const wire = wireOf(requestOf(transaction, attempt), context.address)
            const call = { ...wire, from: context.address, gas: attempt.offer.gasLimit }
            return node.ask(callAt(call, receipt.height))
          }),
          () => undefined
        )
  const details = answer?._tag === "RpcError" ? { ...receipt.details, ...failureOf(answer, isWanted) } : receipt.details
  const sights = new Map([
    ...seen.sights,
    [ordinal, { _tag: "Receipt", receipt: { ...receipt, details }, isReasonAsked: true }] as const
  ])
  return { seen: { ...seen, sights } } satisfies Finding<Evm>
})

/** What a provider refuses to estimate says nothing. */
const revertsNowOf = (estimate: NodeEstimate): RevertsNow => {
  if (estimate._tag === "Gas") return { wouldRevert: false }
  return estimate._tag === "Reverts" ? { wouldRevert: true, ...present("reason", estimate.reason) } : {}
}

/** Asked once in ten blocks. As an estimate, it is asked of private providers alone, unless the policy shows calls to normal ones. */
const findRevertsNow = Effect.fnUntraced(function* (context: EvmContext, { row, seen }: Inquiry<Evm>) {
  const { transaction, relayer } = row
  const { address, memory } = context
  const { number, versions } = transaction
  const height = seen.head.number
  const known = memory.reverts.get(number)
  if (known?.version === versions.length && height < known.height + privateBlocks.betweenQuestions) {
    return { seen: { ...seen, revertsNow: known.found } } satisfies Finding<Evm>
  }
  const providers = isEstimatedPrivately(transaction)
    ? yield* privateProvidersOf(context, relayer)
    : yield* providersOf(context, relayer)
  const request = newestRequest(transaction)
  const { authorization_list: list } = request
  const call = { ...wireOf(request, address), from: address }
  const ask = (node: RpcNode) =>
    list === undefined ? nodeEstimate(node, call) : listedEstimateOf(node, { ...call, authorization_list: list })
  const estimate = yield* Effect.option(providers.first(ask))
  const found = Option.match(estimate, { onNone: (): RevertsNow => ({}), onSome: revertsNowOf })
  memory.reverts.set(number, { height, version: versions.length, found })
  return { seen: { ...seen, revertsNow: found } } satisfies Finding<Evm>
})

/** The code of the account at the block of a receipt. */
const findCode = Effect.fnUntraced(function* (
  context: EvmContext,
  { row: { relayer }, seen }: Inquiry<Evm>,
  { count, expected, nonce, ordinal, receipt }: Ask<"CodeAt">
) {
  const providers = yield* providersOf(context, relayer)
  const found = yield* codeAt(providers, context.address, {
    height: receipt.height,
    expected,
    nonce,
    count,
    head: seen.head.number
  })
  const known = { ...receipt, details: { ...receipt.details, ...present("code", found.code) } }
  const before = seen.sights.get(ordinal)
  const sights =
    before?._tag === "Receipt"
      ? new Map([...seen.sights, [ordinal, { ...before, receipt: known }] as const])
      : seen.sights
  return { seen: { ...seen, sights, codeAt: found } } satisfies Finding<Evm>
})

const answerInquiry = (
  context: EvmContext,
  inquiry: Inquiry<Evm>,
  relayersAmong: RelayersAmong
): Effect.Effect<Finding<Evm>> => {
  const { question } = inquiry
  switch (question._tag) {
    case "Authorities":
      return findAuthorities(context, inquiry, relayersAmong)
    case "Delegations":
      return findDelegations(context, inquiry, question)
    case "Estimate":
      return estimated(context, inquiry)
    case "Foreign":
      return findForeign(context, inquiry, question)
    case "RevertReason":
      return findRevertReason(context, inquiry, question)
    case "RevertsNow":
      return findRevertsNow(context, inquiry)
    case "CodeAt":
      return findCode(context, inquiry, question)
  }
}

// The metrics that only lanes of evm have.

const transactionFeesPaid = Metric.counter("transaction_fees_paid_gwei_total", {
  description: "Fees that confirmed and reverted transactions have paid, in gwei.",
  incremental: true
})

export const evmLaneMetrics = [transactionFeesPaid, EvmPoll.seenPublicly]

/** Wei per gwei. */
const gwei = 10 ** 9

/** In wei. */
const countFee = (paid: bigint) => Metric.update(transactionFeesPaid, Number(paid) / gwei)

/**
 * Transactions of a lane that are on their way to a node at once, in one JSON-RPC batch; one if the node keeps no gaps. A step
 * has at most 64, which eight at a time took eight exchanges: 32 take a tenth less processor time per transaction.
 */
const inParallel = 32

const dependsOnBalance = ({ state, cause }: Transaction<Evm>): boolean =>
  state === "pending" || cause?.code === "insufficient_funds"

/**
 * The balance of a previous poll, if no transaction waits for a decision about funds and the balance is far above what was in
 * flight since then. This saves a call per second on chains with short blocks. Undefined: the poll reads the balance. Decisions
 * about transactions that arrive before the next poll use it as well. If it is too high, because another program uses the key, a
 * node refuses the bytes.
 */
const knownBalance = ({ memory }: EvmContext, { rows, totals, now }: PollOptions<Evm>): bigint | undefined => {
  const { balance } = memory
  if (balance === undefined || now >= balance.readAt + pollBounds.maximum) return undefined
  if (rows.some(({ transaction }) => dependsOnBalance(transaction))) return undefined
  balance.inFlight = totals.reserved > balance.inFlight ? totals.reserved : balance.inFlight
  return balance.inFlight > 0n && balance.wei >= ampleBalance * balance.inFlight ? balance.wei : undefined
}

const logged = new Set<string>()

/** Texts that the table of refusals does not know are logged once: they may need a line there. */
const logUnknown = (answers: ReadonlyArray<NodeAnswer>) =>
  Effect.forEach(
    answers.filter((answer) => classify(answer) === "unknown"),
    (answer) => {
      const text = "message" in answer ? (answer.message ?? "").slice(0, 200) : ""
      if (logged.has(text) || logged.size > 1000) return Effect.void
      logged.add(text)
      return Effect.annotateLogs(Effect.logWarning("answer of a node is not known"), { answer: text })
    },
    { discard: true }
  )

/** One poll for each set of providers. */
const pollEach = Effect.fnUntraced(function* (context: EvmContext, options: PollOptions<Evm>) {
  const { lane, now } = options
  const { memory, nodes } = context
  const balance = knownBalance(context, options)
  const found = yield* pollSets<Evm, PollResult>(options, {
    rules: evmRules,
    ask: (relayer, rows) =>
      Effect.flatMap(providersOf(context, relayer), (providers) =>
        EvmPoll.take({
          providers,
          nodes,
          numbers: numbersOf(relayer),
          lane: noncesOf(lane),
          transactions: rows.flatMap(({ transaction }) =>
            transaction.place === undefined || isFinal(transaction) ? [] : [transaction]
          ),
          memory,
          beliefs: beliefsOf(memory, relayer.urlsKey),
          urls: relayer.urls.filter(({ weight }) => weight > 0),
          privateHosts: new Set(
            rows.flatMap(({ relayer: { privateUrls = [] } }) => privateUrls.map(({ url }) => EvmPoll.hostOf(url)))
          ),
          now,
          headAfter: memory.polls.get(relayer.urlsKey)?.headAskedAt ?? 0,
          balance
        })
      ),
    seenIn: ({ base, views }, { transaction }) => views.get(transaction.number) ?? base,
    heightIn: ({ base }) => base.head.number
  })
  memory.polls = found.polls
  return found
})

interface HeardFrom {
  readonly answer: NodeAnswer
  readonly url: string
}

/**
 * Bytes that are sent again may be accepted and never passed on: an operator sees by which providers. A provider that has missing bytes
 * already does not show its pool by hash, as Cosmos chains: it shows transactions only when they are mined.
 */
const rememberHosts = Effect.fnUntraced(function* (
  { memory }: EvmContext,
  raw: Uint8Array,
  heard: ReadonlyArray<HeardFrom>
) {
  const accepted = heard.filter(({ answer }) => classify(answer) === "accepted")
  if (accepted.length === 0) return
  const hash = yield* EvmBytes.hashOf(raw)
  const hosts = accepted.map(({ url }) => maskUrl(url))
  memory.acceptedBy.set(hash, new Set([...(memory.acceptedBy.get(hash) ?? []), ...hosts]))
  const missed = memory.absences.get(hash)
  for (const { answer, url } of accepted) {
    if (answer._tag === "RpcError" && (missed?.get(url)?.polls ?? 0) > 0) memory.hidesPool.add(url)
  }
})

/** What is remembered of bytes is forgotten with their transaction. */
const forgetBytes = ({ memory: { absences, acceptedBy } }: EvmContext, { rows }: PollOptions<Evm>): void => {
  if (acceptedBy.size + absences.size === 0) return
  const open = new Set(rows.flatMap(({ transaction }) => transaction.attempts.map(({ hash }) => hash)))
  for (const all of [acceptedBy, absences]) {
    for (const hash of all.keys()) if (!open.has(hash)) all.delete(hash)
  }
}

const open = (
  nodes: EvmNodes["Service"],
  relayersAmong: RelayersAmong,
  { address, genesis, keys }: LaneOptions
): LaneChain<Evm> => {
  const context: EvmContext = { address, nodes, memory: makeMemory(genesis) }
  const { memory } = context
  const signer = makeSigner(keys, address)

  const poll = Effect.fn("EvmLane.poll")(function* (options: PollOptions<Evm>) {
    memory.genesis = options.stored.genesis
    const { poll: common, polls } = yield* pollEach(context, options)
    forgetBytes(context, options)
    const { reading, doubts } = yield* EvmCounts.readAll(context, options, answeredSets(options, polls))
    const found: Poll<Evm> = {
      ...common,
      doubtOf: ({ urlsKey }) => doubts.get(urlsKey),
      ...(reading === undefined ? {} : { reading })
    }
    return found
  })

  return {
    poll,
    inquire: (_, inquiries) =>
      Effect.forEach(inquiries, (inquiry) => answerInquiry(context, inquiry, relayersAmong), {
        concurrency: "unbounded"
      }),
    sign: (unsigned) =>
      signer.sign(unsigned.relayer.signerId, unsignedTransactionOf(unsigned), unsigned.request?.delegate),
    broadcast: Effect.fnUntraced(function* (
      relayer: EvmRelayer,
      raw: Uint8Array,
      sends: number,
      destination: Destination
    ) {
      const send = sendBytes(`0x${Hex.encode(raw)}`)
      const privately = Effect.flatMap(privateProvidersOf(context, relayer), (providers) =>
        Effect.map(providers.each(send), (answers) => answers.filter((answer) => answer !== undefined))
      )
      const normally = Effect.gen(function* () {
        const providers = yield* providersOf(context, relayer)
        const heard = yield* providers.broadcast(
          (node) => Effect.map(send(node), (answer) => ({ answer, url: node.url })),
          sends
        )
        if (sends > 0) yield* rememberHosts(context, raw, heard)
        return heard.map(({ answer }) => answer)
      })
      // Both at once: normal providers do not wait for a private one that is dead.
      const [toPrivate, toNormal] = yield* Effect.all(
        [
          destination === "public" ? Effect.succeed([]) : privately,
          destination === "private" ? Effect.succeed([]) : normally
        ],
        { concurrency: 2 }
      )
      yield* logUnknown([...toPrivate, ...toNormal])
      return destination === "private" ? toPrivate : toNormal
    }),
    broadcastsAtOnce: (relayers) => (relayers.every((relayer) => numbersOf(relayer).hasMempool) ? inParallel : 1),
    noteFinal: (transaction) => {
      const { mined, number } = transaction
      memory.behind.delete(number)
      memory.reverts.delete(number)
      memory.leakAsked.delete(number)
      const nonce = nonceOf(transaction)
      const isExplained = mined !== undefined || transaction.origin === authorizationOrigin
      // The next poll need not ask the ledger what used it, of whichever providers.
      if (nonce !== undefined && isExplained) for (const { explained } of memory.beliefs.values()) explained.add(nonce)
      return mined === undefined ? Effect.void : countFee(mined.receipt.paid)
    }
  }
}

export const networkOf = (nodes: EvmNodes["Service"], relayersAmong: RelayersAmong): SendingNetwork<Evm> => ({
  rules: evmRules,
  open: (lane) => open(nodes, relayersAmong, lane),
  // The first real signature meets the same failure and reports it.
  warmUp: Effect.ignore(warmUpSigner)
})

export const network = Effect.gen(function* () {
  const targets = yield* RelayerTargets
  return networkOf(yield* EvmNodes, (addresses) => targets.accountsAmong("evm", addresses))
})
