// Where a key is in HashiCorp Vault, and how the service logs in.
import { Effect, Schema } from "effect"
import { ShownUrl } from "../chain/Rpc.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Text.ts"

const path = (pattern: RegExp, expected: string) =>
  Schema.String.check(Schema.isMaxLength(256), Schema.isPattern(pattern, { expected }))

/** No part is empty or starts with a dot, so a path cannot leave its mount point. */
export const Path = path(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/u,
  "a path of letters, digits, dashes, underscores and dots, no part of which is empty or starts with a dot"
)

/** A path with one part. */
export const Name = path(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/u,
  "a name of letters, digits, dashes, underscores and dots that does not start with a dot"
)

const Credential = Schema.RedactedFromValue(text(1, 1024))

/** Credentials of an AppRole. */
export const Credentials = Schema.Struct({
  role_id: field(Credential, "Role id of an AppRole.", "59d6d1ca-47bb-4e7e-a40b-8be3bc5a0ba8"),
  secret_id: field(Credential, "Secret id of the AppRole.", "84896a0c-1347-aa90-a4f6-aca8b7558780")
})
export type Credentials = typeof Credentials.Type

const address = "URL of Vault. It may have a path if Vault is behind a proxy."

export const requested = {
  address: field(ShownUrl, address, "https://vault.example.com"),
  namespace: maybe(Path, { description: "Namespace in Vault Enterprise.", examples: ["team-a"] }),
  ...Credentials.fields
}

export const mountPoint = (usual: string) =>
  field(
    Path.pipe(Schema.withDecodingDefaultKey(Effect.succeed(usual))),
    `Mount point of the engine. The default is ${usual}.`,
    usual
  )

/** The fields that are not secret. */
export const shown = {
  address: field(Shown.Url, address, "https://vault.example.com"),
  namespace: Schema.optionalKey(field(Shown.Path, "Namespace in Vault Enterprise.", "team-a")),
  key_name: field(Shown.Path, "Name or path of the key.", "hot-1"),
  mount_point: field(Shown.Path, "Mount point of the engine.", "secret")
}

export const pubkey = "The ed25519 public key: 32 bytes as base64."

export const examplePubkey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/** 32 bytes as base64. The last digit before the padding holds four bits. */
export const Pubkey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/u, { expected: "an ed25519 public key: 32 bytes as base64" })
)
