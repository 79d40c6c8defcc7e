// Relayers of OpenZeppelin Relayer, with their policies: `relayers` of config.json.
import { Schema } from "effect"
import { builtin } from "../../../../src/server/networks/builtin.ts"
import { CheckedEvmAddress } from "../../../../src/domain/chain/Amount.ts"
import { contractCreation } from "../../../../src/domain/relayer/Policy.ts"
import * as Imported from "../Imported.ts"
import type { Fields } from "../Source.ts"
import { fields, path as at, picked } from "../Source.ts"
import type { Input } from "./Input.ts"
import type { Found } from "./Signers.ts"
import { expectedType, isNetworkType, rpcUrls } from "./Networks.ts"
import type { ImportedNetworks } from "./Networks.ts"

/** A relayer of the input with its place. */
export interface Placed {
  readonly at: string
  readonly value: unknown
}

interface ImportedReferences {
  readonly signers: ReadonlyMap<string, Found>
  /** Ids of all notifications of the input, with whether they are in the document. */
  readonly notifications: ReadonlyMap<string, boolean>
  readonly networks: ImportedNetworks
}

/** What becomes of a relayer by what it refers to. */
type Outcome = "imported" | "dropped" | "invalid"

const outcomeOfSigner = (
  id: string,
  signerId: string | undefined,
  type: string,
  place: string,
  known: ImportedReferences,
  { report }: Input
): Outcome => {
  // That it is required is reported with the other fields.
  if (signerId === undefined) return "invalid"
  const signer = known.signers.get(signerId)
  if (signer?.outcome === "dropped") {
    const message = `${id} is not imported, because its signer ${signerId} cannot be: create another signer, and the relayer with it`
    report.add(place, "dropped", message)
    return "dropped"
  }
  const isWrongCurve = signer?.type === "vault_transit" && type === "evm"
  if (signer?.outcome === "imported" && !isWrongCurve) return "imported"
  const why =
    signer === undefined
      ? `no signer with this id: ${signerId}`
      : signer.outcome === "invalid"
        ? report.leftOut(`its signer ${signerId}`)
        : "a signer of the type vault_transit has an ed25519 key: it cannot sign for evm"
  report.add(at(place, "signer_id"), "invalid", why)
  return "invalid"
}

const outcomeOfNetwork = (
  id: string,
  type: string,
  network: string | undefined,
  place: string,
  { networks }: ImportedReferences,
  { report }: Input
): Outcome => {
  if (network === undefined) return "invalid"
  const networkId = `${type}:${network}`
  if (networks.get(networkId) ?? builtin.some((found) => found.id === networkId)) return "imported"
  if (networks.has(networkId)) {
    report.add(place, "dropped", `${id}: ${report.leftOut(`its network ${network}`)}`)
    return "dropped"
  }
  report.add(at(place, "network"), "invalid", `no ${type} network of this name: ${network}`)
  return "invalid"
}

const notificationOf = (source: Fields, known: ImportedReferences, { report }: Input): string | undefined => {
  const id = source.text("notification_id")
  if (id === undefined) return undefined
  const isImported = known.notifications.get(id)
  if (isImported === true) return id
  const place = at(source.at, "notification_id")
  if (isImported === undefined) report.add(place, "invalid", `no notification with this id: ${id}`)
  else report.add(place, "note", `${report.leftOut(id)}, and the relayer has no notification then`)
  return undefined
}

const importOne = (source: Fields, known: ImportedReferences, given: Input) => {
  const id = source.text("id") ?? ""
  const type = source.text("network_type")
  const network = source.text("network")
  const signerId = source.text("signer_id")
  Imported.isOwnId(given, "relayers", id, source.at)
  const isKnownType = type !== undefined && isNetworkType(type)
  if (type === undefined) given.report.add(at(source.at, "network_type"), "invalid", "is required")
  else if (!isKnownType)
    given.report.add(at(source.at, "network_type"), "invalid", `${expectedType}: ${given.report.leftOut(id)}`)
  const ofSigner = outcomeOfSigner(id, signerId, type ?? "", source.at, known, given)
  const ofNetwork = !isKnownType ? "invalid" : outcomeOfNetwork(id, type, network, source.at, known, given)
  const isValid = ofSigner === "imported" && ofNetwork === "imported"
  readOne(source, { id, type, network, signerId }, known, isValid ? given : Imported.onlyProblems(given))
}

interface References {
  readonly id: string
  readonly type: string | undefined
  readonly network: string | undefined
  readonly signerId: string | undefined
}

const readOne = (
  source: Fields,
  { id, type, network, signerId }: References,
  known: ImportedReferences,
  input: Input
) => {
  const isKnownType = type !== undefined && isNetworkType(type)
  if (!isKnownType) source.take("policies")
  const policies = isKnownType ? policiesOf(source, type, input) : undefined
  const urls = source.list("custom_rpc_urls")
  const custom = urls.length === 0 ? undefined : rpcUrls(urls, at(source.at, "custom_rpc_urls"), [id], input)
  const isPaused = source.take("paused")
  if (isPaused !== undefined && typeof isPaused !== "boolean") {
    input.report.add(at(source.at, "paused"), "invalid", "expected true or false")
  }
  const wasPaused = isPaused === true
  const paused = input.keepPausedState ? wasPaused : true
  if (paused && !wasPaused) {
    input.paused.push(id)
    input.remarks.push({ target: ["relayers", id, "paused"], text: "resume it after the old service has stopped" })
  }
  const notification = notificationOf(source, known, input)
  const body = {
    name: source.text("name"),
    // A type that is absent or does not exist is reported before: the other fields are checked as those of some type.
    network_type: isKnownType ? type : "evm",
    network,
    paused,
    signer_id: signerId,
    ...(notification === undefined ? {} : { notification_id: notification }),
    ...(custom === undefined ? {} : { custom_rpc_urls: custom.urls }),
    ...(policies === undefined ? {} : { policies })
  }
  source.end()
  Imported.add(input, "relayers", id, body, source.at, custom?.placeOf)
}

export const importRelayers = (relayers: ReadonlyArray<Placed>, known: ImportedReferences, input: Input) => {
  for (const { at: place, value } of relayers) importOne(fields(value, place, input.report), known, input)
  Imported.notePaused(input, " (--keep-paused-state imports false)")
}

type Policies = Record<string, unknown>

const isEvmAddress = Schema.is(CheckedEvmAddress)

const zeroAddress = `0x${"0".repeat(40)}`

const evmFields = [
  "min_balance",
  "gas_price_cap",
  "eip1559_pricing",
  "gas_limit_estimation",
  "include_revert_data",
  "private_transactions"
]

const evm = (source: Fields, { report }: Input): Policies => {
  const policies = picked(source, evmFields)
  if (policies["private_transactions"] === true) {
    const message =
      "the service sends privately while it is true, and refuses every send of the relayer (409 no_private_rpc) until custom_private_rpc_urls of the relayer or private_rpc_urls of its network name an endpoint; the old service sends publicly: remove the field to do the same"
    report.add(at(source.at, "private_transactions"), "needs", message)
  }
  const given = source.take("whitelist_receivers")
  if (!Array.isArray(given)) return policies
  const place = at(source.at, "whitelist_receivers")
  const receivers = given.filter((receiver, index) => {
    const isAddress = isEvmAddress(receiver) || Imported.variablesIn(receiver).length > 0
    if (!isAddress && receiver !== contractCreation) {
      const message = `is not an address; the old service does not check entries, so this one never matched: ${report.leftOut("it")}`
      report.add(`${place}.${index}`, "invalid", message)
    }
    return isAddress
  })
  if (receivers.length === 0 && given.length > 0) {
    report.refuse(place, `${Imported.noReceivers}: ${report.leftOut("the relayer")}; correct the list`)
    return policies
  }
  if (!receivers.some((receiver) => String(receiver).toLowerCase() === zeroAddress)) {
    report.add(
      place,
      "note",
      "the old service allows the zero address beside the list; the service does not: add the address if transactions go there"
    )
  }
  return { ...policies, whitelist_receivers: receivers }
}

const tokenSwap = ["slippage_percentage", "min_amount", "max_amount", "retain_min_amount"]

/** Tokens with the fields of their kind. The old service ignores other fields of tokens. */
const tokens = (source: Fields, names: ReadonlyArray<string>, { report }: Input): ReadonlyArray<unknown> =>
  source.list("allowed_tokens").map((value, index) => {
    const token = fields(value, `${source.at}.allowed_tokens.${index}`, report)
    const swap = token.object("swap_config")
    const body = {
      ...picked(token, names),
      ...(swap === undefined ? {} : { swap_config: picked(swap, tokenSwap) })
    }
    swap?.end()
    token.end()
    return body
  })

const noteSwaps = (source: Fields, { report }: Input) => {
  report.add(at(source.at, "swap_config"), "note", "is stored; this service does not execute swaps")
}

const solanaFields = [
  "fee_payment_strategy",
  "fee_margin_percentage",
  "min_balance",
  "allowed_programs",
  "allowed_accounts",
  "disallowed_accounts",
  "max_tx_data_size",
  "max_signatures",
  "max_allowed_fee_lamports"
]

const solana = (source: Fields, input: Input): Policies => {
  const policies = picked(source, solanaFields)
  const { report } = input
  if (source.take("allowed_tokens") !== undefined) {
    policies["allowed_tokens"] = tokens(source, ["mint", "decimals", "symbol", "max_allowed_fee"], input)
  } else if (policies["fee_payment_strategy"] !== "relayer") {
    const message =
      "is absent, so that the service accepts no token as a fee: list the tokens if users pay the fees of this relayer, or it sends nothing"
    report.add(at(source.at, "allowed_tokens"), "note", message)
  }
  if (policies["max_allowed_fee_lamports"] === undefined) {
    report.add(
      at(source.at, "max_allowed_fee_lamports"),
      "note",
      "is absent, so that a transaction may cost at most 1000000 lamports, the default of the service; the old service has no limit: set it if transactions cost more"
    )
  }
  if (policies["allowed_programs"] !== undefined) {
    const message =
      "only restricts which programs a transaction calls, and lets no program spend from the relayer: a message that its caller has built must not list the relayer in an instruction"
    report.add(at(source.at, "allowed_programs"), "note", message)
  }
  const swap = source.object("swap_config")
  if (swap === undefined) return policies
  const options = swap.object("jupiter_swap_options")
  policies["swap_config"] = {
    ...picked(swap, ["strategy", "cron_schedule", "min_balance_threshold"]),
    ...(options === undefined
      ? {}
      : {
          jupiter_swap_options: picked(options, [
            "priority_fee_max_lamports",
            "priority_level",
            "dynamic_compute_unit_limit"
          ])
        })
  }
  options?.end()
  swap.end("invalid")
  noteSwaps(source, input)
  return policies
}

const stellarFields = [
  "max_fee",
  "timeout_seconds",
  "min_balance",
  "concurrent_transactions",
  "fee_payment_strategy",
  "slippage_percentage",
  "fee_margin_percentage"
]

/** Seconds that this service uses at least and at most. */
const timeouts = { minimum: 15, maximum: 300 }

const stellar = (source: Fields, input: Input): Policies => {
  const policies = picked(source, stellarFields)
  const { report } = input
  const note = (name: string, message: string) => report.add(at(source.at, name), "note", message)
  if (policies["concurrent_transactions"] === true) {
    note(
      "concurrent_transactions",
      "the service sends one transaction of the relayer at a time until it has channels: set channels.count to send several at once"
    )
  }
  const timeout = policies["timeout_seconds"]
  if (typeof timeout === "number" && (timeout < timeouts.minimum || timeout > timeouts.maximum)) {
    const used = timeout < timeouts.minimum ? timeouts.minimum : timeouts.maximum
    note(
      "timeout_seconds",
      `the service uses ${used} seconds, because it allows ${timeouts.minimum} to ${timeouts.maximum}`
    )
  }
  if (policies["max_fee"] !== undefined)
    note(
      "max_fee",
      "the service applies it to every transaction of the relayer; the old service applies it only if users pay the fees"
    )
  if (policies["min_balance"] !== undefined)
    note(
      "min_balance",
      "the service disables the relayer while its balance is lower; the old service ignores the field"
    )
  if (source.take("allowed_tokens") !== undefined) {
    policies["allowed_tokens"] = tokens(source, ["asset", "max_allowed_fee"], input)
  }
  const swap = source.object("swap_config")
  if (swap === undefined) return policies
  policies["swap_config"] = picked(swap, ["strategies", "cron_schedule", "min_balance_threshold"])
  swap.end("invalid")
  noteSwaps(source, input)
  return policies
}

const readers: Readonly<Record<string, (source: Fields, input: Input) => Policies>> = { evm, solana, stellar }

const policiesOf = (source: Fields, type: string, input: Input): Policies | undefined => {
  const given = source.object("policies")
  if (given === undefined) {
    // The defaults of solana differ, too.
    if (type === "solana") solana(fields({}, at(source.at, "policies"), input.report), input)
    if (type === "stellar") {
      input.report.add(
        at(source.at, "policies"),
        "note",
        "the old service refuses a stellar relayer without policies; here it is valid"
      )
    }
    return undefined
  }
  const policies = readers[type]?.(given, input)
  given.end("invalid")
  return policies
}
