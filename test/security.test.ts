// Claims of SECURITY.md that no other test covers: what an attacker of each kind cannot do. Processes run by the clock of the machine.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as OpenApi from "../faults/fuzz/OpenApi.ts"
import { Scope } from "../src/domain/access/ApiKey.ts"
import * as Target from "../testkit/Target.ts"
import { folder, postgresFolder, postgresPid } from "../testkit/process/Folder.ts"
import * as Service from "../testkit/process/Service.ts"
import { evmNetwork } from "./server/networks/fixtures.ts"
import { config, keystore, passphrase, prepared } from "./server/signers/fixtures.ts"
import { evmRelayer, notification, signer } from "../testkit/fixtures.ts"
import { layerEach } from "../testkit/layerEach.ts"
import * as Prepared from "../testkit/Prepared.ts"
import * as TestApi from "../testkit/TestApi.ts"
import { Vault, roleId, secretId } from "../testkit/Vault.ts"

const key = "4c0883a69102937d6231471b5dbb6204fe512961708279f2e4b1d6a3c5f78e9a"

/** A secret as text, hex and base64, and the same of the bytes of a hex key; in lower case. */
const forms = (secret: string) =>
  [Buffer.from(secret), ...(/^[0-9a-f]{64}$/.test(secret) ? [Buffer.from(secret, "hex")] : [])].flatMap((bytes) =>
    [bytes.toString("latin1"), bytes.toString("hex"), bytes.toString("base64").replace(/=+$/, "")].map((form) =>
      form.toLowerCase()
    )
  )

/** All rows of all tables as one text in lower case. */
const dump = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
  const rows = yield* Effect.forEach(
    tables,
    ({ name }) => sql<{ readonly text: string }>`SELECT row_to_json(t)::text AS text FROM ${sql(name)} t`
  )
  return rows
    .flat()
    .map(({ text }) => text)
    .join("\n")
    .toLowerCase()
})

layerEach(Layer.provideMerge(TestApi.layer(), Vault.layer))("an attacker with the database alone", (it) => {
  it.effect("finds no key of a signer, a caller or a provider in any column of any table", () =>
    Effect.gen(function* () {
      const { create } = Prepared
      yield* create("signers", { ...signer, config: { key } })
      yield* create("signers", { id: "local-1", type: "local", config: { keystore, passphrase } })
      yield* create("signers", { id: "vault-1", type: "vault", config: config(yield* prepared) })
      yield* create("notifications", notification)
      yield* create("networks", { ...evmNetwork, rpc_urls: ["https://rpc.example.com/v1/network-secret"] })
      yield* create("relayers", evmRelayer)
      const made = yield* Prepared.createKey({ scopes: ["*"] }, { headers: { "idempotency-key": "kept" } })
      const text = yield* dump
      const secrets = [key, passphrase, roleId, secretId, notification.signing_key, "network-secret", "secret-path"]
      for (const secret of [...secrets, made, TestApi.apiKey]) {
        for (const form of forms(secret)) assert.isFalse(text.includes(form), `${secret} as ${form}`)
      }
      // Public values are found, which shows that the search works.
      for (const shown of ["local-1", "vault-1", notification.url]) assert.include(text, shown)
    })
  )

  it.effect("cannot call with the stored hash of an API key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.createKey({ scopes: ["*"] })
      const [row] = yield* sql<{ readonly hash: Uint8Array }>`SELECT hash FROM api_keys`
      const hash = Buffer.from(row?.hash ?? assert.fail("no hash"))
      for (const token of [hash.toString("hex"), hash.toString("base64"), `er_key_${hash.toString("base64url")}`]) {
        assert.strictEqual((yield* api.call("/api/v1/relayers", { key: token })).status, 401)
      }
    })
  )

  it.effect("cannot make one signer use the sealed key of another", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      yield* Prepared.create("signers", { id: "thief", type: "plain" })
      const verify = (id: string) => api.call(`/api/v1/signers/${id}/verify`, { method: "POST" })
      assert.include((yield* verify("thief")).text, '"verified":true')
      yield* sql`
        UPDATE signers SET key_sealed = (SELECT key_sealed FROM signers WHERE id = ${signer.id}) WHERE id = 'thief'`
      const { status, text } = yield* verify("thief")
      assert.notInclude(text, '"verified":true')
      assert.strictEqual(status, 500)
    })
  )
})

/**
 * Endpoints that need further scopes. A configuration has objects of all kinds, and needs the scope of reading of each: `Exporting.test.ts`.
 * A release of channels sends transactions: `transactions/stellar/Channels.test.ts`.
 */
const needMore = ["/{configuration}/document", "/channels/release"]

layer(TestApi.layer())("an attacker with an API key alone", (it) => {
  it.effect("can use exactly the endpoints whose scope the key has", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const make = (scopes: ReadonlyArray<string>) =>
        Effect.map(
          api.call("/api/v1/api-keys", { body: { name: "x", scopes } }),
          ({ json }) => (json.data as { readonly key: string }).key
        )
      for (const scope of Scope.literals) {
        const others = yield* make(Scope.literals.filter((other) => other !== scope))
        const alone = yield* make([scope])
        for (const { method, path, scope: needed } of OpenApi.operations.filter(
          (operation) => operation.scope === scope
        )) {
          const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === "network_id" ? "evm:none" : "none"))
          const status = (secret: string | null) =>
            Effect.map(api.call(target, { method, key: secret }), (answer) => answer.status)
          assert.strictEqual(yield* status(null), 401, `${method} ${path}`)
          assert.strictEqual(yield* status(others), 403, `${method} ${path} without ${needed}`)
          if (needMore.some((end) => path.endsWith(end))) continue
          assert.notInclude([401, 403], yield* status(alone), `${method} ${path} with ${needed}`)
        }
      }
    })
  )
})

layer(TestApi.layer({ outboundAllow: [] }))("a URL that a user gives", (it) => {
  it.effect("cannot point to an internal address, in any resource and notation", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const target = yield* Target.listen(net.createServer())
      const hosts = ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "a.localhost"]
      for (const [index, host] of hosts.entries()) {
        const url = `https://${host}:${target.port}/`
        const bodies = {
          notifications: { id: `n-${index}`, url },
          networks: { ...evmNetwork, name: `net-${index}`, rpc_urls: [url] },
          signers: { type: "vault", config: { address: url, role_id: "r", secret_id: "s", key_name: "k" } },
          relayers: { ...evmRelayer, custom_rpc_urls: [{ url }] }
        }
        for (const [resource, body] of Object.entries(bodies)) {
          const answer = yield* api.call(`/api/v1/${resource}`, { body })
          assert.strictEqual(answer.status, 400, `${resource} ${host}: ${answer.text}`)
          assert.match(answer.json.error ?? "", /points to a loopback (address|host)/)
        }
      }
      assert.strictEqual(target.sockets.length, 0)
    })
  )
})

describe("an attacker who sees the processes of the machine", () => {
  it.live(
    "finds no secret in their command lines or the environment of PostgreSQL, and no access to its socket",
    (context) =>
      Effect.gen(function* () {
        if (!fs.existsSync("/proc/self/environ")) context.skip("there is no /proc")
        const home = yield* folder
        const storageKey = Buffer.alloc(32, 5).toString("base64")
        const env = { API_KEY: Service.apiKey, STORAGE_ENCRYPTION_KEY: storageKey }
        const service = yield* Service.listen({ folder: home, env })
        const postgres = (yield* postgresPid(path.join(home, "data"))) ?? assert.fail("no PostgreSQL")
        const files = (yield* postgresFolder(path.join(home, "data"))) ?? assert.fail("no files")
        assert.strictEqual(fs.statSync(files).mode & 0o777, 0o700)
        assert.isTrue(fs.statSync(path.join(files, ".s.PGSQL.5432")).isSocket())
        const read = (pid: number, file: string) => fs.readFileSync(`/proc/${pid}/${file}`, "utf8")
        assert.include(read(service.pid, "environ"), storageKey)
        for (const [pid, file] of [
          [service.pid, "cmdline"],
          [postgres, "cmdline"],
          [postgres, "environ"]
        ] as const) {
          for (const secret of [Service.apiKey, storageKey]) assert.notInclude(read(pid, file), secret, file)
        }
      })
  )
})
