// What an API key may do. An endpoint requires one scope. A key is granted scopes, all scopes of a resource, or all scopes.
import { Schema } from "effect"
import * as Resources from "./Resources.ts"

/** What an endpoint can require: a resource, and reading or changing it. */
export const Scope = Schema.Literals(Resources.scopes)
export type Scope = typeof Scope.Type

/** What a key with the scope can do, for people who choose the scopes of a key. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  "relayers:read":
    "See relayers with their policies, masked RPC URLs, health and balances, and what needs attention; ask their chains for status and balance.",
  "relayers:write":
    "Create, change, pause, check and delete relayers. It decides about limits, receivers and RPC providers: only for who may spend.",
  "signers:read": "See signers, their addresses and which relayers use them. Private keys are never shown.",
  "signers:write": "Create signers with their secrets, replace their logins, verify them, and delete unused ones.",
  "notifications:read": "See receivers of webhooks, and deliveries with their bodies and answers.",
  "notifications:write":
    "Create, change, pause, test and delete receivers of webhooks, and send deliveries again. Deliveries have the details of transactions.",
  "networks:read": "See networks with their masked RPC URLs.",
  "networks:write":
    "Create, change, reset and delete networks. It decides which RPC providers are believed: only for who may spend.",
  "api-keys:read": "See API keys with their scopes, limits and last use. The keys themselves are never shown.",
  "api-keys:write":
    "Create, change, rotate and revoke API keys, and end sessions of the console. A key gives others no more than it has itself.",
  "audit:read": "Read the audit log: each change, its author and its time. Verify and export it.",
  "audit:write": "Create checkpoints of the audit log.",
  "master-key:write": "Rotate the master key, which encrypts all secrets in the database.",
  "events:read": "See events and follow them as a stream.",
  "transactions:read": "See transactions with their requests, attempts and explanations, and simulate requests.",
  "transactions:write": "Send, replace and cancel transactions, within policies and the limits of the key.",
  "transactions:sign":
    "Get signatures of messages and of transactions that the service does not send. A raw signature can move everything.",
  "rpc:call":
    "Call the nodes of relayers by JSON-RPC. To send or sign through it, a key needs transactions:write or transactions:sign as well."
}

/** What a key can be granted: a scope, all scopes of a resource (`signers:*`), or all scopes (`*`). */
export const Grant = Schema.Literals([...Scope.literals, ...Resources.allScopes, "*"]).annotate({
  identifier: "Scope",
  description:
    "A scope, all scopes of a resource such as `relayers:*`, or all scopes (`*`). `relayers:write` and `networks:write` decide about prices, receivers and which providers are believed: give them only to who may spend.",
  examples: ["relayers:read"],
  message: `Expected one of ${Scope.literals.join(", ")}, all of a resource such as relayers:*, or *`
})
export type Grant = typeof Grant.Type

const all = "*"

/** Scopes that only their own name and `*` grant: `transactions:*` does not include `transactions:sign`. */
const onlyByName: ReadonlySet<Grant> = new Set(Resources.onlyByName)

/** Whether `granted` includes all of `needed`. */
const includes = (granted: Grant, needed: Grant): boolean => {
  if (granted === needed || granted === all) return true
  return granted.endsWith(":*") && needed.startsWith(granted.slice(0, -1)) && !onlyByName.has(needed)
}

/** Whether `grants` together include all of `needed`. */
export const allows = (grants: ReadonlyArray<Grant>, needed: Grant): boolean =>
  grants.some((granted) => includes(granted, needed))

const narrowable: ReadonlySet<Scope> = new Set(Resources.narrowableScopes)

/**
 * Whether a key that is limited to some relayers may hold the grant: nothing that it allows shows or changes anything that
 * does not belong to those relayers.
 */
export const isNarrowable = (grant: Grant): boolean =>
  Scope.literals.every((scope) => !includes(grant, scope) || narrowable.has(scope))
