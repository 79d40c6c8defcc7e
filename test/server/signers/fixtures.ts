// One key in the configuration of each signer type, and another key that only Vault has.
import { Effect } from "effect"
import { Vault, ed25519, namespace, roleId, secretId, transitKey } from "../../../testkit/Vault.ts"
import * as keystores from "../../../testkit/keystores.ts"

export const signers = "/api/v1/signers"

export const key = "5eed".repeat(16)
export const passphrase = "correct horse"
export const keystore = keystores.make(Buffer.from(key, "hex"), passphrase)

export const config = (vault: Vault["Service"], changes: object = {}) => ({
  address: vault.address,
  namespace,
  role_id: roleId,
  secret_id: secretId,
  key_name: "hot/wallet-1",
  ...changes
})

export const transitConfig = (vault: Vault["Service"], changes: object = {}) =>
  config(vault, { key_name: "solana.1", pubkey: vault.publicKey("solana.1"), ...changes })

/** Vault with one key in each engine and without faults. */
export const prepared = Effect.gen(function* () {
  const vault = yield* Vault
  vault.faults.clear()
  vault.secrets.set("hot/wallet-1", { value: key })
  if (!vault.keys.has("solana.1")) vault.keys.set("solana.1", transitKey(ed25519()))
  return vault
})
