// The intake of solana: decodes and checks what callers want to send, sign or simulate. For sends, lanes ask the chain.
import { DateTime, Effect, Option, Result } from "effect"
import { BadRequest, NotImplemented } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { isNewestOf, unanswered } from "../../../server/transactions/Intake.ts"
import type { Admitted, Intake, Sender, Signing } from "../../../server/transactions/Intake.ts"
import type { SequenceNetwork } from "../../../server/transactions/Nonces.ts"
import { present } from "../../core/Presentation.ts"
import { neededOf } from "../../core/Rows.ts"
import { TransactionConflict } from "../../core/Rules.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { derivations, isSignedBy, readTables } from "../chain/SolanaAccounts.ts"
import type { SolanaProviders } from "../chain/SolanaCalls.ts"
import { ownAnswerBy } from "../lane/SolanaPreparing.ts"
import { unitPricesOf } from "../lane/SolanaSimulations.ts"
import type { Guarded } from "../rules/Guard.ts"
import { listsFeePayer } from "../rules/Message.ts"
import type { WireTransaction } from "../rules/Message.ts"
import { feeOf } from "../rules/Programs.ts"
import {
  addedTo,
  boundOfOwn,
  draftOf,
  factsOfBody,
  hasOwnBudget,
  identityOf,
  percentileOf,
  priceWithin,
  requestOfBody,
  unitLimitOf,
  unsignedOf
} from "../rules/RequestBytes.ts"
import type { Solana, SolanaRequest, SolanaTarget } from "../rules/Solana.ts"
import {
  base64Of,
  prebuiltOf,
  ReplaceSolanaTransaction,
  SendSolanaTransaction,
  SignSolanaTransaction
} from "../rules/SolanaExchanges.ts"
import type { SolanaLaneState, SolanaSigning } from "../rules/SolanaExchanges.ts"
import { maxAskedProviders, maxComputeUnits, pricePercentile } from "../rules/SolanaNumbers.ts"
import { solanaRules } from "../rules/SolanaRules.ts"
import { deadlineOf, formOf, guardTermsOf, paysFees, unsimulated, violationsOf } from "../rules/SolanaTerms.ts"
import { encodeBase58, transactionBytes } from "../rules/Wire.ts"
import { checkBytes, examine, limitViolation, makeSolanaProvidersOf } from "./SolanaChecks.ts"
import type { Allowance } from "./SolanaChecks.ts"
import * as SolanaSponsoring from "./SolanaSponsoring.ts"
import { makeSolanaFunds, makeSolanaTransfers } from "./SolanaTransfers.ts"

// Signs transactions of solana that callers send themselves: `POST …/sign-transaction`. They pass every rule of a send.

const refusedTransaction = (code: string, message: string) =>
  BadRequest.of([{ field: "transaction", message: `${code}: ${message}` }])

const makeSolanaSigning = Effect.gen(function* () {
  const funds = yield* makeSolanaFunds
  const relayerProviders = yield* makeSolanaProvidersOf
  const prices = yield* PriceSource

  /** Until when the bytes can land. */
  const lifetimeOf = Effect.fnUntraced(function* (providers: SolanaProviders, { transaction }: Guarded) {
    const { blockhash } = transaction.message
    const answers = yield* providers.answers(maxAskedProviders, (node) => ownAnswerBy(node, blockhash))
    // Providers that do not answer have no opinion: the bound of those that do is the one that counts.
    const need = Math.min(neededOf(providers), Math.max(answers.length, 1))
    const lifetime = boundOfOwn(blockhash, answers, need)
    if (lifetime === "dead")
      return yield* refusedTransaction("blockhash_expired", "its blockhash is not valid any more")
    if (lifetime === "unavailable") return yield* unanswered("knows its blockhash")
    return lifetime
  })

  const checkFunds = Effect.fnUntraced(function* (providers: SolanaProviders, sender: Sender<Solana>, fee: bigint) {
    const { balance, isEnough, minimum, reserved } = yield* funds(providers, sender, fee)
    if (isEnough) return
    return yield* refusedTransaction(
      "insufficient_funds",
      `it can cost ${fee} lamports; the account has ${balance}, of which ${reserved} are reserved and ${minimum} must stay`
    )
  })

  const prepare = Effect.fnUntraced(function* (sender: Sender<Solana>, guarded: Guarded) {
    const { message, messageBytes, signatures } = guarded.transaction
    const providers = yield* relayerProviders.of(sender)
    const lifetime = yield* lifetimeOf(providers, guarded)
    const { broken, fee = feeOf(message).total } = yield* examine({ providers, prices, target: sender.target }, guarded)
    if (broken !== undefined) return yield* refusedTransaction(broken.code, broken.message)
    const { computeUnitPrice, computeUnitLimit } = feeOf(message)
    yield* checkFunds(providers, sender, fee)
    const offer: Solana["offer"] = {
      ...lifetime,
      computeUnitPrice,
      ...present("computeUnitLimit", computeUnitLimit),
      fee,
      out: 0n
    }
    return {
      curve: "ed25519" as const,
      message: messageBytes,
      fee,
      end: { lastHeight: lifetime.bound },
      offer,
      seal: (signature: Uint8Array) =>
        Effect.sync(() => {
          if (!isSignedBy(signature, messageBytes, sender.account.address)) return undefined
          const [, ...others] = signatures
          return { hash: encodeBase58(signature), raw: transactionBytes([signature, ...others], messageBytes) }
        })
    }
  })

  const signing: Signing<Solana, SolanaSigning> = {
    body: SignSolanaTransaction,
    admit: Effect.fnUntraced(function* ({ transaction }, sender, { limits, prefix }) {
      const form = paysFees(sender.target) ? "sign_transaction" : "sponsored"
      const request = { transaction: prebuiltOf(transaction) }
      const guarded = yield* checkBytes(request, sender.target, { form, limits, prefix })
      return { identity: identityOf(guarded.transaction), unsigned: prepare(sender, guarded) }
    }),
    show: ({ hash, raw }) => ({ transaction: base64Of(raw), signature: hash })
  }
  return signing
})

// Simulates a request: what it would do and cost, and which rules keep it from being signed now.

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

const makeSolanaSimulating = Effect.gen(function* () {
  const relayerProviders = yield* makeSolanaProvidersOf
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
    const limit = isFixed ? undefined : unitLimitOf(request, found?.unitsConsumed)
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
      return feeOf(build(priceWithin(price, terms.maxFee, floor, limit ?? maxComputeUnits)).message).total
    }
    const sorted = isFixed
      ? []
      : yield* Effect.orElseSucceed(unitPricesOf(providers, transaction, found?.slot ?? 0), () => [])
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

interface Admission extends Allowance {
  readonly now: Moment
}

const refused = (violations: ReadonlyArray<Violation>, prefix: string) =>
  BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))

/** What is wrong with the fields, before any bytes are looked at. */
const checkFields = Effect.fnUntraced(function* (
  body: ReplaceSolanaTransaction,
  target: SolanaTarget,
  now: Moment,
  prefix: string
) {
  const { address: relayerAddress } = target.relayer
  const violations = violationsOf(body, { now, relayerAddress, paysFees: paysFees(target) })
  if (violations.length > 0) return yield* refused(violations, prefix)
})

const check = Effect.fnUntraced(function* (
  body: ReplaceSolanaTransaction,
  target: SolanaTarget,
  { now, limits, prefix }: Admission
) {
  yield* checkFields(body, target, now, prefix)
  const request = requestOfBody(body)
  const isPrebuilt = request.transaction !== undefined
  const form = formOf(target, request)
  const { transaction: draft } = yield* checkBytes(request, target, { form, limits, prefix })
  if (request.simulate === false && listsFeePayer(draft.message)) return yield* refused([unsimulated], prefix)
  return {
    request: { ...request, ...present("max_value", limits?.max_value) },
    facts: factsOfBody(body, draft),
    /** Lamports. The price of instructions is decided when they are signed. */
    fee:
      isPrebuilt || hasOwnBudget(request) || request.compute_unit_price !== undefined ? feeOf(draft.message).total : 0n
  }
})

const isNewest = isNewestOf(solanaRules.request)

export const make = Effect.gen(function* () {
  const signing = yield* makeSolanaSigning
  const simulate = yield* makeSolanaSimulating
  const { quote, build } = yield* SolanaSponsoring.make
  const transfers = yield* makeSolanaTransfers((body, sender) =>
    simulate(requestOfBody(body), sender, { limits: undefined, forbidden: undefined })
  )
  const intake: Intake<Solana> = {
    rules: solanaRules,
    hasSequences: false,
    body: SendSolanaTransaction,
    replacement: ReplaceSolanaTransaction,
    namesOf: (body) =>
      Effect.succeed({
        ...present("externalId", body.external_id),
        ...present("identity", solanaRules.identityOf(requestOfBody(body), { isPrebuilt: true, isRefreshable: false }))
      }),
    admit: Effect.fnUntraced(function* (body, { target }, options) {
      const { request, facts, fee } = yield* check(body, target, options)
      const { not_before, external_id, priority = 0 } = body
      const admitted: Admitted<Solana> = {
        request,
        facts,
        validUntil: deadlineOf(body, options.now),
        priority,
        ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
        ...(external_id === undefined ? {} : { externalId: external_id }),
        fee
      }
      return admitted
    }),
    admitReplacement: Effect.fnUntraced(function* (replacement, { target }, options) {
      const { request } = yield* check(replacement, target, options)
      const { valid_until } = replacement
      return {
        request,
        ...(valid_until === undefined ? {} : { validUntil: DateTime.toEpochMillis(valid_until) })
      }
    }),
    isNewest: (replacement, transaction) => isNewest(transaction, requestOfBody(replacement), replacement.valid_until),
    simulate: Effect.fnUntraced(function* (body, sender, options) {
      yield* checkFields(body, sender.target, options.now, "")
      return yield* simulate(requestOfBody(body), sender, options)
    }),
    signing,
    quote,
    build,
    transfers
  }
  return intake
})

// What operators see and do about the account of a solana relayer: it has no nonce, so that only restarts of test networks are left.

export const makeSolanaNonces = Effect.map(Ledger, (ledger): SequenceNetwork => ({
  type: solanaRules.type,
  ofLedger: Effect.fnUntraced(function* ({ account }: Sender) {
    const lane = Option.getOrUndefined(yield* ledger.laneOf(account))
    const { inFlight, pending } = yield* ledger.countLane(account)
    const state: SolanaLaneState = {
      address: account.address,
      generation: lane?.lane.generation ?? 0,
      pending,
      in_flight: inFlight,
      ...present("signature_window", lane?.lane.windowSize),
      ...present("code", lane?.code),
      ...present("code_since", lane?.codeSince === undefined ? undefined : DateTime.makeUnsafe(lane.codeSince))
    }
    return state
  }),
  get: () => Effect.fail(new NotImplemented({ error: "accounts of solana have no nonce" })),
  // Answers are about transactions whose bytes are dead: `Rules.resolve` of solana compares block heights.
  usedBelow: () => Effect.succeed(0n),
  clear: () =>
    Effect.fail(
      new TransactionConflict({
        error: "accounts of solana have no nonce, and so no gaps; cancel the transactions instead"
      })
    )
}))
