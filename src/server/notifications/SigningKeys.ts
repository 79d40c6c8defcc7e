// Signing keys at rest. Each is sealed together with the URL that it signs for.
import { Effect, Option, Redacted } from "effect"
import type { Notification, UpdateNotification } from "../../domain/notification/Notification.ts"
import type { Secrets } from "../secrets/Secrets.ts"
import type { ReplacedKeys, SealedKeys } from "./NotificationsRepo.ts"

type Column = "signing_key" | "previous_signing_key"

/** The notification and the URL of a signing key. */
export type Receiver = Pick<Notification, "id" | "url">

const place = ({ id, url }: Receiver, column: Column) => ({ table: "notifications", id, column, context: { url } })

export const seal = (
  secrets: Secrets["Service"],
  receiver: Receiver,
  key: Redacted.Redacted,
  column: Column = "signing_key"
) => secrets.seal(key, place(receiver, column))

export const open = (secrets: Secrets["Service"], receiver: Receiver, sealed: Uint8Array, column: Column) =>
  secrets.open(sealed, place(receiver, column))

export interface Change {
  readonly before: Receiver
  readonly after: Receiver
  readonly stored: SealedKeys
  readonly given: UpdateNotification["signing_key"]
}

/** The keys for the URL after the change. */
const move = Effect.fnUntraced(function* (secrets: Secrets["Service"], { before, after, stored }: Change) {
  const reseal = (column: Column, sealed: Uint8Array | undefined) =>
    sealed === undefined
      ? Effect.undefined
      : Effect.flatMap(open(secrets, before, sealed, column), (key) => seal(secrets, after, key, column))
  const keys: ReplacedKeys = {
    current: yield* reseal("signing_key", stored.current),
    previous: yield* reseal("previous_signing_key", stored.previous),
    isRotated: false
  }
  return keys
}, Effect.orDie)

/**
 * The keys after a change of the key or the URL; `undefined` if they stay as they are. The same key again changes nothing, so
 * that a patch that is sent twice does not remove the previous key. A stored key that does not open can only be replaced.
 */
export const replace = Effect.fnUntraced(function* (
  secrets: Secrets["Service"],
  change: Change
): Effect.fn.Return<ReplacedKeys | undefined> {
  const { before, after, stored, given } = change
  if (given === "") {
    const hasKey = stored.current !== undefined || stored.previous !== undefined
    return hasKey ? { isRotated: false } : undefined
  }
  if (given !== undefined) {
    const sealed = stored.current
    const opened =
      sealed === undefined ? Option.none() : yield* Effect.option(open(secrets, before, sealed, "signing_key"))
    const isSame = Option.isSome(opened) && Redacted.value(opened.value) === Redacted.value(given)
    if (!isSame) {
      const previous = Option.map(opened, (key) => seal(secrets, after, key, "previous_signing_key"))
      return {
        current: yield* seal(secrets, after, given),
        previous: Option.isNone(previous) ? undefined : yield* previous.value,
        isRotated: true
      }
    }
  }
  return before.url === after.url ? undefined : yield* move(secrets, change)
})
