// Creates relayers in batches: relayers that arrive while batches are written form the next one (ADR 0010, 0017).
import { Array, Cause, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Changes } from "../changes/Changes.ts"
import type { RelayerIdTaken, RelayerIsChannel } from "../../domain/relayer/Relayer.ts"
import { SignerId } from "../../domain/signer/Signer.ts"
import { isUnavailable } from "../../sql/Query.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { Signers } from "../signers/Signers.ts"
import * as NewRelayersRepo from "./NewRelayersRepo.ts"
import { ReferenceMissing } from "./NewRelayersRepo.ts"
import type { NewRelayer } from "./NewRelayersRepo.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"

export interface Creation extends Omit<NewRelayer, "account"> {
  readonly origin: Origin
}

type Placed = Creation & NewRelayer

interface Created {
  readonly relayer: StoredRelayer
  readonly origin: Origin
}

/**
 * The most relayers of a batch: half of those of 64 clients, so that the thread prepares one batch while the database writes the other. With
 * 16, with 24 and without a limit, creates of 64 clients took longer (ADR 0017).
 */
const size = 32

/** A batch that waits for a lock longer than this does not hold up the next one. */
const patience = "100 millis"

const signerOf = ({ request }: Creation) => SignerId.make(request.signer_id)

/** Creates a relayer and records it in one transaction. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* NewRelayersRepo.make
  const signers = yield* Signers
  const macs = yield* RelayerMacs
  const changes = yield* Changes
  const checkDue = yield* commitSignalOf("health_checks")
  const transaction = yield* Transaction.make

  const record = Effect.fnUntraced(function* (created: ReadonlyArray<Created>) {
    if (created.length === 0) return
    yield* changes.recordRelayers(
      created.map(({ relayer, origin }) => ({ action: "relayer.created", after: relayer.value, origin }))
    )
    yield* checkDue.afterCommit
  })

  /** With the verified address of its signer. `undefined` if the signer does not exist or has no such address. */
  const withAccounts = Effect.fnUntraced(function* (
    creations: ReadonlyArray<Creation>,
    options: { readonly wait: boolean }
  ) {
    const ids = Array.dedupe(creations.map(signerOf))
    const held = yield* signers.hold(ids, options)
    return yield* Effect.forEach(creations, (creation) => {
      const { signer_id, network_type, network } = creation.request
      const address = held.get(signerOf(creation))?.[network_type]
      if (address === undefined) return Effect.undefined
      const identity = { id: creation.id, network_type, network, signer_id, address }
      return Effect.map(macs.make(identity), (mac): Placed => ({ ...creation, account: { address, mac } }))
    })
  })

  const createAll = Effect.fnUntraced(function* (creations: ReadonlyArray<Creation>) {
    const placed = yield* withAccounts(creations, { wait: false })
    const known = placed.filter((creation) => creation !== undefined)
    const made = new Map(Array.zip(known, yield* repo.insertAll(known)))
    const inserted = placed.map((creation) => (creation && made.get(creation)) ?? Option.none<StoredRelayer>())
    const created = Array.zipWith(inserted, creations, (relayer, { origin }) =>
      Option.map(relayer, (relayer): Created => ({ relayer, origin }))
    )
    yield* record(Array.getSomes(created))
    return inserted
  }, transaction)

  let isFailing = false

  /** The batch failed as a whole, for example by a deadlock. Each relayer is then created alone and reports its own error. */
  const separate = (creations: ReadonlyArray<Creation>, defect: unknown) => {
    const warning = isFailing
      ? Effect.void
      : Effect.logWarning("relayers are created one by one because their batch failed", Cause.die(defect))
    isFailing = true
    return Effect.as(warning, creations.map(Option.none<StoredRelayer>))
  }

  const createBatch = yield* Batcher.make<Creation, Option.Option<StoredRelayer>>(sql, {
    size,
    patience,
    all: (creations) =>
      createAll(creations).pipe(
        Effect.tap(Effect.sync(() => (isFailing = false))),
        Effect.catchDefect((defect) =>
          isUnavailable(defect) ? Effect.die(defect) : Effect.suspend(() => separate(creations, defect))
        )
      )
  })

  const createAlone = Effect.fnUntraced(function* (creation: Creation) {
    const [placed] = yield* withAccounts([creation], { wait: true })
    const relayer = yield* placed === undefined ? Effect.fail(new ReferenceMissing({})) : repo.insert(placed)
    yield* record([{ relayer, origin: creation.origin }])
    return relayer
  }, transaction)

  return (creation: Creation): Effect.Effect<StoredRelayer, RelayerIdTaken | RelayerIsChannel | ReferenceMissing> =>
    Effect.flatMap(
      createBatch(creation),
      Option.match({ onNone: () => createAlone(creation), onSome: (stored) => Effect.succeed(stored) })
    )
})
