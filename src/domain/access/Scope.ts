// What an API key may do. An endpoint requires one scope. A key is granted scopes, all scopes of a resource, or all scopes.
import { Schema } from "effect"
import * as AuditNames from "../audit/AuditNames.ts"
import * as EventNames from "../event/EventNames.ts"
import * as MasterKeyNames from "../masterKey/MasterKeyNames.ts"
import * as NetworkNames from "../network/NetworkNames.ts"
import * as NotificationNames from "../notification/NotificationNames.ts"
import * as RelayerNames from "../relayer/RelayerNames.ts"
import * as SignerNames from "../signer/SignerNames.ts"
import * as TransactionNames from "../transaction/TransactionNames.ts"
import * as ApiKeyNames from "./ApiKeyNames.ts"

/** What an endpoint can require: a resource, and reading or changing it. */
export const Scope = Schema.Literals([
  ...RelayerNames.scopes,
  ...SignerNames.scopes,
  ...NotificationNames.scopes,
  ...NetworkNames.scopes,
  ...ApiKeyNames.scopes,
  ...AuditNames.scopes,
  ...MasterKeyNames.scopes,
  ...EventNames.scopes,
  ...TransactionNames.scopes
])
export type Scope = typeof Scope.Type

/** What a key can be granted: a scope, all scopes of a resource (`signers:*`), or all scopes (`*`). */
export const Grant = Schema.Literals([
  ...Scope.literals,
  RelayerNames.allScopes,
  SignerNames.allScopes,
  NotificationNames.allScopes,
  NetworkNames.allScopes,
  ApiKeyNames.allScopes,
  AuditNames.allScopes,
  MasterKeyNames.allScopes,
  EventNames.allScopes,
  TransactionNames.allScopes,
  "*"
]).annotate({
  identifier: "Scope",
  description: "A scope, all scopes of a resource such as `relayers:*`, or all scopes (`*`).",
  examples: ["relayers:read"],
  message: `Expected one of ${Scope.literals.join(", ")}, all of a resource such as relayers:*, or *`
})
export type Grant = typeof Grant.Type

const all = "*"

/** Scopes that only their own name and `*` grant: `transactions:*` does not include `transactions:sign`. */
const onlyByName: ReadonlySet<Grant> = new Set(TransactionNames.onlyByName)

/** Whether `granted` includes all of `needed`. */
const includes = (granted: Grant, needed: Grant): boolean => {
  if (granted === needed || granted === all) return true
  return granted.endsWith(":*") && needed.startsWith(granted.slice(0, -1)) && !onlyByName.has(needed)
}

/** Whether `grants` together include all of `needed`. */
export const allows = (grants: ReadonlyArray<Grant>, needed: Grant): boolean =>
  grants.some((granted) => includes(granted, needed))

const narrowable: ReadonlySet<Scope> = new Set([
  ...RelayerNames.narrowableScopes,
  ...NotificationNames.narrowableScopes,
  ...EventNames.narrowableScopes,
  ...TransactionNames.narrowableScopes
])

/**
 * Whether a key that is limited to some relayers may hold the grant: nothing that it allows shows or changes anything that
 * does not belong to those relayers.
 */
export const isNarrowable = (grant: Grant): boolean =>
  Scope.literals.every((scope) => !includes(grant, scope) || narrowable.has(scope))
