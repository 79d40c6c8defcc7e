// A Vault with a key in each engine, signers that use them, and what is said when that fails.
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { makeAllowList, Outbound } from "../../../src/outbound/Outbound.ts"
import { SignerBackends } from "../../../src/server/signers/backends/SignerBackends.ts"
import { Vault, ed25519, namespace, refusalText, roleId, secretId, transitKey } from "../../../testkit/Vault.ts"

const outbound = (allow: ReadonlyArray<string>) => Outbound.layer({ allow: makeAllowList(allow) })
const backends = (allow: ReadonlyArray<string>) => SignerBackends.layer.pipe(Layer.provide(outbound(allow)))
const withVault = (allow: ReadonlyArray<string>) =>
  Layer.provideMerge(Layer.fresh(backends(allow)), Layer.fresh(Vault.layer))

/** A Vault of its own, nobody logged in to it. */
export const fresh = withVault(["127.0.0.1"])

/** One that the guard does not let through to. */
export const guarded = withVault([])

export const privateKey = "01".repeat(32)

const request = (vault: Vault["Service"], changes: object = {}) => ({
  address: vault.address,
  namespace,
  role_id: Redacted.make(roleId),
  secret_id: Redacted.make(secretId),
  key_name: "hot/wallet-1",
  mount_point: "secret",
  ...changes
})

/** With a key in the key-value store. */
export const kv = Effect.fnUntraced(function* (changes: object = {}) {
  const vault = yield* Vault
  vault.secrets.set("hot/wallet-1", { value: privateKey })
  const kinds = yield* SignerBackends
  return kinds.vault.open(yield* kinds.vault.prepare(request(vault, changes)))
})

/** With a key of the transit engine. */
export const transit = Effect.fnUntraced(function* (changes: object = {}) {
  const vault = yield* Vault
  vault.keys.set("solana.1", transitKey(ed25519()))
  return yield* openTransit({ pubkey: vault.publicKey("solana.1"), ...changes })
})

/** With the key as it is in Vault. */
export const openTransit = Effect.fnUntraced(function* (changes: { readonly pubkey: string }) {
  const vault = yield* Vault
  const kinds = yield* SignerBackends
  const place = { key_name: "solana.1", mount_point: "transit", ...changes }
  return kinds.vault_transit.open(yield* kinds.vault_transit.prepare({ ...request(vault), ...place }))
})

/** Reason and text of the failure, which has nothing of an answer. */
export const failureOf = <A, R>(self: Effect.Effect<A, { readonly reason: string; readonly message: string }, R>) =>
  Effect.map(Effect.flip(self), ({ reason, message }) => {
    assert.notInclude(message, refusalText)
    return [reason, message]
  })

export const unreachable = ["unreachable", "Vault does not answer"]
export const throttled = ["throttled", "Vault accepts no more requests now"]
export const unexpected = ["unexpected", "does not answer as Vault does"]
export const login = ["login", "Vault refuses the login"]
export const refused = ["refused", "Vault does not let this role use the key"]
export const notFound = ["not_found", "Vault has no such key"]
export const badKey = ["bad_key", "Vault has no usable key there"]
