// The intake of solana: decodes and checks what callers want to send from relayers of solana networks. Rules that need the chain are
// checked before the signature.
import { DateTime, Effect } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import * as Base58 from "../../../domain/transaction/solana/Base58.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { feeOf } from "../../../domain/transaction/solana/Fee.ts"
import { listsFeePayer } from "../../../domain/transaction/solana/Message.ts"
import {
  prebuiltOf,
  ReplaceSolanaTransaction,
  SendSolanaTransaction
} from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { Solana, SolanaRequest, SolanaTarget } from "../../../domain/transaction/solana/Solana.ts"
import { deadlineOf, unsimulated, violationsOf } from "../../../domain/transaction/solana/SolanaAdmission.ts"
import { hasOwnBudget } from "../../../domain/transaction/solana/Unsigned.ts"
import { formOf, paysFees } from "../../../domain/transaction/solana/SolanaTerms.ts"
import { solanaRules } from "../../../domain/transaction/solana/SolanaRules.ts"
import { isNewestOf } from "../Intake.ts"
import type { Admitted, Intake } from "../Intake.ts"
import { check as checkBytes } from "./SolanaChecks.ts"
import type { Allowance } from "./SolanaChecks.ts"
import * as SolanaSimulating from "./SolanaSimulating.ts"
import * as SolanaSponsoring from "./SolanaSponsoring.ts"
import * as SolanaSigning from "./SolanaSigning.ts"

interface Admission extends Allowance {
  readonly now: Moment
}

const requestOf = (body: ReplaceSolanaTransaction): SolanaRequest => ({
  ...present("transaction", body.transaction === undefined ? undefined : prebuiltOf(body.transaction)),
  ...present("instructions", body.instructions),
  ...present("speed", body.speed),
  ...present("compute_unit_limit", body.compute_unit_limit),
  ...present("compute_unit_price", body.compute_unit_price),
  ...present("max_fee_lamports", body.max_fee_lamports),
  ...present("address_lookup_tables", body.address_lookup_tables),
  ...present("version", body.version),
  ...present("simulate", body.simulate),
  ...present("wait_for_funds", body.wait_for_funds)
})

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
  const request = requestOf(body)
  const isPrebuilt = request.transaction !== undefined
  const form = formOf(target, request)
  const { transaction: draft } = yield* checkBytes(request, target, { form, limits, prefix })
  if (request.simulate === false && listsFeePayer(draft.message)) return yield* refused([unsimulated], prefix)
  const { refresh = true } = body
  const [own] = isPrebuilt ? draft.signatures : []
  return {
    request: { ...request, ...present("max_value", limits?.max_value) },
    facts: {
      isPrebuilt,
      isRefreshable: !isPrebuilt || (refresh && draft.message.signers === 1),
      // Somebody has these bytes already.
      ...(own === undefined ? {} : { given: { hash: Base58.encode(own) } })
    },
    /** Lamports. The price of instructions is decided when they are signed. */
    fee:
      isPrebuilt || hasOwnBudget(request) || request.compute_unit_price !== undefined ? feeOf(draft.message).total : 0n
  }
})

const isNewest = isNewestOf(solanaRules.request)

export const make = Effect.map(
  Effect.all([SolanaSigning.make, SolanaSimulating.make, SolanaSponsoring.make]),
  ([signing, simulate, { quote, build }]): Intake<Solana> => ({
    rules: solanaRules,
    hasSequences: false,
    body: SendSolanaTransaction,
    replacement: ReplaceSolanaTransaction,
    namesOf: (body) =>
      Effect.succeed({
        ...present("externalId", body.external_id),
        ...present("identity", solanaRules.identityOf(requestOf(body), { isPrebuilt: true, isRefreshable: false }))
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
    isNewest: (replacement, transaction) => isNewest(transaction, requestOf(replacement), replacement.valid_until),
    simulate: Effect.fnUntraced(function* (body, sender, options) {
      yield* checkFields(body, sender.target, options.now, "")
      return yield* simulate(requestOf(body), sender, options)
    }),
    signing,
    quote,
    build
  })
)
