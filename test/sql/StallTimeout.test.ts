// A database whose connections fall silent. Sockets time out by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as net from "node:net"
import * as Sql from "../../src/sql/Sql.ts"
import { addressOf, stallingConnector } from "../../src/sql/Connection.ts"
import * as Transaction from "../../src/sql/Transaction.ts"
import { isUnavailable } from "../../src/sql/Transaction.ts"
import { onServer } from "../../testkit/process/Service.ts"
import * as Freezer from "../../testkit/Freezer.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

/** A pool with one connection to the database, which can be frozen. */
const world = Effect.gen(function* () {
  const url = new URL(onServer(inject("postgres"), yield* TestDatabase.make).DATABASE_URL ?? "")
  const freezer = yield* Freezer.make(addressOf({ url: Redacted.make(url.href) }))
  url.search = ""
  url.host = `127.0.0.1:${freezer.port}`
  const pool: Sql.PoolOptions = { statementTimeout: "300 millis", maxConnections: 1 }
  const context = yield* Layer.build(Sql.layer({ _tag: "Url", url: Redacted.make(url.href), pool }))
  return { freezer, context }
})

/** A server that answers the first bytes of a connection and then sends nothing. */
const echoOnce = Effect.map(
  Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const server = net.createServer((socket) =>
        socket.once("data", (chunk) => socket.write(chunk)).on("error", () => undefined)
      )
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ),
  (server) => (server.address() as net.AddressInfo).port
)

const assertUnavailable = <A, E>(exit: Exit.Exit<A, E>) => {
  assert.isTrue(Exit.isFailure(exit))
  if (Exit.isFailure(exit)) assert.isTrue(isUnavailable(Cause.squash(exit.cause)), Cause.pretty(exit.cause))
}

describe("a database that is frozen", () => {
  it.live("fails statements and commits as unavailable, and is used again when it is back", () =>
    Effect.gen(function* () {
      const { freezer, context } = yield* world
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const transaction = yield* Transaction.make
        const one = sql<{ one: number }>`SELECT 1 AS one`
        assert.deepStrictEqual(yield* one, [{ one: 1 }])

        yield* freezer.freeze
        assertUnavailable(yield* Effect.exit(one))
        yield* freezer.thaw
        assert.deepStrictEqual(yield* one, [{ one: 1 }])

        const commit = transaction(Effect.andThen(one, freezer.freeze))
        assertUnavailable(yield* Effect.exit(commit))
        yield* freezer.thaw
        assert.deepStrictEqual(yield* one, [{ one: 1 }])
      }).pipe(Effect.provideContext(context))
    })
  )

  it.live("is not assumed for a connection that was answered or that has no statement in progress", () =>
    Effect.gen(function* () {
      const port = yield* echoOnce
      const connect = yield* stallingConnector({ host: "127.0.0.1", port }, 50)
      const [unasked, answered, silent] = [connect(), connect(), connect()]
      const answer = new Promise((resolve) => answered.once("data", resolve))
      answered.write("x")
      yield* Effect.promise(() => answer)
      silent.write("x")
      const error = new Promise((resolve) => silent.once("error", resolve))
      yield* Effect.promise(() => new Promise((resolve) => silent.once("data", resolve)))
      silent.write("again")
      assert.instanceOf(yield* Effect.promise(() => error), Error)
      assert.isTrue(silent.destroyed)
      assert.isFalse(unasked.destroyed)
      assert.isFalse(answered.destroyed)
      unasked.destroy()
      answered.destroy()
    })
  )
})
