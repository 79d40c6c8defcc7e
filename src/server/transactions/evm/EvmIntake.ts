// The intake of evm: decodes and checks what callers want to send from relayers of evm networks.
import { DateTime, Effect, Option } from "effect"
import { deadlineOf, isOwnCall } from "../../../domain/transaction/evm/Admission.ts"
import type { Evm, EvmTarget, Request } from "../../../domain/transaction/evm/Evm.ts"
import { evmRules } from "../../../domain/transaction/evm/EvmRules.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import { maxFeeOf } from "../../../domain/transaction/evm/Fees.ts"
import { givenFees } from "../../../domain/transaction/evm/Offer.ts"
import { ReplaceEvmTransaction, SendEvmTransaction } from "../../../domain/transaction/evm/SendEvmTransaction.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { TransactionConflict } from "../../../domain/transaction/Rules.ts"
import { TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { codeOf } from "../../chains/evm/EvmCalls.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import { isNewestOf } from "../Intake.ts"
import type { Admitted, Intake } from "../Intake.ts"
import * as Checks from "./Checks.ts"
import * as EvmSimulation from "./EvmSimulation.ts"
import * as RelayerNodes from "./RelayerNodes.ts"

interface Allowance {
  readonly limits: NetworkLimits | undefined
  readonly prefix: string
}

/** How long an admission waits for the code of an account. The lane looks at it again before the first signature. */
const codePatience = "3 seconds"

/** If the gas is estimated or the market decides the price, the fees are counted when the transaction is signed. */
const feeOf = (request: Request, target: EvmTarget): bigint => {
  const given = givenFees(request)
  const price = given === undefined ? evmTermsOf(target).cap : maxFeeOf(given)
  return request.gas_limit === undefined || price === undefined ? 0n : request.gas_limit * price
}

const isNewest = isNewestOf(evmRules.request)

export const make = Effect.gen(function* () {
  const simulate = yield* EvmSimulation.make
  const nodes = yield* RelayerNodes.make
  const outboundWork = yield* OutboundWork

  /** Only data for the own address makes a difference. `0x` if no provider says so in time. */
  const codeFor = Effect.fnUntraced(function* (body: SendEvmTransaction, { relayer, network }: EvmTarget) {
    if (!isOwnCall(body, relayer.address)) return "0x"
    const ask = nodes.first(relayer.id, network.chain_id, (node) => node.call(codeOf(relayer.address)))
    return yield* outboundWork.run(Effect.timeoutOption(ask, codePatience)).pipe(
      Effect.map((code) => Option.getOrElse(code, () => "0x")),
      Effect.orElseSucceed(() => "0x")
    )
  })

  const check = Effect.fnUntraced(function* (
    body: SendEvmTransaction,
    target: EvmTarget,
    { limits, prefix }: Allowance
  ) {
    const found = yield* Checks.violations(body, target)
    const own = Checks.ownCallViolation(body, target, limits, yield* codeFor(body, target))
    const all = found.length > 0 || own === undefined ? found : [own]
    if (all.length > 0) {
      return yield* BadRequest.of(all.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))
    }
    const limit = Checks.limitViolation(body, limits)
    if (limit !== undefined) return yield* TransactionLimitExceeded.of(limit, prefix)
    if (evmTermsOf(target).isPrivate) {
      return yield* new TransactionConflict({
        error: "the relayer's policy asks for private transactions, which are not supported yet"
      })
    }
  })

  const intake: Intake<Evm> = {
    rules: evmRules,
    body: SendEvmTransaction,
    replacement: ReplaceEvmTransaction,
    namesOf: ({ external_id }) => Effect.succeed(present("externalId", external_id)),
    admit: Effect.fnUntraced(function* (body, { target }, { now, ...allowance }) {
      yield* check(body, target, allowance)
      const request = Checks.requestOf(body)
      const { not_before, nonce, external_id, priority = 0 } = body
      const admitted: Admitted<Evm> = {
        request,
        facts: {},
        validUntil: deadlineOf(body, now),
        priority,
        ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
        ...(nonce === undefined ? {} : { requiredSequence: BigInt(nonce) }),
        ...(external_id === undefined ? {} : { externalId: external_id }),
        fee: feeOf(request, target)
      }
      return admitted
    }),
    admitReplacement: Effect.fnUntraced(function* (replacement, { target }, allowance) {
      yield* check(replacement, target, allowance)
      const { valid_until } = replacement
      return {
        request: Checks.requestOf(replacement),
        ...(valid_until === undefined ? {} : { validUntil: DateTime.toEpochMillis(valid_until) })
      }
    }),
    isNewest: (replacement, transaction) =>
      isNewest(transaction, Checks.requestOf(replacement), replacement.valid_until),
    simulate
  }
  return intake
})
