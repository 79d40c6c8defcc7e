// What an API key may do. An endpoint needs one scope; a key is granted scopes, or all of a resource, or all.
import { Schema } from "effect"

/** What an endpoint can need: a resource, and whether it is read or changed. */
export const Scope = Schema.Literals([
  "relayers:read",
  "relayers:write",
  "signers:read",
  "signers:write",
  "notifications:read",
  "notifications:write",
  "networks:read",
  "networks:write",
  "api-keys:read",
  "api-keys:write",
  "audit:read",
  "master-key:write",
  "events:read"
])
export type Scope = typeof Scope.Type

/** What a key can be granted: a scope, every scope of a resource (`signers:*`), or everything (`*`). */
export const Grant = Schema.Literals([
  ...Scope.literals,
  "relayers:*",
  "signers:*",
  "notifications:*",
  "networks:*",
  "api-keys:*",
  "audit:*",
  "master-key:*",
  "events:*",
  "*"
]).annotate({
  identifier: "Scope",
  message: `Expected one of ${Scope.literals.join(", ")}, all of a resource such as relayers:*, or *`
})
export type Grant = typeof Grant.Type

const all = "*"

/** `granted` includes all of `needed`. */
const includes = (granted: Grant, needed: Grant): boolean =>
  granted === needed || granted === all || (granted.endsWith(":*") && needed.startsWith(granted.slice(0, -1)))

/** What `grants` allow includes all of `needed`. */
export const allows = (grants: ReadonlyArray<Grant>, needed: Grant): boolean =>
  grants.some((granted) => includes(granted, needed))
