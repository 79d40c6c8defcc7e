// Finds the caller of an API key, for requests and for sessions.
import { Cache, DateTime, Duration, Effect, Exit, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { TransactionLimits } from "../../domain/transaction/TransactionLimits.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { Strangers } from "../limits/Strangers.ts"
import { currentAddress } from "../responses/CurrentRequest.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"
import type { Holder } from "./ApiKeysRepo.ts"
import { hashKey, isWellFormed } from "./Key.ts"
import * as KeyUse from "./KeyUse.ts"

const decodeLimits = Schema.decodeSync(Schema.fromJsonString(TransactionLimits))

/** The number of unknown keys in memory. A repeated unknown key causes no further query. */
const maxUnknown = 10_000

/** The number of valid keys in memory. */
const maxValid = 10_000

/** A valid key as a caller, with its name and the hashes of its valid values. */
export interface PresentKey {
  readonly caller: Caller.Caller
  readonly name: string
  readonly hashes: ReadonlyArray<Uint8Array>
}

const toCaller = ({ id, scopes, relayer_ids, transaction_limits }: Holder): Caller.Caller => ({
  id,
  scopes,
  isStored: true,
  ...(relayer_ids === null ? {} : { relayerIds: relayer_ids }),
  ...(transaction_limits === null ? {} : { transactionLimits: decodeLimits(transaction_limits) })
})

/** How long an unknown key is remembered. A database that is restored meanwhile may know it again. */
const unknownFor = Duration.minutes(1)

export const make = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const strangers = yield* Strangers
  const sql = yield* SqlClient.SqlClient
  const touch = yield* KeyUse.make

  const findByHash = yield* Batcher.make<string, Option.Option<Holder>>(sql, {
    all: (hashes) => Effect.flatMap(DateTime.now, (now) => repo.findByHashes(hashes, now))
  })

  const unknown = yield* Cache.makeWith((hash: string) => findByHash(hash), {
    capacity: maxUnknown,
    timeToLive: (exit) => (Exit.isSuccess(exit) && Option.isNone(exit.value) ? unknownFor : Duration.zero)
  })

  /** What the transaction of a host program reads may be rolled back, so it is not remembered. */
  const lookUp = (hash: string) =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (running) =>
      Option.isSome(running) ? findByHash(hash) : Cache.get(unknown, hash)
    )

  /** Hashes of keys that were valid lately, the latest last. Such a key is looked up, whatever else its address sends. */
  const valid = new Set<string>()
  const remember = (hash: string) => {
    const oldest = valid.keys().next()
    if (!valid.delete(hash) && valid.size >= maxValid && oldest.done !== true) valid.delete(oldest.value)
    valid.add(hash)
  }

  const find = Effect.fnUntraced(function* (key: Redacted.Redacted, from: string | undefined) {
    if (!isWellFormed(key)) return Option.none()
    const hash = Hex.encode(hashKey(key))
    if (!valid.has(hash) && strangers.isBlocked(from)) return yield* new Caller.TooManyRequests({ retryAfter: 1 })
    const found = yield* lookUp(hash)
    if (Option.isNone(found)) return Option.none()
    remember(hash)
    yield* touch(found.value.id, from)
    return Option.some(toCaller(found.value))
  })

  const present = Effect.fnUntraced(function* (id: string) {
    const found = yield* repo.findPresent(id, yield* DateTime.now)
    if (Option.isNone(found)) return Option.none()
    yield* touch(found.value.id, yield* currentAddress)
    const { name, hashes } = found.value
    return Option.some<PresentKey>({ caller: toCaller(found.value), name, hashes })
  })

  const namesOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    return yield* repo.findNames(ids, yield* DateTime.now)
  })

  return { find, present, namesOf }
})
