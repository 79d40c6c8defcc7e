// Signing keys at rest, and what becomes of them when another one is given.
import { Effect, Option, Redacted } from "effect"
import type { UpdateNotification } from "../../domain/notification/Notification.ts"
import type { Secrets } from "../secrets/Secrets.ts"
import type { SealedKeys } from "./NotificationsRepo.ts"

type Column = "signing_key" | "previous_signing_key"

const place = (id: string, column: Column) => ({ table: "notifications", id, column })

export const seal = (secrets: Secrets["Service"], id: string, key: Redacted.Redacted, column: Column = "signing_key") =>
  secrets.seal(key, place(id, column))

export const open = (secrets: Secrets["Service"], id: string, sealed: Uint8Array, column: Column) =>
  secrets.open(sealed, place(id, column))

/**
 * What is stored when `given` replaces the key `sealed`; undefined where nothing changes. The same key once more changes
 * nothing: a patch that is sent twice does not push out the key before.
 */
export const replace = Effect.fnUntraced(function* (
  secrets: Secrets["Service"],
  id: string,
  sealed: Option.Option<Uint8Array>,
  given: UpdateNotification["signing_key"]
): Effect.fn.Return<SealedKeys | undefined> {
  if (given === undefined) return undefined
  if (given === "") return { current: undefined, previous: undefined }
  const current = yield* seal(secrets, id, given)
  if (Option.isNone(sealed)) return { current, previous: undefined }
  const before = yield* Effect.option(open(secrets, id, sealed.value, "signing_key"))
  // What cannot be read cannot sign either.
  if (Option.isNone(before)) return { current, previous: undefined }
  if (Redacted.value(before.value) === Redacted.value(given)) return undefined
  return { current, previous: yield* seal(secrets, id, before.value, "previous_signing_key") }
})
