// Where a key lies in HashiCorp Vault, and how to log in there.
import { Effect, Schema } from "effect"
import { ShownUrl } from "../chain/Rpc.ts"
import { maybe, text } from "../request/Text.ts"

const path = (pattern: RegExp, expected: string) =>
  Schema.String.check(Schema.isMaxLength(256), Schema.isPattern(pattern, { expected }))

/** No part is empty or starts with a dot: what is called stays below what it was meant for. */
export const Path = path(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/u,
  "a path of letters, digits, dashes, underscores and dots, no part of which is empty or starts with a dot"
)

/** A path of one part. */
export const Name = path(
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/u,
  "a name of letters, digits, dashes, underscores and dots that does not start with a dot"
)

const Credential = Schema.RedactedFromValue(text(1, 1024))

/** Of an AppRole. */
export const Credentials = Schema.Struct({ role_id: Credential, secret_id: Credential })
export type Credentials = typeof Credentials.Type

export const requested = {
  /** May have a path, where Vault stands behind a proxy. */
  address: ShownUrl,
  namespace: maybe(Path),
  ...Credentials.fields
}

/** Absent: `usual`. */
export const mountPoint = (usual: string) => Path.pipe(Schema.withDecodingDefaultKey(Effect.succeed(usual)))

/** What of it is no secret. */
export const shown = {
  address: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  key_name: Schema.String,
  mount_point: Schema.String
}
