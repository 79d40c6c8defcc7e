// Starts with master keys that the database was written with, and with other keys.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import * as StartFailed from "../../../src/process/StartFailed.ts"
import { WrongMasterKey } from "../../../src/server/masterKey/MasterKeys.ts"
import {
  addSigners,
  insertSigner,
  keys,
  markedKeys,
  openSigners,
  rotate,
  sealedBy,
  tested,
  withStart
} from "./Start.ts"

const [idOf1, idOf2] = ["72cd6e84", "75877bb4"]

it("the words about a mark that a given key does not open do not say that the key is wrong, and what to do", () => {
  const error = new WrongMasterKey({ unknown: [idOf1], isPartial: false, isGiven: true })
  const { message } = StartFailed.fromMasterKey(error)
  for (const text of [error.message, message]) {
    assert.include(text, `the database has a mark of the given master key (key id ${idOf1}) that does not open`)
    assert.notMatch(text, /another master key|other master keys/)
  }
  assert.match(message, /start the version that used the database last, and run its rotate-key, or restore a backup$/)
})

const start = (current: number, ...others: ReadonlyArray<number>) => withStart(keys(current, ...others))(Effect.void)

/** The error of a start that is refused, which leaves the table unchanged. */
const refusal = Effect.fnUntraced(function* (current: number, ...others: ReadonlyArray<number>) {
  const sql = yield* SqlClient.SqlClient
  const rows = sql`SELECT key_id, sealed FROM master_key ORDER BY key_id`
  const before = yield* rows
  const error = yield* Effect.flip(start(current, ...others))
  assert.instanceOf(error, WrongMasterKey)
  assert.notInclude(error.message, "\n")
  assert.deepStrictEqual(yield* rows, before)
  return { unknown: error.unknown, isPartial: error.isPartial, isGiven: error.isGiven }
})

describe("a start", () => {
  it.effect("adds one mark for its key", () =>
    Effect.gen(function* () {
      yield* start(1)
      const sql = yield* SqlClient.SqlClient
      const rows = sql`SELECT key_id, sealed FROM master_key`
      const before = yield* rows
      assert.deepStrictEqual(
        before.map(({ key_id }) => key_id),
        [idOf1]
      )
      yield* start(1)
      yield* start(1, 2)
      assert.deepStrictEqual(yield* rows, before)
    }).pipe(tested)
  )

  it.effect("with another key is refused and names the missing key", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("a"))
      for (const others of [[], [3]]) {
        assert.deepStrictEqual(yield* refusal(2, ...others), { unknown: [idOf1], isPartial: false, isGiven: false })
      }
      assert.deepStrictEqual(yield* withStart(keys(1))(openSigners), { a: "secret of a" })
    }).pipe(tested)
  )

  it.effect("with a new key reads older secrets if the old key is given as well", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("a"))
      const opened = yield* withStart(keys(2, 1))(Effect.andThen(addSigners("b"), openSigners))
      assert.deepStrictEqual(opened, { a: "secret of a", b: "secret of b" })
      assert.deepStrictEqual(yield* markedKeys, [1, 2])

      for (const others of [[], [3]]) {
        assert.deepStrictEqual(yield* refusal(2, ...others), { unknown: [idOf1], isPartial: true, isGiven: false })
      }
      assert.deepStrictEqual(yield* refusal(1), { unknown: [idOf2], isPartial: true, isGiven: false })
      assert.deepStrictEqual(yield* refusal(3, 1), { unknown: [idOf2], isPartial: true, isGiven: false })
      assert.deepStrictEqual(yield* refusal(3), { unknown: [idOf1, idOf2], isPartial: false, isGiven: false })
    }).pipe(tested)
  )

  it.effect("needs the old key until every value is re-wrapped, and then only the new one", () =>
    Effect.gen(function* () {
      yield* withStart(keys(1))(addSigners("a"))
      yield* withStart(keys(2, 1))(rotate)
      assert.deepStrictEqual(yield* withStart(keys(2))(openSigners), { a: "secret of a" })
      assert.deepStrictEqual(yield* refusal(1), { unknown: [idOf2], isPartial: false, isGiven: false })
      // Back to the first key.
      yield* start(1, 2)
      assert.deepStrictEqual(yield* markedKeys, [1, 2])
    }).pipe(tested)
  )

  it.effect(
    "is refused without a word about a wrong key if the mark of a given key is of another format or was changed",
    () =>
      Effect.gen(function* () {
        yield* start(1)
        const sql = yield* SqlClient.SqlClient
        const unopened = { unknown: [idOf1], isPartial: false, isGiven: true }
        yield* sql`UPDATE master_key SET sealed = set_byte(sealed, 0, 2)`
        assert.deepStrictEqual(yield* refusal(1), unopened)
        assert.deepStrictEqual(yield* refusal(2, 1), unopened)
        // Without the key that the mark names, that key is missing in any format.
        assert.deepStrictEqual(yield* refusal(2), { unknown: [idOf1], isPartial: false, isGiven: false })
        yield* sql`UPDATE master_key SET sealed = set_byte(set_byte(sealed, 0, 3), 70, get_byte(sealed, 70) # 1)`
        assert.deepStrictEqual(yield* refusal(1), unopened)
      }).pipe(tested)
  )

  it.effect("on an empty database succeeds with one key only, if several instances start with different keys", () =>
    Effect.gen(function* () {
      const exits = yield* Effect.forEach([1, 2, 3, 1, 2, 3], (byte) => Effect.exit(start(byte)), {
        concurrency: "unbounded"
      })
      const [marked, ...rest] = yield* markedKeys
      assert.isEmpty(rest)
      assert.deepStrictEqual(
        exits.map(Exit.isSuccess),
        [1, 2, 3, 1, 2, 3].map((byte) => byte === marked)
      )
    }).pipe(tested)
  )

  it.effect("adds the mark without which the database refuses values of a key", () =>
    Effect.gen(function* () {
      yield* start(1)
      const exit = yield* Effect.exit(insertSigner("a", sealedBy(2)))
      assert.include(JSON.stringify(exit), "signers_key_sealed_key_id_fkey")
      yield* start(2, 1)
      yield* insertSigner("a", sealedBy(2))
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM service_secrets`
      const removed = yield* Effect.exit(sql`DELETE FROM master_key`)
      assert.include(JSON.stringify(removed), "signers_key_sealed_key_id_fkey")
    }).pipe(tested)
  )
})
