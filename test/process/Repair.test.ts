// `repair` lists rows that cannot be verified, and accepts those that the operator names: beside a running service, and on the embedded database.
// Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ran, running } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as UnreadableRows from "../../testkit/UnreadableRows.ts"

const relayer = {
  id: "main",
  name: "main",
  network: "sepolia",
  network_type: "evm",
  paused: false,
  signer_id: "hot"
}

const create = Effect.fnUntraced(function* (call: Service.Listening["call"]) {
  for (const [path, body] of [
    ["signers", { id: "hot", type: "plain" }],
    ["relayers", relayer]
  ] as const) {
    const { status, text } = yield* call(`/api/v1/${path}`, { body })
    assert.strictEqual(status, 201, text)
  }
})

/** What `repair` says to run for each row. */
const commandsIn = (stdout: string) =>
  [...stdout.matchAll(/repair (--accept (\S+)=[0-9a-f]{64})$/gm)].map(([, flags = "", name = ""]) => ({
    name,
    flags: flags.split(" ")
  }))

describe("repair", () => {
  it.live("accepts rows by their names and fingerprints, while the service runs", () =>
    Effect.gen(function* () {
      const { service, env, output, call } = yield* running()
      const database = new URL(env["DATABASE_URL"] ?? "").pathname.slice(1)
      const onDatabase = Effect.provide(
        Layer.fresh(PgClient.layer({ ...clientConfig(inject("postgres"), database), maxConnections: 1 }))
      )
      const repair = (...flags: ReadonlyArray<string>) => call(["repair", ...flags], env)

      yield* create(service.call)
      assert.strictEqual((yield* repair()).stdout, "All 2 rows of signers, relayers and networks can be verified.\n")
      yield* onDatabase(UnreadableRows.loseEarlierSecret)

      for (const resource of ["relayers", "signers"]) {
        const listed = yield* call([resource, "list"])
        assert.match(listed.stdout, /^(main|hot) .*unreadable/m)
        assert.include(listed.stderr, "cannot be verified: another program or a person changed it")
        const asJson = yield* call([resource, "list", "--output", "json"])
        assert.deepStrictEqual([JSON.parse(asJson.stdout), asJson.stderr], [[], listed.stderr])
      }

      const { stdout } = yield* repair()
      assert.include(stdout, "2 of 2 rows of signers, relayers and networks cannot be verified.")
      assert.match(stdout, /^The audit log has 2 records that fit together; its head is 2:[0-9a-f]{64}\.$/m)
      assert.match(stdout, /^ {2}seal +proves: /m)
      const commands = commandsIn(stdout)
      assert.deepStrictEqual(
        commands.map(({ name }) => name),
        ["signers/hot", "relayers/main"]
      )
      for (const [flags, message] of [
        [["--accept", "all"], "--accept all: must be TABLE/ID=FINGERPRINT"],
        [["--accept", "relayers/main=00"], "relayers/main: the row or the evidence is not as it was listed"]
      ] as const) {
        const refused = yield* repair(...flags)
        assert.strictEqual(refused.code, 1)
        assert.include(refused.stderr, message)
      }
      assert.deepStrictEqual(commandsIn((yield* repair()).stdout), commands)

      // The address of the relayer is changed between the list and the decision.
      const stranger = "0x000000000000000000000000000000000000dead"
      yield* onDatabase(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE relayers SET name = address, address = ${stranger}`)
      )
      const both = commands.flatMap(({ flags }) => flags)
      const contradicted = yield* repair(...both)
      assert.strictEqual(contradicted.code, 1)
      assert.include(contradicted.stderr, "its address is not that of the signer hot on evm")
      yield* onDatabase(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE relayers SET address = name`))

      // It has its former columns again, and was written after the secret: the evidence is another one.
      const stale = yield* repair(...both)
      assert.strictEqual(stale.code, 1)
      assert.include(stale.stderr, "relayers/main: the row or the evidence is not as it was listed")

      const accepted = yield* repair(...commandsIn((yield* repair()).stdout).flatMap(({ flags }) => flags))
      assert.strictEqual(accepted.code, 0, accepted.stderr)
      assert.include(accepted.stdout, "accepted signers/hot\naccepted relayers/main\nAll 2 rows")
      assert.notInclude(yield* output("relayers", "list"), "unreadable")
      assert.match(
        yield* output("audit", "list", "--action", "signer.repaired"),
        /effect-relayer repair +signer.repaired +hot/
      )
    })
  )

  it.live("uses the embedded database, running or not, and never makes one", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const repair = ran({ folder: home, flags: ["repair"] })
      const missing = yield* repair
      assert.strictEqual(missing.code, 1)
      assert.include(missing.stderr, "there is no database in ")
      const all = "All 2 rows of signers, relayers and networks can be verified.\n"
      const service = yield* Service.listen({ folder: home, flags: ["serve"] })
      yield* create(service.call)
      assert.strictEqual((yield* repair).stdout, all)
      yield* Service.stop(service)
      assert.strictEqual((yield* repair).stdout, all)
    })
  )
})
