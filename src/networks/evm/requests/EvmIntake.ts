// The intake of evm: decodes, checks and simulates what callers want to send from relayers of evm networks.
import { DateTime, Effect, Option, Schema } from "effect"
import { CheckedEvmAddress } from "../../../domain/chain/Amount.ts"
import { contractCreation } from "../../../domain/relayer/Policy.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import type { Account } from "../../../server/ledger/LedgerEntries.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { isNewestOf } from "../../../server/transactions/Intake.ts"
import type { Admitted, Intake, Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import { TransactionConflict } from "../../core/Rules.ts"
import { exceeded, TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Route, Transaction } from "../../core/Transaction.ts"
import type { Speed } from "../../core/TransactionValues.ts"
import { balanceOf, blockAt, codeOf, nodeEstimate } from "../chain/EvmCalls.ts"
import type { CallFields, NodeEstimate } from "../chain/EvmCalls.ts"
import { listedEstimateOf } from "../chain/EvmEstimates.ts"
import { readDataFee } from "../chain/EvmMarkets.ts"
import { EvmNodes } from "../chain/EvmNodes.ts"
import {
  checksumFault,
  deadlineOf,
  evmTermsOf,
  isOwnCall,
  limitedOwnCall,
  ownCodeCall,
  noPrivateRpc,
  policyViolationsOf,
  privateViolation,
  routeOf,
  violationsOf
} from "../rules/Admission.ts"
import type { Admission } from "../rules/Admission.ts"
import { noDelegate } from "../rules/Authorizations.ts"
import { limitFaults, wireOf } from "../rules/Batch.ts"
import {
  chargesOf,
  costOf,
  estimateAboveLimit,
  estimatedLimitOf,
  gasCapsOf,
  givenFees,
  isEstimated,
  noopReserve,
  priceType,
  shortageOf,
  speedOf
} from "../rules/Costs.ts"
import type { SignedAuthorization } from "../rules/Authorizations.ts"
import { delegatedIn } from "../rules/Delegation.ts"
import { isEstimatedPrivately, requestOfBody } from "../rules/Evm.ts"
import type { Estimate, Evm, EvmTarget, EvmTerms, Head, Request, SignedBody } from "../rules/Evm.ts"
import { transactionGas } from "../rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../rules/EvmNumbers.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { ReplaceEvmTransaction, SendEvmTransaction } from "../rules/EvmSchemas.ts"
import type { Simulation } from "../rules/EvmSchemas.ts"
import { atMost, floorOf, marketFor, maxFeeOf, operatorFeeAt, priceOf } from "../rules/Market.ts"
import type { Fees, Market } from "../rules/Market.ts"
import { makeAuthorizations, withSigners } from "./EvmAuthorizations.ts"
import { makeRecords } from "./EvmRecords.ts"
import { evmSenderOf, makeRelayerNodes } from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"
import { makeEvmTransfers } from "./EvmTransfers.ts"

// Checks of a request against its relayer, its network and its API key, and what is stored of it.

const isAddress = Schema.is(CheckedEvmAddress)

/** A wrong checksum is reported with what else is wrong with the body. */
const faultsOf = ({ to }: Readonly<Record<string, unknown>>) =>
  Effect.succeed(isAddress(to) ? [checksumFault(to)].filter((fault) => fault !== undefined) : [])

/** A body whose authorizations have their signers. */
type Body = SignedBody<SendEvmTransaction>

/** The body with the signers of its authorizations. A `prefix` stands before the fields in errors. */
const signedBody = <B extends SendEvmTransaction | ReplaceEvmTransaction>(
  body: B,
  prefix = ""
): Effect.Effect<SignedBody<B>, BadRequest> => {
  const { authorization_list: list, ...others } = body
  return list === undefined
    ? Effect.succeed(others)
    : Effect.map(withSigners(list, prefix), (signed) => ({ ...others, authorization_list: signed }))
}

/** The route of a transaction is its own: a replacement is not compared with what the policy says of later sends. */
type OwnRoute = Pick<Transaction<Evm>, "route">

const termsFor = (target: EvmTarget, own: OwnRoute | undefined): EvmTerms => {
  const terms = evmTermsOf(target)
  return own === undefined ? terms : { ...terms, isPrivate: own.route?.kind === "private" }
}

const admissionOf = (target: EvmTarget, own?: OwnRoute) =>
  Effect.map(DateTime.now, (now): Admission => ({ now: DateTime.toEpochMillis(now), terms: termsFor(target, own) }))

/** Everything that is wrong with the request itself. Empty: it is admitted. `own`: of the transaction that it replaces. */
const requestViolations = (body: Body, target: EvmTarget, own?: OwnRoute) =>
  Effect.map(admissionOf(target, own), (admission) => violationsOf(body, admission))

/** What limits of the API key, or code of the account, forbid about data for the own address. */
const ownCallViolation = (
  body: Body,
  { relayer: { address } }: EvmTarget,
  limits: NetworkLimits | undefined,
  code: string
): Violation | undefined =>
  limitedOwnCall(body, address, limits) ?? (code !== "0x" && isOwnCall(body, address) ? ownCodeCall : undefined)

/** Those of `violations` that only the relayer's policy forbids. */
export const policyViolations = Effect.fnUntraced(function* (given: SendEvmTransaction, target: EvmTarget) {
  const body = yield* signedBody(given)
  return policyViolationsOf(body, yield* admissionOf(target))
})

/** What the limits of the API key do not allow. Fees per day are summed by the ledger. */
const limitViolation = ({ value, to, data, calls }: Body, limits: NetworkLimits | undefined): Violation | undefined => {
  if (limits !== undefined && calls !== undefined) return limitFaults(calls, limits)[0]
  const receivers = [{ field: "to", address: to ?? contractCreation }]
  return limits === undefined ? undefined : exceeded("evm", { value, receivers, call: { to, data } }, limits)
}

// The figures of a simulation, from what a provider and the ledger say. Pure.

/** What the relayer's policy and its network decide. */
export interface SimulationRules extends EvmTarget {
  readonly numbers: Pick<NetworkNumbers, "transactionGasCap">
}

/** What the provider and the ledger say now. */
export interface SimulationView {
  readonly head: Pick<Head, "gasLimit">
  readonly market: Market
  readonly estimate: Estimate
  /** As in `Seen`. */
  readonly dataFee?: bigint
  readonly noopDataFee?: bigint
  /** Wei. */
  readonly balance: bigint
  /** Wei that the open transactions of the account can cost. */
  readonly reserved: bigint
}

const feeFields = (fees: Fees) =>
  fees.type === "legacy"
    ? { gas_price: fees.gasPrice }
    : { max_fee_per_gas: fees.maxFee, max_priority_fee_per_gas: fees.tip }

const gasOf = (
  request: Request,
  { numbers }: SimulationRules,
  { estimate, head }: SimulationView
): bigint | undefined =>
  request.gas_limit ?? (estimate._tag === "Gas" ? estimatedLimitOf(estimate.gas, gasCapsOf(head, numbers)) : undefined)

const revertFields = (estimate: Estimate) => {
  if (estimate._tag === "Gas") return { would_revert: false, gas_used: estimate.gas }
  if (estimate._tag !== "Reverts") return {}
  const { reason } = estimate
  return { would_revert: true, ...(reason === undefined ? {} : { revert_reason: reason }) }
}

const shortfall = (cost: bigint, rules: SimulationRules, known: SimulationView): Violation | undefined => {
  const { balance, reserved, market, noopDataFee } = known
  const { minBalance } = evmTermsOf(rules)
  const budget = {
    balance,
    reserved,
    minBalance,
    reserve: noopReserve(market, { noopGas: transactionGas, ...(noopDataFee === undefined ? {} : { noopDataFee }) })
  }
  return shortageOf(cost, budget) === undefined
    ? undefined
    : {
        field: "balance",
        message: `needs ${cost} wei; the account has ${balance} wei, of which other transactions reserve ${reserved}`
      }
}

const tooLow = (price: Fees, { market }: SimulationView): Violation | undefined => {
  const floor = floorOf(market)
  return maxFeeOf(price) < floor
    ? { field: "fees", message: `offers ${maxFeeOf(price)} wei per gas; the next block requires at least ${floor}` }
    : undefined
}

const withoutGas = ({ estimate }: SimulationView, request: Request): Violation | undefined => {
  if (!isEstimated(request)) return undefined
  if (estimate._tag === "Refused") {
    return { field: "data", message: `the provider does not estimate the call: ${estimate.words}` }
  }
  if (estimate._tag === "Reverts") return { field: "data", message: "the call reverts now" }
  if (estimate._tag === "Unavailable") {
    return { field: "authorization_list", message: "the provider ignores authorizations when it estimates the call" }
  }
  const above = estimateAboveLimit(request, estimate)
  return above && { field: "gas_limit", message: `the call uses ${above.estimate} gas now` }
}

/** `violations` are the reasons for which a send would be refused whatever the chain says. */
export const simulationOf = (
  request: Request,
  rules: SimulationRules,
  known: SimulationView,
  violations: ReadonlyArray<Violation>
): Simulation => {
  const { market, balance, reserved, estimate, dataFee } = known
  const terms = evmTermsOf(rules)
  const type = priceType({ isEip1559: terms.isEip1559 }, request)
  const gas = gasOf(request, rules, known)
  const offer = (speed: Speed): Fees => atMost(priceOf(market, speed, type), terms.cap)
  const costAt = (fees: Fees) => costOf({ fees, ...chargesOf(gas ?? transactionGas, known) }, request.value)
  const shownAs = (fees: Fees) => ({
    ...feeFields(fees),
    max_cost: costAt(fees)
  })
  const price = givenFees(request) ?? offer(speedOf(request))
  const found = [
    ...violations,
    withoutGas(known, request),
    tooLow(price, known),
    gas === undefined ? undefined : shortfall(costAt(price), rules, known)
  ].filter((violation) => violation !== undefined)
  return {
    is_accepted: violations.length === 0,
    problems: found,
    ...revertFields(estimate),
    ...(gas === undefined
      ? {}
      : {
          gas_limit: Number(gas),
          price: shownAs(price),
          prices: {
            safeLow: shownAs(offer("safeLow")),
            average: shownAs(offer("average")),
            fast: shownAs(offer("fast")),
            fastest: shownAs(offer("fastest"))
          }
        }),
    ...(dataFee === undefined ? {} : { data_fee: dataFee }),
    ...(gas === undefined || market.operatorFee === undefined
      ? {}
      : { operator_fee: operatorFeeAt(market.operatorFee, gas) }),
    ...(market.baseFee === undefined ? {} : { base_fee: market.baseFee }),
    balance,
    reserved
  }
}

// Simulates a send: asks a provider what it would do and cost now, without storing or sending anything.

/** A simulation asks one provider: nothing depends on its answer. */
const toEstimate = (found: NodeEstimate): Estimate =>
  found._tag === "Reverts"
    ? { _tag: "Reverts", second: "not_configured", ...(found.reason === undefined ? {} : { reason: found.reason }) }
    : found

interface SimulationLimits {
  readonly limits: NetworkLimits | undefined
  readonly forbidden: Violation | undefined
}

const notDelegatedText =
  "not_delegated: calls need an executor, and the account of the relayer delegates to none; delegate it with POST /api/v1/relayers/{id}/delegation"

const notDelegated = new TransactionConflict({ error: notDelegatedText })

/** Whether the account delegates, or is about to. */
const makeMayBatch = Effect.gen(function* () {
  const { laneOf, openOf } = yield* makeRecords

  return Effect.fnUntraced(function* (account: Account) {
    const lane = yield* laneOf(account)
    if (lane !== undefined && delegatedIn(lane) !== undefined) return true
    const open = yield* openOf(account)
    return open !== undefined && newestRequest(open.transaction).delegate !== noDelegate
  })
})

/** What a call needs, with its authorizations if it has some. */
const estimateAt = (node: RpcNode, { authorization_list: list, ...call }: SimulatedCall) =>
  list === undefined ? nodeEstimate(node, call) : listedEstimateOf(node, { ...call, authorization_list: list })

interface SimulatedCall extends Omit<CallFields, "authorization_list"> {
  readonly authorization_list?: ReadonlyArray<SignedAuthorization>
}

const makeSimulation = Effect.gen(function* () {
  const nodes = yield* makeRelayerNodes
  const { markets } = yield* EvmNodes
  const ledger = yield* Ledger
  const outboundWork = yield* OutboundWork
  const mayBatch = yield* makeMayBatch
  const judge = yield* makeAuthorizations(nodes)

  /** Only private providers may see the call. */
  const estimatePrivately = ({ relayer, numbers }: EvmSender, call: SimulatedCall) =>
    Effect.orElseSucceed(
      nodes.firstPrivate(relayer.id, numbers.chainId, (node) => estimateAt(node, call)),
      (): NodeEstimate => ({ _tag: "Refused", words: "no private provider answers" })
    )

  const askNode = Effect.fnUntraced(function* (node: RpcNode, body: Body, sender: EvmSender) {
    const { relayer, numbers } = sender
    const route = routeOf(body, evmTermsOf(sender))
    const call = { from: relayer.address, ...wireOf(requestOfBody(body), relayer.address) }
    const [head, balance, estimate, dataFee, noopDataFee, code] = yield* Effect.all(
      [
        node.call(blockAt("latest")),
        node.call(balanceOf(relayer.address)),
        route !== undefined && isEstimatedPrivately({ route })
          ? estimatePrivately(sender, call)
          : estimateAt(node, call),
        readDataFee(node, numbers, call, undefined, route !== undefined),
        readDataFee(node, numbers, { to: relayer.address, value: 0n }),
        isOwnCall(body, relayer.address) ? node.call(codeOf(relayer.address)) : Effect.succeed("0x")
      ],
      { concurrency: "unbounded" }
    )
    if (head === null) return yield* rpcFailure("invalid_answer").of("eth_getBlockByNumber")
    const found = yield* markets.at({ node, head }, numbers)
    const market = marketFor(found, evmTermsOf(sender))
    return {
      head,
      balance,
      code,
      estimate: toEstimate(estimate),
      market,
      ...(dataFee === undefined ? {} : { dataFee }),
      ...(noopDataFee === undefined ? {} : { noopDataFee })
    }
  })

  return Effect.fn("EvmIntake.simulate")(function* (
    given: SendEvmTransaction,
    { target, account }: Sender<Evm>,
    { limits, forbidden }: SimulationLimits
  ) {
    const body = yield* signedBody(given)
    const sender = evmSenderOf(target, account)
    const reserved = yield* ledger.reserved(account)
    const ask = nodes.first(account.relayerId, sender.numbers.chainId, (node) => askNode(node, body, sender))
    const { code, ...known } = yield* outboundWork.run(ask)
    const limit = forbidden ?? limitViolation(body, limits)
    const own = ownCallViolation(body, target, limits, code)
    const terms = evmTermsOf(target)
    const undelegated =
      body.calls === undefined || (yield* mayBatch(account)) ? undefined : { field: "calls", message: notDelegatedText }
    const found = [limit, own, undelegated, privateViolation(body, terms)].filter((one) => one !== undefined)
    const { authorization_list: list } = body
    const listed = list === undefined ? [] : (yield* judge(list, target)).violations
    const violations = [...(yield* requestViolations(body, target)), ...listed, ...found]
    return simulationOf(requestOfBody(body), sender, { ...known, reserved }, violations)
  })
})

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

/** Equal entries have equal signers: those of the stored list serve for the comparison. A replacement without a list keeps it. */
const comparedWith = (replacement: ReplaceEvmTransaction, transaction: Transaction<Evm>): Request => {
  const { authorization_list: list, ...others } = replacement
  const stored = newestRequest(transaction).authorization_list
  const request = requestOfBody(others)
  if (list === undefined) return { ...request, ...present("authorization_list", stored) }
  const signed = list.map((entry, index) => {
    const known = stored?.[index]
    const isSame = known !== undefined && known.r === entry.r && known.s === entry.s
    return {
      ...entry,
      authority: isSame ? known.authority : "",
      ...(isSame ? present("isWithoutCode", known.isWithoutCode) : {})
    }
  })
  return requestOfBody({ ...others, authorization_list: signed })
}

export const make = Effect.gen(function* () {
  const simulate = yield* makeSimulation
  const mayBatch = yield* makeMayBatch
  const nodes = yield* makeRelayerNodes
  const outboundWork = yield* OutboundWork
  const judge = yield* makeAuthorizations(nodes)

  /** Only data for the own address makes a difference. `0x` if no provider says so in time. */
  const codeFor = Effect.fnUntraced(function* (body: Body, { relayer, network }: EvmTarget) {
    if (!isOwnCall(body, relayer.address)) return "0x"
    const ask = nodes.first(relayer.id, network.chain_id, (node) => node.call(codeOf(relayer.address)))
    return yield* outboundWork.run(Effect.timeoutOption(ask, codePatience)).pipe(
      Effect.map((code) => Option.getOrElse(code, () => "0x")),
      Effect.orElseSucceed(() => "0x")
    )
  })

  /** The body with what the chain says of its authorizations. `replaced`: the transaction that it is a new version of. */
  const check = Effect.fnUntraced(function* (
    body: Body,
    target: EvmTarget,
    { limits, prefix }: Allowance,
    replaced?: Transaction<Evm>
  ) {
    const refuse = (violations: ReadonlyArray<Violation>) =>
      BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))
    const found = yield* requestViolations(body, target, replaced)
    const own = ownCallViolation(body, target, limits, yield* codeFor(body, target))
    const all = found.length > 0 || own === undefined ? found : [own]
    if (all.length > 0) return yield* refuse(all)
    const limit = limitViolation(body, limits)
    if (limit !== undefined) return yield* TransactionLimitExceeded.of(limit, prefix)
    if (body.authorization_list === undefined) return body
    // The chain is asked about nothing that is refused anyway.
    const { violations, list } = yield* judge(body.authorization_list, target)
    return violations.length > 0 ? yield* refuse(violations) : { ...body, authorization_list: list }
  })

  /** Without a private URL nobody could get the bytes. */
  const checkRoute = (route: Route | undefined, { hasPrivateProviders }: EvmTerms) =>
    route === undefined || hasPrivateProviders
      ? Effect.void
      : Effect.fail(new TransactionConflict({ error: `no_private_rpc: ${noPrivateRpc}` }))

  /** Calls without an executor would be a call of the account to itself that does nothing. */
  const checkDelegated = Effect.fnUntraced(function* ({ calls }: Pick<SendEvmTransaction, "calls">, account: Account) {
    if (calls !== undefined && !(yield* mayBatch(account))) return yield* notDelegated
  })

  const intake: Intake<Evm> = {
    rules: evmRules,
    body: SendEvmTransaction,
    replacement: ReplaceEvmTransaction,
    faultsOf,
    namesOf: ({ external_id }) => Effect.succeed(present("externalId", external_id)),
    admit: Effect.fnUntraced(function* (given, { account, target }, { now, ...allowance }) {
      const signed = yield* signedBody(given, allowance.prefix)
      const body = yield* check(signed, target, allowance)
      const terms = evmTermsOf(target)
      yield* checkDelegated(body, account)
      const route = routeOf(body, terms)
      yield* checkRoute(route, terms)
      const request = requestOfBody(body)
      const { not_before, nonce, external_id, priority = 0 } = body
      const admitted: Admitted<Evm> = {
        request,
        facts: {},
        validUntil: deadlineOf(body, terms, now),
        ...present("route", route),
        priority,
        ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
        ...(nonce === undefined ? {} : { requiredSequence: BigInt(nonce) }),
        ...(external_id === undefined ? {} : { externalId: external_id }),
        fee: feeOf(request, target)
      }
      return admitted
    }),
    admitReplacement: Effect.fnUntraced(function* (replacement, { target }, { transaction, ...allowance }) {
      const given = yield* signedBody(replacement, allowance.prefix)
      // What is kept has to be allowed as if it came now.
      const kept = present("authorization_list", newestRequest(transaction).authorization_list)
      const body = yield* check({ ...kept, ...given }, target, allowance, transaction)
      const { valid_until } = replacement
      return {
        request: requestOfBody(body),
        ...(valid_until === undefined ? {} : { validUntil: DateTime.toEpochMillis(valid_until) })
      }
    }),
    isNewest: (replacement, transaction) =>
      isNewest(transaction, comparedWith(replacement, transaction), replacement.valid_until),
    simulate,
    transfers: makeEvmTransfers(simulate)
  }
  return intake
})
