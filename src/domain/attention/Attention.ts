// What needs the attention of an operator: findings of the service about relayers, transactions, receivers, keys and itself, merged and
// ordered. A finding is an item before it is merged with others of the same provider.
import { DateTime, Schema } from "effect"
import { Funding } from "../health/Funding.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"
import type { Code } from "../../networks/core/Cause.ts"

/** In the order of their importance. */
const kinds = [
  "unreadable",
  "decision",
  "relayers_disabled",
  "providers",
  "funds",
  "held",
  "without_effect",
  "receiver",
  "relayers_degraded",
  "service",
  "key_expires"
] as const

export const AttentionKind = Schema.Literals(kinds).annotate({
  identifier: "AttentionKind",
  description:
    "`unreadable`: rows of relayers, signers or networks cannot be verified, so that nothing is done with them. `decision`: an operator has to decide about transactions. `providers`: an RPC provider or a key service does not do its part. `held`: transactions wait for something else. `without_effect`: transactions were confirmed in the last 24 hours, and their authorizations are not in effect. `receiver`: a webhook receiver fails. `service`: a job or the audit log of this instance is unhealthy, or a network needs a newer version of the service. Items are in this order.",
  examples: ["relayers_disabled"]
})
export type AttentionKind = typeof AttentionKind.Type

const Relayers = Schema.Struct({
  count: field(Schema.Natural, "Number of relayers.", 3),
  disabled: field(Schema.Natural, "How many of them the service has disabled.", 2),
  degraded: field(Schema.Natural, "How many of them work, but not with all of their RPC URLs.", 1),
  ids: field(Schema.Array(Shown.Id), "At most five of them.", ["payouts"])
}).annotate({ identifier: "AttentionRelayers", description: "The relayers of an item." })

const Transactions = Schema.Struct({
  count: field(
    Schema.Natural,
    "Number of open transactions that wait, with those of the same relayers that are queued behind them. Of the kind `without_effect`: those that were confirmed.",
    12
  ),
  oldest: shown(Instant, "When the oldest of them was accepted.", "2026-01-02T03:04:05.678Z")
}).annotate({ identifier: "AttentionTransactions", description: "The transactions that an item holds back." })

const Resource = Schema.Struct({
  kind: field(
    Schema.Literals(["relayer", "notification", "key", "signer", "network"]),
    "Kind of the resource.",
    "relayer"
  ),
  id: field(Shown.Id, "Identifier of the resource.", "payouts")
}).annotate({ identifier: "AttentionResource", description: "The only resource that an item is about." })

export const AttentionItem = Schema.Struct({
  kind: AttentionKind,
  code: field(
    Shown.Words,
    "Cause, for programs: a code of transactions, a type of health, or a name of this list.",
    "low_balance"
  ),
  since: shown(Instant, "Since when. Absent if it is not known.", "2026-01-02T03:04:05.678Z"),
  until: shown(Instant, "When something is given up, expires, or is decided by time.", "2026-01-03T03:04:05.678Z"),
  relayers: Relayers,
  transactions: Transactions,
  host: shown(Shown.Words, "Host of the RPC provider.", "rpc.example.com"),
  resource: Schema.optionalKey(Resource),
  funding: Schema.optionalKey(
    field(
      Schema.Array(Funding),
      "What to send where, for at most five relayers. Only items of the kind `funds` have it."
    )
  ),
  reason: field(Shown.Words, "What is the case, for people.", "An operator has paused the relayer of the transaction."),
  next: field(Shown.Words, "What happens next, and what helps, for people.", "More RPC URLs help.")
}).annotate({ identifier: "AttentionItem", description: "Something that needs the attention of an operator." })
export type AttentionItem = typeof AttentionItem.Type

/** Items of a response. */
const maxItems = 50

/** Ids of relayers that an item names. */
const maxIds = 5

/** What is held for fewer blocks, ledgers or slots of its chain, or for fewer milliseconds, usually ends by itself. */
const patience = { blocks: 10, least: 30_000 } as const

/** Milliseconds between two blocks if the network of a transaction is not known: those of Ethereum, the slowest chain that is built in. */
export const usualBlockTime = 12_000

const minutes = 60_000
const day = 24 * 60 * minutes

type RelayerState = "disabled" | "degraded" | "other"

export interface Finding {
  readonly kind: AttentionKind
  readonly code: string
  readonly since?: DateTime.Utc
  readonly until?: DateTime.Utc
  /** Their states, by id. */
  readonly relayers: ReadonlyMap<string, RelayerState>
  readonly transactions: number
  readonly oldest?: DateTime.Utc
  /** Findings of one host are one item. */
  readonly host?: string
  readonly resource?: typeof Resource.Type
  readonly reason: string
  readonly next: string
}

const decisions: ReadonlySet<Code> = new Set<Code>([
  "nonce_taken_unproven",
  "effect_unproven",
  "restored_unproven",
  "nonce_ahead",
  "nonce_out_of_range",
  "sequence_exhausted",
  "providers_disagree",
  "deep_reorg",
  "chain_changed",
  "row_changed",
  "delegate_changed",
  "signer_unauthorized"
])

const ofProviders: ReadonlySet<Code> = new Set<Code>([
  "providers_unavailable",
  "second_provider_missing",
  "second_provider_behind",
  "chain_stalled",
  "ledger_stalled",
  "signer_unavailable"
])

/** What the caller or the operator wanted. */
const intended: ReadonlySet<Code> = new Set<Code>(["relayer_paused", "not_before"])

/**
 * The kind of the finding about transactions that have this code for `age` milliseconds, on a chain with `blockTime` milliseconds
 * between two blocks. `undefined`: no finding yet.
 */
export const kindOfCode = (code: Code, age: number, blockTime: number): AttentionKind | undefined => {
  if (intended.has(code)) return undefined
  if (decisions.has(code)) return "decision"
  if (code === "landing_unproven") return age > day ? "decision" : age > 10 * minutes ? "providers" : undefined
  if (ofProviders.has(code)) return "providers"
  if (code === "insufficient_funds") return "funds"
  return age >= Math.max(patience.least, patience.blocks * blockTime) ? "held" : undefined
}

/** The host in a masked URL, or the text itself. */
export const hostOf = (text: string): string => URL.parse(text)?.host ?? text

const earlier = (one: DateTime.Utc | undefined, other: DateTime.Utc | undefined): DateTime.Utc | undefined =>
  one === undefined ? other : other === undefined ? one : DateTime.min(one, other)

const rank = ({ kind }: Pick<Finding, "kind">): number => kinds.indexOf(kind)

const bySeverity: Readonly<Record<RelayerState, number>> = { disabled: 0, degraded: 1, other: 2 }

const worst = (one: RelayerState | undefined, other: RelayerState): RelayerState =>
  one !== undefined && bySeverity[one] < bySeverity[other] ? one : other

const union = (one: Finding["relayers"], other: Finding["relayers"]): Finding["relayers"] => {
  const all = new Map(one)
  for (const [id, state] of other) all.set(id, worst(all.get(id), state))
  return all
}

const optional = <K extends string, A>(name: K, value: A | undefined): { readonly [_ in K]?: A } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [_ in K]?: A })

/** The words of the more important one, and the numbers of both. */
const merged = (one: Finding, other: Finding): Finding => {
  const [first, second] = rank(other) < rank(one) ? [other, one] : [one, other]
  const relayers = union(one.relayers, other.relayers)
  const { resource: _, ...rest } = first
  return {
    ...rest,
    ...(relayers.size === 1 ? optional("resource", first.resource) : {}),
    ...optional("since", earlier(one.since, other.since)),
    ...optional("until", first.until ?? second.until),
    ...optional("oldest", earlier(one.oldest, other.oldest)),
    relayers,
    transactions: one.transactions + other.transactions
  }
}

/** Codes of transactions that wait for what is wrong with their relayer. */
const ofRelayer: ReadonlySet<string> = new Set(["relayer_disabled", "providers_unavailable"])

/** One item per host, and one per kind and code for what names no host. Resources other than relayers have items of their own. */
const keyOf = ({ kind, code, host, resource }: Finding): string => {
  if (host !== undefined) return `host ${host}`
  return resource === undefined || resource.kind === "relayer" ? `${kind} ${code}` : `${kind} ${code} ${resource.id}`
}

/** Transactions that wait for their relayer belong to the finding about it. The host of that finding becomes theirs. */
const attributed = (findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  const aboutRelayers = new Map<string, Finding>()
  for (const finding of findings) {
    if (finding.kind !== "relayers_disabled" && finding.kind !== "relayers_degraded") continue
    for (const id of finding.relayers.keys()) aboutRelayers.set(id, finding)
  }
  return findings.map((finding) => {
    const [id] = finding.relayers.keys()
    const cause = id === undefined || !ofRelayer.has(finding.code) ? undefined : aboutRelayers.get(id)
    if (cause === undefined || finding === cause) return finding
    // Transactions that wait for providers are worse than a relayer that still works.
    if (rank(finding) < rank(cause)) return { ...finding, ...optional("host", cause.host) }
    const { relayers, transactions } = finding
    return {
      ...cause,
      relayers,
      transactions,
      ...optional("oldest", finding.oldest),
      ...optional("since", finding.since)
    }
  })
}

const itemOf = ({ relayers, transactions, oldest, ...rest }: Finding): AttentionItem => {
  const states = [...relayers.values()]
  return {
    ...rest,
    relayers: {
      count: relayers.size,
      disabled: states.filter((state) => state === "disabled").length,
      degraded: states.filter((state) => state === "degraded").length,
      ids: [...relayers.keys()].sort().slice(0, maxIds)
    },
    transactions: { count: transactions, ...optional("oldest", oldest) }
  }
}

/** Within a kind, the finding that holds back more transactions comes first, then the one that began earlier. */
const byImportance = (one: Finding, other: Finding): number =>
  rank(one) - rank(other) ||
  other.transactions - one.transactions ||
  (one.since === undefined ? 1 : 0) - (other.since === undefined ? 1 : 0) ||
  Number(one.since?.epochMilliseconds ?? 0) - Number(other.since?.epochMilliseconds ?? 0)

/** The items of a response. A finding about transactions is about one relayer. */
export const arrange = (findings: ReadonlyArray<Finding>): ReadonlyArray<AttentionItem> => {
  const items = new Map<string, Finding>()
  for (const finding of attributed(findings)) {
    const key = keyOf(finding)
    const found = items.get(key)
    items.set(key, found === undefined ? finding : merged(found, finding))
  }
  return [...items.values()].sort(byImportance).slice(0, maxItems).map(itemOf)
}
