// The transaction object of `eth_sendTransaction`, read as the body of a send.
import { Effect, Predicate, Schema } from "effect"
import { BadRequest } from "../../request/Request.ts"
import type { Violation } from "../../request/Request.ts"
import { invalidParams } from "../NodeCall.ts"
import type { RpcError } from "../NodeCall.ts"
import { SendEvmTransaction } from "./SendEvmTransaction.ts"

/** The account that sends. The address is compared in lower case. */
export interface Account {
  readonly address: string
  readonly chainId: number
}

type WalletMembers = ReadonlyMap<string, unknown>

/** Fields of a body by the fields that nodes know. */
const names: ReadonlyMap<string, string> = new Map([
  ["to", "to"],
  ["value", "value"],
  ["gas", "gas_limit"],
  ["gasPrice", "gas_price"],
  ["maxFeePerGas", "max_fee_per_gas"],
  ["maxPriorityFeePerGas", "max_priority_fee_per_gas"],
  ["nonce", "nonce"]
])

const fees: ReadonlyArray<string> = ["maxFeePerGas", "maxPriorityFeePerGas"]

const quantity = /^0x[0-9a-f]{1,64}$/i

/** Undefined: not a quantity. */
const numberOf = (value: unknown): number | undefined => {
  if (Predicate.isNumber(value)) return value
  return Predicate.isString(value) && quantity.test(value) ? Number(BigInt(value)) : undefined
}

const lower = (value: unknown): unknown => (Predicate.isString(value) ? value.toLowerCase() : value)

type Rule = (given: WalletMembers, account: Account) => Violation | undefined

const sender: Rule = (given, { address }) =>
  given.has("from") && lower(given.get("from")) !== address.toLowerCase()
    ? { field: "from", message: `must be ${address}, the account of the relayer` }
    : undefined

const chain: Rule = (given, { chainId }) =>
  given.has("chainId") && numberOf(given.get("chainId")) !== chainId
    ? { field: "chainId", message: `must be ${chainId}, the chain of the relayer's network` }
    : undefined

/** The relayer chooses the type if the fees leave it open. */
const type: Rule = (given) => {
  if (!given.has("type")) return undefined
  const number = numberOf(given.get("type"))
  if (number === 2) {
    return given.has("gasPrice")
      ? { field: "gasPrice", message: "does not belong to transactions of type 2" }
      : undefined
  }
  if (number !== 0 && number !== 1) return { field: "type", message: "must be 0x0, 0x1 or 0x2" }
  const field = fees.find((name) => given.has(name))
  return field === undefined ? undefined : { field, message: `does not belong to transactions of type ${number}` }
}

const accessList: Rule = (given) => {
  const list = given.get("accessList")
  return list === undefined || (Array.isArray(list) && list.length === 0)
    ? undefined
    : { field: "accessList", message: "is not supported; leave it out" }
}

const data: Rule = (given) =>
  given.has("data") && given.has("input") && lower(given.get("data")) !== lower(given.get("input"))
    ? { field: "input", message: "differs from data; give one of them" }
    : undefined

const known = new Set([...names.keys(), "data", "input", "from", "chainId", "type", "accessList"])

const unknown = (given: WalletMembers): ReadonlyArray<Violation> =>
  [...given.keys()]
    .filter((name) => !known.has(name))
    .map((name) => ({ field: name.slice(0, 64).replace(/\p{C}/gu, "?"), message: "is not supported" }))

const rules: ReadonlyArray<Rule> = [sender, chain, type, accessList, data]

const bodyOf = (given: WalletMembers): Record<string, unknown> => {
  const body: Record<string, unknown> = {}
  for (const [name, field] of names) if (given.has(name)) body[field] = given.get(name)
  if (given.has("nonce")) body["nonce"] = numberOf(given.get("nonce")) ?? given.get("nonce")
  const input = given.get("input") ?? given.get("data")
  return input === undefined ? body : { ...body, data: input }
}

/** Errors name the fields as the client wrote them. */
export const withNodeNames = (error: string): string => {
  let text = error
  for (const [name, field] of names) if (name !== field) text = text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), name)
  return text
}

const decode = Schema.decodeUnknownEffect(SendEvmTransaction, { errors: "all" })

/** `null` counts as absent. */
export const read = Effect.fnUntraced(function* (
  value: unknown,
  account: Account
): Effect.fn.Return<SendEvmTransaction, RpcError> {
  if (!Predicate.isReadonlyObject(value)) return yield* invalidParams("params.0: must be a transaction object")
  const given = new Map(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))
  const found = [...unknown(given), ...rules.flatMap((rule) => rule(given, account) ?? [])]
  if (found.length > 0) return yield* invalidParams(BadRequest.of(found).error ?? "")
  return yield* Effect.mapError(decode(bodyOf(given)), ({ issue }) =>
    invalidParams(withNodeNames(BadRequest.fromIssue(issue, "params.0").error ?? ""))
  )
})
