// What an API key may do. An endpoint requires one scope. A key is granted scopes, all scopes of a resource, or all scopes.
import { Schema } from "effect"
import * as Resources from "./Resources.ts"

/** What an endpoint can require: a resource, and reading or changing it. */
export const Scope = Schema.Literals(Resources.scopes)
export type Scope = typeof Scope.Type

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
