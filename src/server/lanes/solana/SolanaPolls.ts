// Polls of a solana lane, and the questions of a proof: one look of each provider, whose answers are never mixed.
import { Effect, Result } from "effect"
import { maskUrl } from "../../../domain/chain/Rpc.ts"
import { conclude, openQuestionOf, remember } from "../../../domain/transaction/solana/Look.ts"
import type { KnownSignature, Look } from "../../../domain/transaction/solana/Look.ts"
import type { Solana } from "../../../domain/transaction/solana/Solana.ts"
import { agreeing, maxAskedProviders, pollAfter } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { SolanaSeen } from "../../../domain/transaction/solana/SolanaSituation.ts"
import * as SolanaLists from "../../chains/solana/SolanaLists.ts"
import * as SolanaLooks from "../../chains/solana/SolanaLooks.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Unreachable } from "../../../domain/transaction/Rules.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { Opinion } from "../../chains/Providers.ts"
import type { Inquiry, LaneRow } from "../LaneNetwork.ts"
import { providersOf } from "./SolanaContext.ts"
import * as SolanaMetrics from "./SolanaMetrics.ts"
import type { SolanaContext, SolanaMemory, SolanaRelayer } from "./SolanaContext.ts"

/** What one provider saw. */
interface OneLook {
  readonly url: string
  readonly look: Look
}

/** What the providers of a relayer saw. */
interface Looks {
  readonly configured: number
  readonly looks: ReadonlyArray<OneLook>
  /** Own finalized signatures that one of the lists lacks. There are few, so that each transaction can be compared with them. */
  readonly lacked: ReadonlyArray<KnownSignature>
}

interface RelayerPoll extends Looks {
  readonly failure?: Unreachable
  readonly isOtherChain: boolean
}

/** Milliseconds of one look, over all its questions and providers. */
const budget = 10_000

const hashesOf = (rows: ReadonlyArray<{ readonly transaction: Transaction<Solana> }>): ReadonlyArray<string> =>
  rows.flatMap(({ transaction }) => transaction.attempts.map(({ hash }) => hash))

const within = <A>(self: Effect.Effect<ReadonlyArray<Opinion<A>>>) =>
  Effect.timeoutOrElse(self, { duration: budget, orElse: () => Effect.succeed<ReadonlyArray<Opinion<A>>>([]) })

const looksIn = (opinions: ReadonlyArray<Opinion<Look>>): ReadonlyArray<OneLook> =>
  opinions.flatMap(({ url, result }) => (Result.isSuccess(result) ? [{ url, look: result.success }] : []))

const failureOf = (opinions: ReadonlyArray<Opinion<Look>>, now: Moment): Unreachable => {
  const isLimited = opinions.some(({ result }) => Result.isFailure(result) && result.failure.code === "rate_limited")
  const [first] = opinions.flatMap(({ url, result }) =>
    Result.isFailure(result) ? [{ host: maskUrl(url), error: result.failure.text }] : []
  )
  return {
    _tag: "Unreachable",
    code: isLimited ? "rate_limited" : "providers_unavailable",
    retryAt: now + pollAfter,
    // The reason of `rate_limited` is another one if it has an error.
    ...present("figures", isLimited ? undefined : first)
  }
}

const lackedBy = (looks: ReadonlyArray<OneLook>, { known }: SolanaMemory): ReadonlyArray<KnownSignature> => {
  const lists = looks.flatMap(({ look: { listed } }) => listed ?? [])
  return known.filter(({ hash }) => lists.some(({ signatures }) => !signatures.has(hash)))
}

const isMismatch = ({ result }: Opinion<Look>): boolean =>
  Result.isFailure(result) && result.failure.code === "mismatch"

/** Remembers since when only one provider of the relayer has an opinion. */
const noteAlone = ({ memory }: SolanaContext, { urlsKey }: SolanaRelayer, found: RelayerPoll, now: Moment): void => {
  const opinions = found.looks.filter(({ look }) => look.statuses !== undefined || look.finalized !== undefined)
  if (found.configured < agreeing || opinions.length !== 1) memory.aloneSince.delete(urlsKey)
  else if (!memory.aloneSince.has(urlsKey)) memory.aloneSince.set(urlsKey, now)
}

export const poll = Effect.fn("SolanaPolls.poll")(function* (
  context: SolanaContext,
  relayer: SolanaRelayer,
  rows: ReadonlyArray<LaneRow<Solana>>,
  now: Moment
) {
  const providers = yield* providersOf(context, relayer)
  const inFlight = rows.filter(({ transaction }) => transaction.attempts.length > 0 && !isFinal(transaction))
  const hashes = hashesOf(inFlight)
  const { landings } = context.memory
  const opinions = yield* within(
    providers.opinions(maxAskedProviders, (node) =>
      Effect.map(SolanaLooks.poll(node, hashes, landings), ({ look, landings: found }) => {
        for (const [hash, landing] of found) landings.set(hash, landing)
        return look
      })
    )
  )
  const looks = looksIn(opinions)
  const found: RelayerPoll = {
    configured: providers.configured,
    looks,
    lacked: [],
    isOtherChain: looks.length === 0 && opinions.some(isMismatch),
    ...(looks.length === 0 ? { failure: failureOf(opinions, now) } : {})
  }
  noteAlone(context, relayer, found, now)
  SolanaLists.forgetOld(context.memory.lists, now)
  // A provider that did not answer in between begins its conclusions anew.
  for (const { transaction } of inFlight) {
    const answered = new Set(looks.map(({ url }) => url))
    const earlier = context.memory.earlier.get(transaction.number)
    for (const url of earlier?.keys() ?? []) if (!answered.has(url)) earlier?.delete(url)
  }
  return found
})
export type SolanaPoll = Effect.Success<ReturnType<typeof poll>>

const foundFor = ({ restore: { found } }: SolanaMemory, { number, attempts }: Transaction<Solana>) => {
  const taken = found.get(number)?.taken
  return attempts.some(({ hash }) => hash === taken?.hash) ? undefined : taken
}

/** What a look says about one transaction. `isLast`: nothing else is asked in this look. */
const seenIn = (
  { memory }: SolanaContext,
  { transaction, relayer }: LaneRow<Solana>,
  { configured, looks, lacked }: Looks,
  now: Moment,
  isLast: boolean
): SolanaSeen => {
  const { number, attempts } = transaction
  const earlier = memory.earlier.get(number) ?? new Map()
  memory.earlier.set(number, earlier)
  const own = looks.map(({ url, look }): Look => {
    const before = earlier.get(url)
    const seen: Look = { ...look, host: maskUrl(url), ...(before === undefined ? {} : { earlier: before }) }
    const conclusion = conclude(seen, attempts, lacked)
    const after = remember(seen, conclusion, now)
    if (after !== undefined) earlier.set(url, after)
    else if (isLast || before?.conclusion._tag === "Landed") earlier.delete(url)
    return seen
  })
  const aloneSince = memory.aloneSince.get(relayer.urlsKey)
  return {
    _tag: "Seen",
    configured,
    looks: own,
    ...(aloneSince === undefined ? {} : { aloneSince }),
    known: lacked,
    landings: memory.landings,
    ...present("found", foundFor(memory, transaction)),
    ...(isLast ? { isProofAsked: true as const } : {})
  }
}

export const seenOf = (
  context: SolanaContext,
  row: LaneRow<Solana>,
  found: SolanaPoll | undefined,
  now: Moment
): SolanaSeen | Unreachable =>
  found === undefined || found.failure !== undefined
    ? (found?.failure ?? { _tag: "Unreachable", code: "providers_unavailable", retryAt: now + pollAfter })
    : seenIn(context, row, found, now, false)

const resultOf = ({ look }: OneLook, { attempts }: Transaction<Solana>, { lacked }: Looks) => {
  const conclusion = conclude(look, attempts, lacked)
  if (conclusion === undefined) return openQuestionOf(look, attempts, lacked) ?? "proved"
  return conclusion._tag === "Landed" ? "landed" : "proved"
}

/** The questions of a proof, for all transactions of a relayer that ask for one. */
export const prove = Effect.fn("SolanaPolls.prove")(function* (
  context: SolanaContext,
  relayer: SolanaRelayer,
  inquiries: ReadonlyArray<Inquiry<Solana>>,
  now: Moment
) {
  const providers = yield* providersOf(context, relayer)
  const rows = inquiries.map(({ row }) => row)
  const sought: SolanaLooks.Sought = {
    address: context.address,
    attempts: rows.flatMap(({ transaction }) => transaction.attempts),
    lists: context.memory.lists,
    now
  }
  const looks = looksIn(yield* within(providers.opinions(maxAskedProviders, (node) => SolanaLooks.proof(node, sought))))
  const found: Looks = { configured: providers.configured, looks, lacked: lackedBy(looks, context.memory) }
  yield* SolanaMetrics.countLooks(
    rows.flatMap(({ transaction }) => looks.map((look) => resultOf(look, transaction, found)))
  )
  return new Map(rows.map((row) => [row.transaction.number, seenIn(context, row, found, now, true)]))
})
