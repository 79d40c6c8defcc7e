// The login of a signer to HashiCorp Vault: splits a request into what is shown and what is sealed, and joins them.
import { Redacted, Schema } from "effect"
import { Credentials } from "../../../domain/signer/Vault.ts"
import type { ConfigOf, Prepared, RequestOf } from "./SignerBackend.ts"

export interface VaultLogin {
  readonly address: string
  readonly namespace?: string
  readonly credentials: Credentials
}

const Text = Schema.fromJsonString(Credentials)
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
