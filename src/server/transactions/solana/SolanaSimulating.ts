// Simulates a request: what it would do and cost, and which rules keep it from being signed now.
import { Effect, Result } from "effect"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import type { Guarded } from "../../../domain/transaction/solana/Guard.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import type { Solana, SolanaRequest } from "../../../domain/transaction/solana/Solana.ts"
import { formOf, guardTermsOf } from "../../../domain/transaction/solana/SolanaTerms.ts"
import { addedTo, draftOf, hasOwnBudget, unsignedOf } from "../../../domain/transaction/solana/Unsigned.ts"
import { maxComputeUnits, pricePercentile } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import { derivations } from "../../chains/solana/SolanaKeys.ts"
import { readTables } from "../../chains/solana/SolanaStates.ts"
import { limitOf, percentileOf, pricesOf, within } from "../../lanes/solana/SolanaPrices.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { unanswered } from "../Senders.ts"
import { examine } from "./Examination.ts"
import * as RelayerProviders from "./RelayerProviders.ts"
import { limitViolation } from "./SolanaChecks.ts"

interface Simulating {
  readonly limits: NetworkLimits | undefined
  readonly forbidden: Violation | undefined
}

/** Bytes of UTF-16 text that the logs of a response may have together. */
const maxLogs = 10_000

const within10kB = (logs: ReadonlyArray<string>): ReadonlyArray<string> => {
  let room = maxLogs
  return logs.filter((line) => (room -= line.length) >= 0)
}

const draft = (request: SolanaRequest, payer: string, tables: ReadonlyMap<string, ReadonlyArray<string>>) =>
  Effect.mapError(Effect.fromResult(draftOf(request, { payer, tables })), ({ code, message }) =>
    BadRequest.of([{ field: "transaction", message: `${code}: ${message}` }])
  )

/** Contents of the tables that a request names. */
const tablesOf = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { address_lookup_tables = [] }: SolanaRequest
) {
  const read = yield* readTables(providers, address_lookup_tables)
  if (typeof read === "string") return yield* unanswered("has the lookup tables")
  return new Map([...read].flatMap(([table, state]) => (state._tag === "Active" ? [[table, state.addresses]] : [])))
})

export const make = Effect.gen(function* () {
  const relayerProviders = yield* RelayerProviders.make
  const outboundWork = yield* OutboundWork
  const prices = yield* PriceSource

  const speeds = Object.keys(pricePercentile) as ReadonlyArray<keyof typeof pricePercentile>

  const simulateIn = Effect.fnUntraced(function* (
    request: SolanaRequest,
    sender: Sender<Solana>,
    { limits, forbidden }: Simulating
  ) {
    const { target, account } = sender
    const providers = yield* relayerProviders.of(sender)
    const tables = yield* tablesOf(providers, request)
    const transaction = yield* draft(request, account.address, tables)
    const isPrebuilt = request.transaction !== undefined
    const terms = guardTermsOf(target, request)
    const added = addedTo(request, transaction.message)
    const guarded: Guarded = { transaction, form: formOf(target, request), added, terms, derivations }
    const { broken, fee, spending, simulation } = yield* examine({ providers, prices, target }, guarded)
    const found = simulation?.found
    const isFixed = isPrebuilt || hasOwnBudget(request)
    const limit = isFixed ? undefined : limitOf(request, found?.unitsConsumed)
    const feeAt = (price: bigint): bigint => {
      if (isFixed) return fee ?? feeOf(transaction.message).total
      const build = (computeUnitPrice: bigint): WireTransaction =>
        Result.getOrThrow(
          unsignedOf(
            request,
            { payer: account.address, tables },
            { blockhash: transaction.message.blockhash, computeUnitLimit: limit, computeUnitPrice }
          )
        )
      const floor = feeOf(build(0n).message).total
      return feeOf(build(within(price, terms.maxFee, floor, limit ?? maxComputeUnits)).message).total
    }
    const sorted = isFixed
      ? []
      : yield* Effect.orElseSucceed(pricesOf(providers, transaction, found?.slot ?? 0), () => [])
    const [safeLow, average, fast, fastest] = speeds.map((speed) =>
      feeAt(request.compute_unit_price ?? percentileOf(sorted, speed))
    )
    const after = found?.accounts
    const lost = after && after.before.lamports - after.after.lamports
    const limited = limitViolation(guarded, "transaction", limits, spending)
    const fees = { safeLow: safeLow ?? 0n, average: average ?? 0n, fast: fast ?? 0n, fastest: fastest ?? 0n }
    return {
      ...present("units_consumed", found?.unitsConsumed),
      ...present("compute_unit_limit", limit),
      fees,
      max_fee: fees[request.speed ?? "fast"],
      ...present("lamports_out", lost),
      out: spending.out,
      spent: spending.spent,
      logs: within10kB(found?.logs ?? []),
      ...present("error", found?.error),
      verdict: [
        ...(broken === undefined ? [] : [broken.code]),
        ...(limited === undefined && forbidden === undefined ? [] : ["transaction_limits"])
      ]
    }
  })

  return (request: SolanaRequest, sender: Sender<Solana>, options: Simulating) =>
    outboundWork.run(simulateIn(request, sender, options))
})
