// Permissions and API keys of rrelayer: allow lists of relayers, and what keys may do.
import { Schema } from "effect"
import { CheckedEvmAddress } from "../../../../src/domain/chain/Amount.ts"
import { fields, path as at } from "../Source.ts"
import * as Imported from "../Imported.ts"
import type { Network } from "./Networks.ts"
import type { Input, Listed } from "./Input.ts"

interface Permission {
  readonly at: string
  readonly relayers: ReadonlyArray<Listed>
  readonly allowlist: ReadonlyArray<string> | undefined
  /** Whether an entry of the allow list is left out. */
  readonly isShortened: boolean
  readonly noNative: boolean
  readonly noTransactions: boolean
  readonly noSigning: boolean
}

/** What the permissions of a network say about one relayer. */
interface Effective {
  /** Receivers that all allow lists contain. Undefined: there is no list. */
  readonly receivers: ReadonlyArray<string> | undefined
  /** Whether there are no receivers because entries of allow lists are left out. */
  readonly isEmptied: boolean
  readonly noNative: boolean
  readonly noTransactions: boolean
  readonly noSigning: boolean
}

const isAddress = Schema.is(CheckedEvmAddress)

const addressesOf = (value: unknown, place: string, relayers: ReadonlyArray<Listed>, { report }: Input) => {
  if (value === undefined || value === "*") return relayers
  const wanted = [value].flat().map((address) => String(address).toLowerCase())
  if (wanted.includes("*")) return relayers
  if (wanted.length === 0) report.add(place, "note", "is empty: the entry applies to no relayer")
  for (const address of wanted) {
    if (!relayers.some((relayer) => relayer.address === address)) {
      report.add(place, "note", `no relayer of this network has the account ${address}`)
    }
  }
  return relayers.filter(({ address }) => wanted.includes(address))
}

const readPermission = (value: unknown, place: string, relayers: ReadonlyArray<Listed>, input: Input): Permission => {
  const source = fields(value, place, input.report)
  const { report } = input
  const is = (name: string) => source.take(name) === true
  const given = source.list("allowlist").map(String)
  const allowed = given.filter((address, index) => {
    if (isAddress(address)) return true
    report.add(
      `${place}.allowlist.${index}`,
      "invalid",
      `expected an address, 0x and 40 hex digits: ${report.leftOut("it")}`
    )
    return false
  })
  if (source.take("allowlist") !== undefined && given.length === 0) {
    report.add(at(place, "allowlist"), "note", "is empty: the old service does not limit receivers by it")
  }
  const permission = {
    at: place,
    relayers: addressesOf(source.take("relayers"), at(place, "relayers"), relayers, input),
    // A list of which every entry is left out allows no receiver.
    allowlist: given.length === 0 ? undefined : allowed,
    isShortened: allowed.length < given.length,
    noNative: is("disable_native_transfer"),
    noTransactions: is("disable_transactions"),
    noSigning: false
  }
  if (permission.noNative) {
    const message =
      "the API keys of its relayers get max_value 0, which allows no native value; the key of the administrator is not limited"
    report.add(at(place, "disable_native_transfer"), "note", message)
  }
  if (permission.noTransactions) {
    const message =
      "the API keys of its relayers do not get the scope transactions:write, so that they send nothing; the key of the administrator is not limited"
    report.add(at(place, "disable_transactions"), "note", message)
  }
  let noSigning = false
  for (const name of ["disable_personal_sign", "disable_typed_data_sign"]) {
    if (!is(name)) continue
    noSigning = true
    const message =
      "the API keys of its relayers do not get the scope transactions:sign, so that they sign neither text nor typed data: there is one scope for both"
    report.add(at(place, name), "note", message)
  }
  if (source.take("api_keys") !== undefined) {
    report.add(at(place, "api_keys"), "invalid", "the old service ignores it here: it belongs to the network")
  }
  for (const [name, reason] of Object.entries(newerLimits)) {
    if (source.take(name) !== undefined) report.add(at(place, name), "needs", reason)
  }
  source.end()
  return { ...permission, noSigning }
}

/** Limits of later versions, which no field of the document can carry. */
const newerLimits: Readonly<Record<string, string>> = {
  ip_allowlist: "the service does not limit its callers by address: let a proxy or a firewall do it",
  request_verification: "the service checks API keys only: verify such requests before they reach it"
}

const intersection = (lists: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const [first = [], ...others] = lists
  const sets = others.map((list) => new Set(list.map((address) => address.toLowerCase())))
  return first.filter((address) => sets.every((set) => set.has(address.toLowerCase())))
}

const listsOf = (relayer: Listed, permissions: ReadonlyArray<Permission>) =>
  permissions
    .filter(({ relayers }) => relayers.includes(relayer))
    .map(({ allowlist }) => allowlist)
    .filter((list) => list !== undefined)

const noteIntersections = (
  relayers: ReadonlyArray<Listed>,
  permissions: ReadonlyArray<Permission>,
  place: string,
  { report }: Input
) => {
  const several = relayers.filter((relayer) => listsOf(relayer, permissions).length > 1).map(({ id }) => id)
  if (several.length === 0) return
  const verb = several.length === 1 ? "is" : "are"
  const message = `${several.join(", ")} ${verb} in several entries: a receiver must be in the allow lists of all of them`
  report.add(place, "note", message)
}

const effectiveOf = (relayer: Listed, permissions: ReadonlyArray<Permission>): Effective => {
  const own = permissions.filter(({ relayers }) => relayers.includes(relayer))
  const lists = listsOf(relayer, permissions)
  const receivers = lists.length === 0 ? undefined : intersection(lists)
  return {
    receivers,
    isEmptied: receivers?.length === 0 && own.some(({ isShortened }) => isShortened),
    noNative: own.some(({ noNative }) => noNative),
    noTransactions: own.some(({ noTransactions }) => noTransactions),
    noSigning: own.some(({ noSigning }) => noSigning)
  }
}

/** What the old service lets every key of a relayer do, except for signatures, which an allow list does not limit here. */
const scopesOf = ({ noTransactions, noSigning, receivers }: Effective): ReadonlyArray<string> => [
  "relayers:read",
  "transactions:read",
  ...(noTransactions ? [] : ["transactions:write"]),
  ...(noSigning || receivers !== undefined ? [] : ["transactions:sign"])
]

/** Characters of the relayer's id in the id of a key. */
const idLength = 8

const names = (value: unknown): string => /^\$\{([^}]+)\}$/.exec(String(value))?.[1] ?? "a literal value"

const importKeys = (
  values: ReadonlyArray<unknown>,
  place: string,
  relayers: ReadonlyArray<Listed>,
  effective: ReadonlyMap<string, Effective>,
  input: Input
) => {
  const { report, document } = input
  const replaced: Array<string> = []
  const withoutSignatures: Array<string> = []
  for (const [index, value] of values.entries()) {
    const source = fields(value, `${place}.api_keys.${index}`, report)
    const address = (source.text("relayer") ?? "").toLowerCase()
    const keys = source.list("keys")
    source.end()
    const relayer = relayers.find((candidate) => candidate.address === address)
    if (relayer === undefined) {
      const message = `no relayer of this network has this account: ${report.leftOut("the entry")}`
      report.add(at(source.at, "relayer"), "invalid", message)
      continue
    }
    const limits = effective.get(relayer.id)
    if (limits === undefined || !document.relayers.has(relayer.id)) {
      report.add(source.at, "dropped", `${relayer.id} is not imported, so that its keys are not either`)
      continue
    }
    for (const [number, key] of keys.entries()) {
      const base = `${relayer.id.slice(0, idLength)}-key-`
      let next = number + 1
      while (document.api_keys.has(`${base}${next}`)) next += 1
      const id = `${base}${next}`
      replaced.push(names(key))
      if (limits.receivers !== undefined && !limits.noSigning) withoutSignatures.push(id)
      const body = {
        name: `${relayer.name}, key ${next}`,
        scopes: scopesOf(limits),
        relayer_ids: [relayer.id],
        ...(limits.noNative ? { transaction_limits: { max_value: "0" } } : {})
      }
      Imported.add(input, "api_keys", id, body, source.at)
    }
  }
  if (replaced.length > 0) {
    const message = `${replaced.length === 1 ? "1 new key replaces the old value" : `${replaced.length} new keys replace the old values`} ${replaced.join(", ")}: apply writes them to a file; give them to the clients`
    report.add(at(place, "api_keys"), "note", message)
  }
  if (withoutSignatures.length > 0) {
    const message = `the keys ${withoutSignatures.join(", ")} do not get the scope transactions:sign, because it signs typed data for any contract, and the old service only for those of the allow list: add the scope to keys that may do so`
    report.add(at(place, "permissions"), "needs", message)
  }
}

interface Permissions {
  /** The allow lists of relayers by their ids. */
  readonly receivers: ReadonlyMap<string, ReadonlyArray<string>>
  /** Ids of relayers that no receiver is left for. */
  readonly emptied: ReadonlySet<string>
  /** Imports the API keys of the relayers that are in the document. */
  readonly importKeys: () => void
}

/** Reads the permissions of a network whose relayers are listed, and some of them imported. */
export const importPermissions = (
  network: Network,
  listed: ReadonlyArray<Listed>,
  relayers: ReadonlyArray<Listed>,
  input: Input
): Permissions => {
  const place = at(network.at, "permissions")
  const permissions = network.source
    .list("permissions")
    .map((value, index) => readPermission(value, `${place}.${index}`, listed, input))
  noteIntersections(relayers, permissions, place, input)
  const effective = new Map(relayers.map((relayer) => [relayer.id, effectiveOf(relayer, permissions)] as const))
  return {
    receivers: new Map(
      [...effective].flatMap(([id, { receivers }]) => (receivers === undefined ? [] : [[id, receivers] as const]))
    ),
    emptied: new Set([...effective].flatMap(([id, { isEmptied }]) => (isEmptied ? [id] : []))),
    importKeys: () => importKeys(network.source.list("api_keys"), network.at, listed, effective, input)
  }
}
