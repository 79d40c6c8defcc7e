// What both types of signers in HashiCorp Vault share: the login, which is sealed apart from what is shown, and the failures.
import { Redacted, Schema } from "effect"
import { VaultCredentials } from "../../../../domain/signer/KeyServices.ts"
import * as Failures from "../remote/Failures.ts"
import type { ConfigOf, Prepared, RequestOf } from "../SignerBackend.ts"

export interface VaultLogin {
  readonly address: string
  readonly namespace?: string
  readonly credentials: VaultCredentials
}

const Text = Schema.fromJsonString(VaultCredentials)
const encode = Schema.encodeSync(Text)
const decode = Schema.decodeSync(Text)

export const split = <C extends RequestOf<"vault">>({ role_id, secret_id, ...config }: C) => ({
  config,
  secret: Redacted.make(encode({ role_id, secret_id }))
})

export const of = ({ config, secret }: Prepared<ConfigOf<"vault">>): VaultLogin => ({
  address: config.address,
  ...(config.namespace === undefined ? {} : { namespace: config.namespace }),
  credentials: decode(Redacted.value(secret))
})

export const { fields, unavailable } = Failures.make({
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
})
