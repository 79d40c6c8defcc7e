// The failures of a key in HashiCorp Vault: the field of the request that causes each of them, and its message.
import { Record } from "effect"
import { SignerUnavailable } from "./SignerBackend.ts"

const table = {
  forbidden: ["config.address", "is not an address that the service calls"],
  unreachable: ["config.address", "Vault does not answer"],
  throttled: ["config.address", "Vault accepts no more requests now"],
  unexpected: ["config.address", "does not answer as Vault does"],
  login: ["config.secret_id", "Vault refuses the login"],
  refused: ["config.key_name", "Vault does not let this role use the key"],
  not_found: ["config.key_name", "Vault has no such key"],
  bad_key: ["config.key_name", "Vault has no usable key there"],
  mismatch: ["config.pubkey", "is not the public key of the key in Vault"],
  curve: ["config.key_name", "the key in Vault is not on this curve"]
} as const

export const fields = Record.map(table, ([field]) => field)

/** `detail` replaces the message of the reason. */
export const unavailable = (reason: keyof typeof table, detail?: string) =>
  new SignerUnavailable({ reason, message: detail ?? table[reason][1] })
