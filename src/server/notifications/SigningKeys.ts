// Seals and opens the signing keys of notifications, and decides which keys remain when a key is replaced.
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
 * The keys to store when `given` replaces the key `sealed`. `undefined`: nothing changes. This includes the same key again,
 * so that a repeated patch does not remove the previous key.
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
  // A key that cannot be opened cannot sign, so it is not kept as the previous key.
  if (Option.isNone(before)) return { current, previous: undefined }
  if (Redacted.value(before.value) === Redacted.value(given)) return undefined
  return { current, previous: yield* seal(secrets, id, before.value, "previous_signing_key") }
})
