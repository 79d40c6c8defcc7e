// Relayers of a running OpenZeppelin Relayer, which reads config.json only at its first start and then changes by its API.
import { isMasked, maskUrl } from "../../../domain/chain/Rpc.ts"
import { isMembers } from "../../../domain/configuration/Document.ts"
import type { Input } from "./Input.ts"

/** A relayer of the input with its place. */
export interface Placed {
  readonly at: string
  readonly value: unknown
}

export const placed = (values: ReadonlyArray<unknown>, prefix = "relayers"): ReadonlyArray<Placed> =>
  values.map((value, index) => ({ at: `${prefix}.${index}`, value }))

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (isMembers(value) ? value : {})

/** What a response says about a relayer beyond its configuration. */
const derived: ReadonlySet<string> = new Set(["address", "system_disabled", "disabled_reason"])

const compared = ["name", "network_type", "network", "signer_id", "notification_id", "paused", "policies"]

/** Equal for equal values; null counts as absent. The order of members does not matter. */
const stable = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`
  if (!isMembers(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value ?? null)
  const members = Object.entries(value).filter(([, child]) => child !== null && child !== undefined)
  return `{${members
    .map(([name, child]) => `${JSON.stringify(name)}:${stable(child)}`)
    .toSorted()
    .join()}}`
}

const urlOf = (value: unknown): unknown => (isMembers(value) ? value["url"] : value)

/** A response has the mask of a URL with a key. The URL itself is in the file, unless it was changed by the API. */
const unmasked = (urls: unknown, inFile: unknown, at: string, { report }: Input): unknown => {
  if (!Array.isArray(urls)) return urls
  const known = new Map(
    (Array.isArray(inFile) ? inFile : []).map((value: unknown) => [maskUrl(String(urlOf(value))), value] as const)
  )
  return urls.flatMap((value: unknown, index): ReadonlyArray<unknown> => {
    const url = String(urlOf(value))
    if (!isMasked(url)) return [value]
    const found = known.get(url)
    if (found !== undefined) return [found]
    const message = `${url} is masked, and the file has no URL with this mask: left out; add the URL to the written file`
    report.add(`${at}.custom_rpc_urls.${index}`, "needs", message)
    return []
  })
}

const noteDifferences = ({ at, value }: Placed, file: Members | undefined, { report }: Input) => {
  if (file === undefined) {
    report.add(
      at,
      "note",
      `${String(membersOf(value)["id"])} is not in the file: it was created in the running service`
    )
    return
  }
  const live = membersOf(value)
  for (const name of compared) {
    if (stable(live[name]) === stable(file[name])) continue
    report.add(`${at}.${name}`, "note", "differs from the file: the value of the running service is imported")
  }
}

/** The relayers of the running service, with what only the file has. */
export const ofLive = (
  values: ReadonlyArray<unknown>,
  inFile: ReadonlyArray<Placed>,
  input: Input
): ReadonlyArray<Placed> => {
  const files = new Map(inFile.map((relayer) => [membersOf(relayer.value)["id"], relayer]))
  const lives = placed(values, "live.relayers")
  const ids = new Set(lives.map(({ value }) => membersOf(value)["id"]))
  for (const [id, { at }] of files) {
    if (!ids.has(id)) input.report.add(at, "dropped", `${String(id)} is not in the running service: left out`)
  }
  return lives.map((live) => {
    const members = membersOf(live.value)
    const file = files.get(members["id"])
    const known = file === undefined ? undefined : membersOf(file.value)
    noteDifferences(live, known, input)
    const { address, id } = members
    if (typeof address === "string") {
      input.remarks.push({
        target: ["relayers", String(id), "signer_id"],
        text: `the account must be ${address}`
      })
    }
    const own = Object.entries(members).filter(([name]) => !derived.has(name))
    const urls = unmasked(members["custom_rpc_urls"], known?.["custom_rpc_urls"], live.at, input)
    return {
      at: live.at,
      value: { ...Object.fromEntries(own), ...(urls === undefined ? {} : { custom_rpc_urls: urls }) }
    }
  })
}
