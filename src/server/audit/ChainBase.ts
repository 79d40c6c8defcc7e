// Where the chain of the audit log begins: at its first record, or after the last checkpoint whose records were pruned.
import { Effect, Option } from "effect"
import type { DateTime } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as AuditCheckpointsRepo from "./AuditCheckpointsRepo.ts"
import type { Row } from "./AuditCheckpointsRepo.ts"
import { origin } from "./Chain.ts"
import type { Link } from "./Chain.ts"

export interface Base extends Link {
  /** False: it is a checkpoint that the service has not written. */
  readonly isGenuine: boolean
}

type Checkpoint = Link & { readonly at: DateTime.Utc }

const macOf = (secret: string, { position, hash, at }: Checkpoint) =>
  createHmac("sha256", secret)
    .update(JSON.stringify([position, Buffer.from(hash).toString("hex"), at.epochMilliseconds]))
    .digest()

export const make = Effect.gen(function* () {
  const repo = yield* AuditCheckpointsRepo.make
  const secrets = yield* ServiceSecrets

  /** Authenticates a checkpoint, so that write access to the database is not enough to make one. */
  const sign = (checkpoint: Checkpoint) =>
    Effect.map(secrets.get("audit_checkpoints"), (secret) => macOf(secret, checkpoint))

  const checked = (row: Row) =>
    Effect.map(sign(row), (mac): Base => ({
      position: row.position,
      hash: row.hash,
      isGenuine: mac.length === row.mac.length && timingSafeEqual(mac, row.mac)
    }))

  const get = Effect.flatMap(
    repo.lastPruned,
    Option.match({ onNone: () => Effect.succeed<Base>({ ...origin, isGenuine: true }), onSome: checked })
  )

  /** The newest checkpoint, unless its records were pruned. The log must contain it. */
  const last = Effect.flatMap(
    Effect.map(
      repo.last,
      Option.filter(({ pruned_at }) => pruned_at === null)
    ),
    Option.match({ onNone: () => Effect.succeedNone, onSome: (row) => Effect.asSome(checked(row)) })
  )

  return { get, last, sign }
})
