// Checks of what callers send, by policy, network and time: bodies of the API, transaction objects of wallets, methods of nodes.
// The first ones are repeated before a signature.
import { Effect, Predicate, Schema } from "effect"
import { addressFault } from "../../../domain/chain/MistypedAddresses.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { contractCreation } from "../../../domain/relayer/Policy.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { invalidParams } from "../../core/NodeCall.ts"
import type { RpcError } from "../../core/NodeCall.ts"
import { present } from "../../core/Presentation.ts"
import { includes, isCallListed } from "../../core/TransactionLimits.ts"
import type { NetworkLimits } from "../../core/TransactionLimits.ts"
import type { Route } from "../../core/Transaction.ts"
import { timing } from "../../core/TransactionRequests.ts"
import { defaultValidity } from "../../core/TransactionValues.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { delegateViolations, isAuthority, listViolations } from "./AuthorizationRules.ts"
import { batchFaults, policyFaults, wireOf } from "./Batch.ts"
import { byteLength, gasCallOf, givenFees, minimumGas } from "./Costs.ts"
import type { EvmTarget, EvmTerms, Request, SignedBody } from "./Evm.ts"
import { initCode, networkNumbers, privateValidity } from "./EvmNumbers.ts"
import { SendEvmTransaction } from "./EvmSchemas.ts"
import { maxFeeOf } from "./Market.ts"

// Rules that compare fields with each other. They are no part of the schema, so that all that is wrong with a request is reported
// at once, a field each.
type FieldRule = (request: Fields) => Violation | undefined

/** Whether the entries of a list have their signers makes no difference to these rules. */
type Fields = Omit<SendEvmTransaction, "authorization_list"> & {
  readonly authorization_list?: ReadonlyArray<unknown> | undefined
}

const violation = (field: string, message: string): Violation => ({ field, message })

const hasEffect: FieldRule = ({ to, data, calls }) =>
  to === undefined && data === undefined && calls === undefined
    ? violation("to", "is required unless data or calls is given")
    : undefined

const oneKindOfPrice: FieldRule = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas, speed }) => {
  const isDynamic = max_fee_per_gas !== undefined || max_priority_fee_per_gas !== undefined
  if (gas_price !== undefined && isDynamic) {
    return violation("gas_price", "cannot be given together with EIP-1559 fees")
  }
  return speed !== undefined && (isDynamic || gas_price !== undefined)
    ? violation("speed", "cannot be given together with fees")
    : undefined
}

const bothDynamicFees: FieldRule = ({ max_fee_per_gas, max_priority_fee_per_gas }) => {
  if (max_fee_per_gas === undefined && max_priority_fee_per_gas === undefined) return undefined
  if (max_fee_per_gas === undefined) return violation("max_fee_per_gas", "is required with max_priority_fee_per_gas")
  if (max_priority_fee_per_gas === undefined) {
    return violation("max_priority_fee_per_gas", "is required with max_fee_per_gas")
  }
  return max_priority_fee_per_gas > max_fee_per_gas
    ? violation("max_priority_fee_per_gas", "must be at most max_fee_per_gas")
    : undefined
}

/** Any account: its address has no influence on the gas. */
const anyAccount = `0x${"00".repeat(20)}`

const enoughGas: FieldRule = (request) => {
  const { authorization_list: list, gas_limit, simulate } = request
  if (gas_limit === undefined) {
    return simulate === false ? violation("gas_limit", "is required if simulate is false") : undefined
  }
  const least = minimumGas(gasCallOf(wireOf(request, anyAccount)))
  const what = list === undefined ? "this data" : "this data and these authorizations"
  return gas_limit < least ? violation("gas_limit", `must be at least ${least} for ${what}`) : undefined
}

const fieldRules: ReadonlyArray<FieldRule> = [hasEffect, oneKindOfPrice, bothDynamicFees, enoughGas]

export const inconsistenciesOf = (request: Fields): ReadonlyArray<Violation> =>
  fieldRules.flatMap((rule) => rule(request) ?? [])

export interface Admission {
  readonly now: Moment
  readonly terms: EvmTerms
}

/**
 * Whether it calls the account itself. Without code of the account the data does nothing. With code, such as that of an executor to
 * which an EIP-7702 authorization has delegated the account, the data can call anybody with any value.
 */
export const isOwnCall = ({ to, data = "0x" }: Pick<Request, "to" | "data">, address: string): boolean =>
  to !== undefined && data !== "0x" && includes("evm", [address], to)

/**
 * A list allows its entries, and the relayer's own address without data; the empty list allows only that. `authority` in it allows the accounts
 * of the authorizations of the request.
 */
export const isReceiverAllowed = (request: Request, { address, receivers }: EvmTerms): boolean =>
  receivers === undefined ||
  (request.calls === undefined
    ? isSingleAllowed(request, address, receivers)
    : policyFaults(request.calls, { receivers }).length === 0)

const isSingleAllowed = (request: Request, address: string, receivers: ReadonlyArray<string>): boolean =>
  !isOwnCall(request, address) &&
  (includes("evm", receivers, request.to ?? contractCreation) || isAuthority(request, receivers))

/** A list of selectors allows the calls in it, and a plain transfer to the relayer's own address. */
export const isCallAllowed = (request: Request, { address, selectors }: EvmTerms): boolean => {
  if (selectors === undefined) return true
  const { to, calls, data = "0x" } = request
  if (calls !== undefined) return policyFaults(calls, { selectors }).length === 0
  if (to !== undefined && includes("evm", [address], to)) return data === "0x"
  return isCallListed(selectors, request)
}

const ownCall = (why: string): Violation => ({
  field: "data",
  message: `cannot be sent to the relayer's own address ${why}: code of the account could call anybody with it`
})

/** The limits of an API key that data for the own address could pass. Undefined: it is no such call, or there are none. */
export const limitedOwnCall = (
  request: Pick<Request, "to" | "data">,
  address: string,
  limits: NetworkLimits = {}
): Violation | undefined => {
  const limit = (["receivers", "selectors", "max_value"] as const).find((name) => limits[name] !== undefined)
  return limit !== undefined && isOwnCall(request, address) ? ownCall(`by an API key with ${limit}`) : undefined
}

/** What is wrong with data for the own address of an account with code. */
export const ownCodeCall: Violation = {
  field: "data",
  message: "cannot be sent to the relayer's own address, because the account has code, which the data would call"
}

/** A body whose authorizations have their signers. */
type Body = SignedBody<SendEvmTransaction>

type Rule = (request: Body, admission: Admission) => Violation | undefined

/** A rule that can be asked again about what is stored of a request. */
type TermsRule = (request: Request, admission: Pick<Admission, "terms">) => Violation | undefined

/** What is wrong with an address in the field `to`. */
export const checksumFault = (to: string): Violation | undefined => {
  const message = addressFault("evm", to)
  return message === undefined ? undefined : { field: "to", message }
}

const callChecksums = ({ calls = [] }: SendEvmTransaction): ReadonlyArray<Violation> =>
  calls.flatMap(({ to }, index) => {
    const fault = checksumFault(to)
    return fault === undefined ? [] : [{ ...fault, field: `calls.${index}.to` }]
  })

const checksum: Rule = ({ to }) => (to === undefined ? undefined : checksumFault(to))

/** Each call of many is named by itself. */
const inCalls = ({ calls }: Request, { receivers, selectors }: Pick<EvmTerms, "receivers" | "selectors">) =>
  calls === undefined
    ? []
    : policyFaults(calls, { ...present("receivers", receivers), ...present("selectors", selectors) })

const receiver: TermsRule = (request, { terms }) => {
  if (request.calls !== undefined || isReceiverAllowed(request, terms)) return undefined
  return isOwnCall(request, terms.address)
    ? ownCall("of a relayer whose policy has whitelist_receivers")
    : isAuthority({ ...request, value: 0n }, terms.receivers ?? [])
      ? {
          field: "value",
          message: "must be 0 for an account that whitelist_receivers allows only by the word authority"
        }
      : { field: "to", message: "is not in whitelist_receivers of the relayer's policy" }
}

const called: TermsRule = (request, { terms }) => {
  if (request.calls !== undefined || isCallAllowed(request, terms)) return undefined
  return isOwnCall(request, terms.address)
    ? ownCall("of a relayer whose policy has whitelist_selectors")
    : { field: "data", message: "calls nothing that is in whitelist_selectors of the relayer's policy" }
}

const gasLimit: TermsRule = ({ gas_limit }, { terms }) => {
  const cap = terms.network.transactionGasCap
  if (gas_limit === undefined) {
    return !terms.estimatesGas
      ? { field: "gas_limit", message: "is required because the relayer's policy turns estimates off" }
      : undefined
  }
  return cap !== undefined && gas_limit > cap
    ? { field: "gas_limit", message: `must be at most ${cap} on this network (EIP-7825)` }
    : undefined
}

const priceType: Rule = (request, { terms }) =>
  givenFees(request)?.type === "eip1559" && !terms.network.isEip1559
    ? { field: "max_fee_per_gas", message: "cannot be used because the network does not support EIP-1559 fees" }
    : undefined

const priceCap: TermsRule = (request, { terms: { cap } }) => {
  const given = givenFees(request)
  if (given === undefined || cap === undefined || maxFeeOf(given) <= cap) return undefined
  const field = given.type === "legacy" ? "gas_price" : "max_fee_per_gas"
  return { field, message: `must be at most ${cap}, the gas_price_cap of the relayer` }
}

/** Whether only private providers are to get it: what the request says, else the policy. */
const isPrivateSend = (
  { private: wanted }: Pick<SendEvmTransaction, "private">,
  { isPrivate }: Pick<EvmTerms, "isPrivate">
): boolean => wanted ?? isPrivate

/** Policy changes touch later sends only: the route is a fact of the transaction. Undefined: it is public. */
export const routeOf = (request: Pick<SendEvmTransaction, "private">, terms: EvmTerms): Route | undefined => {
  if (!isPrivateSend(request, terms)) return undefined
  const { estimatesPrivately, fallbackAfter } = terms
  return {
    kind: "private",
    ...present("fallbackAfter", fallbackAfter),
    ...(estimatesPrivately ? {} : { estimates: "normal" })
  }
}

/** Without a private URL nobody could get the bytes. */
export const noPrivateRpc =
  "neither custom_private_rpc_urls of the relayer nor private_rpc_urls of its network names a URL with a weight above 0"

/** Why nothing private would be accepted now. Undefined: the request is public, or there is a private URL. */
export const privateViolation = (
  request: Pick<SendEvmTransaction, "private">,
  terms: Pick<EvmTerms, "isPrivate" | "hasPrivateProviders">
): Violation | undefined =>
  isPrivateSend(request, terms) && !terms.hasPrivateProviders
    ? { field: "private", message: `no_private_rpc: ${noPrivateRpc}` }
    : undefined

const route: Rule = (request, { terms }) =>
  request.private === false && terms.isPrivate
    ? { field: "private", message: "cannot be false, because the relayer's policy asks for private transactions" }
    : undefined

/** Private providers include nothing without a tip. `private` is absent of a stored request: the terms say it. */
const privateTip = (
  request: Request & Pick<SendEvmTransaction, "private">,
  { terms }: Pick<Admission, "terms">
): Violation | undefined =>
  isPrivateSend(request, terms) && request.max_priority_fee_per_gas === 0n
    ? { field: "max_priority_fee_per_gas", message: "must be at least 1 for a private transaction" }
    : undefined

const creation: Rule = ({ to, data = "0x", calls }) =>
  to === undefined && calls === undefined && byteLength(data) > initCode.maxBytes
    ? { field: "data", message: `must be at most ${initCode.maxBytes} bytes of init code (EIP-3860)` }
    : undefined

/** A send without `valid_until` ends eight hours after it may begin. */
const times = timing(defaultValidity)

/** A private one ends after an hour: while nobody includes it, it holds its lane. */
const privateTimes = timing(privateValidity)

type Ending = Pick<SendEvmTransaction, "valid_until" | "not_before" | "private">

export const deadlineOf = (request: Ending, terms: EvmTerms, now: Moment): Moment =>
  (isPrivateSend(request, terms) ? privateTimes : times).deadlineOf(request, now)

/** What the relayer's policy forbids, however valid the request is. */
const policyRules: ReadonlyArray<TermsRule> = [receiver, called, priceCap]

const rules: ReadonlyArray<Rule> = [
  checksum,
  gasLimit,
  priceType,
  creation,
  route,
  privateTip,
  times.deadline,
  (request, admission) =>
    (isPrivateSend(request, admission.terms) ? privateTimes : times).beginning(request, admission),
  ...policyRules
]

export const policyViolationsOf = (request: Body, admission: Admission): ReadonlyArray<Violation> => [
  ...policyRules.flatMap((rule) => rule(request, admission) ?? []),
  ...inCalls(request, admission.terms),
  ...delegateViolations(request, admission.terms)
]

/** What admission would say about a stored request under these terms, whatever the time is. */
export const storedViolationsOf = (request: Request, terms: EvmTerms): ReadonlyArray<Violation> => [
  ...[gasLimit, privateTip, ...policyRules].flatMap((rule) => rule(request, { terms }) ?? []),
  ...inCalls(request, terms),
  ...delegateViolations(request, terms)
]

/** Everything that is wrong with a request that was decoded, a field each. Empty: it is admitted. */
export const violationsOf = (request: Body, admission: Admission): ReadonlyArray<Violation> => {
  const list = listViolations(request, admission.terms)
  const isReceiverNamed = !list.some(({ field }) => field === "to")
  return [
    ...inconsistenciesOf(request).filter(({ field }) => field !== "to" || isReceiverNamed),
    ...batchFaults(request, admission.terms.address),
    ...rules.flatMap((rule) => rule(request, admission) ?? []),
    ...callChecksums(request),
    ...inCalls(request, admission.terms),
    ...list,
    ...delegateViolations(request, admission.terms)
  ]
}

// What the policy of an evm relayer and its network mean for its transactions. Admission, lanes and simulation read the policy
// only here.

export const evmTermsOf = ({ relayer, network }: EvmTarget): EvmTerms => {
  const { address, custom_private_rpc_urls: own, policies = {} } = relayer
  const numbers = networkNumbers(network)
  const {
    allowed_delegates,
    gas_price_cap,
    private_fallback_after_seconds: fallback,
    whitelist_receivers,
    whitelist_selectors
  } = policies
  return {
    address,
    ...(gas_price_cap === undefined ? {} : { cap: gas_price_cap }),
    minBalance: minBalanceOf("evm", policies),
    isEip1559: policies.eip1559_pricing ?? numbers.isEip1559,
    estimatesGas: policies.gas_limit_estimation !== false,
    isPrivate: policies.private_transactions === true,
    ...(fallback === undefined ? {} : { fallbackAfter: fallback * 1000 }),
    estimatesPrivately: policies.private_estimates !== "normal",
    hasPrivateProviders: (own ?? network.private_rpc_urls ?? []).some(({ weight }) => weight > 0),
    wantsRevertReason: policies.include_revert_data === true,
    ...(whitelist_receivers === undefined ? {} : { receivers: [...whitelist_receivers, address] }),
    ...present("selectors", whitelist_selectors),
    ...present("delegates", allowed_delegates),
    network: numbers
  }
}

// The transaction object of `eth_sendTransaction`, read as the body of a send.

/** The account that sends. The address is compared in lower case. */
export interface WalletAccount {
  readonly address: string
  readonly chainId: number
}

type WalletMembers = ReadonlyMap<string, unknown>

/** Fields of a body by the fields that nodes know. */
const walletNames: ReadonlyMap<string, string> = new Map([
  ["to", "to"],
  ["value", "value"],
  ["gas", "gas_limit"],
  ["gasPrice", "gas_price"],
  ["maxFeePerGas", "max_fee_per_gas"],
  ["maxPriorityFeePerGas", "max_priority_fee_per_gas"],
  ["nonce", "nonce"],
  ["authorizationList", "authorization_list"]
])

const walletFees: ReadonlyArray<string> = ["maxFeePerGas", "maxPriorityFeePerGas"]

const walletQuantity = /^0x[0-9a-f]{1,64}$/i

/** Undefined: not a quantity. */
const numberOf = (value: unknown): number | undefined => {
  if (Predicate.isNumber(value)) return value
  return Predicate.isString(value) && walletQuantity.test(value) ? Number(BigInt(value)) : undefined
}

const lowerCase = (value: unknown): unknown => (Predicate.isString(value) ? value.toLowerCase() : value)

type WalletRule = (given: WalletMembers, account: WalletAccount) => Violation | undefined

const senderRule: WalletRule = (given, { address }) =>
  given.has("from") && lowerCase(given.get("from")) !== address.toLowerCase()
    ? { field: "from", message: `must be ${address}, the account of the relayer` }
    : undefined

const chainRule: WalletRule = (given, { chainId }) =>
  given.has("chainId") && numberOf(given.get("chainId")) !== chainId
    ? { field: "chainId", message: `must be ${chainId}, the chain of the relayer's network` }
    : undefined

/** The relayer chooses the type if the fees leave it open. */
const typeRule: WalletRule = (given) => {
  if (!given.has("type")) return undefined
  const number = numberOf(given.get("type"))
  const isListed = given.has("authorizationList")
  if (number === 2 || number === 4) {
    if ((number === 4) !== isListed) {
      return isListed
        ? { field: "authorizationList", message: "does not belong to transactions of type 2" }
        : { field: "authorizationList", message: "is required in transactions of type 4" }
    }
    return given.has("gasPrice")
      ? { field: "gasPrice", message: `does not belong to transactions of type ${number}` }
      : undefined
  }
  if (number !== 0 && number !== 1) return { field: "type", message: "must be 0x0, 0x1, 0x2 or 0x4" }
  if (isListed) return { field: "authorizationList", message: `does not belong to transactions of type ${number}` }
  const field = walletFees.find((name) => given.has(name))
  return field === undefined ? undefined : { field, message: `does not belong to transactions of type ${number}` }
}

const accessListRule: WalletRule = (given) => {
  const list = given.get("accessList")
  return list === undefined || (Array.isArray(list) && list.length === 0)
    ? undefined
    : { field: "accessList", message: "is not supported; leave it out" }
}

const dataRule: WalletRule = (given) =>
  given.has("data") && given.has("input") && lowerCase(given.get("data")) !== lowerCase(given.get("input"))
    ? { field: "input", message: "differs from data; give one of them" }
    : undefined

const knownMembers = new Set([...walletNames.keys(), "data", "input", "from", "chainId", "type", "accessList"])

const unknownMembers = (given: WalletMembers): ReadonlyArray<Violation> =>
  [...given.keys()]
    .filter((name) => !knownMembers.has(name))
    .map((name) => ({ field: name.slice(0, 64).replace(/\p{C}/gu, "?"), message: "is not supported" }))

const walletRules: ReadonlyArray<WalletRule> = [senderRule, chainRule, typeRule, accessListRule, dataRule]

const bodyOfWallet = (given: WalletMembers): Record<string, unknown> => {
  const body: Record<string, unknown> = {}
  for (const [name, field] of walletNames) if (given.has(name)) body[field] = given.get(name)
  if (given.has("nonce")) body["nonce"] = numberOf(given.get("nonce")) ?? given.get("nonce")
  const input = given.get("input") ?? given.get("data")
  return input === undefined ? body : { ...body, data: input }
}

/** Errors name the fields as the client wrote them. */
export const withNodeNames = (error: string): string => {
  let text = error
  for (const [name, field] of walletNames)
    if (name !== field) text = text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), name)
  return text
}

const decodeSend = Schema.decodeUnknownEffect(SendEvmTransaction, { errors: "all" })

/** `null` counts as absent. */
export const readWalletTransaction = Effect.fnUntraced(function* (
  value: unknown,
  account: WalletAccount
): Effect.fn.Return<SendEvmTransaction, RpcError> {
  if (!Predicate.isReadonlyObject(value)) return yield* invalidParams("params.0: must be a transaction object")
  const given = new Map(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))
  const found = [...unknownMembers(given), ...walletRules.flatMap((rule) => rule(given, account) ?? [])]
  if (found.length > 0) return yield* invalidParams(BadRequest.of(found).error ?? "")
  return yield* Effect.mapError(decodeSend(bodyOfWallet(given)), ({ issue }) =>
    invalidParams(withNodeNames(BadRequest.fromIssue(issue, "params.0").error ?? ""))
  )
})

// Methods that callers may send to the providers of an evm network.

/** Methods that read, estimate or call, and change nothing. They are passed on if the network sets no `rpc_methods`. */
export const readingMethods: ReadonlySet<string> = new Set([
  "eth_accounts",
  "eth_blobBaseFee",
  "eth_blockNumber",
  "eth_call",
  "eth_chainId",
  "eth_createAccessList",
  "eth_estimateGas",
  "eth_feeHistory",
  "eth_gasPrice",
  "eth_getBalance",
  "eth_getBlockByHash",
  "eth_getBlockByNumber",
  "eth_getBlockReceipts",
  "eth_getBlockTransactionCountByHash",
  "eth_getBlockTransactionCountByNumber",
  "eth_getCode",
  "eth_getLogs",
  "eth_getProof",
  "eth_getStorageAt",
  "eth_getTransactionByBlockHashAndIndex",
  "eth_getTransactionByBlockNumberAndIndex",
  "eth_getTransactionByHash",
  "eth_getTransactionCount",
  "eth_getTransactionReceipt",
  "eth_maxPriorityFeePerGas",
  "eth_protocolVersion",
  "eth_simulateV1",
  "eth_syncing",
  "net_listening",
  "net_peerCount",
  "net_version",
  "web3_clientVersion",
  "web3_sha3"
])
