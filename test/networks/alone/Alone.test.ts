// A program that serves one network type loads nothing of the others, refuses what callers ask about them, and leaves their work to other
// programs on its database. The tests use the clock of the machine: they wait for requests over HTTP and for programs.
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as path from "node:path"
import { promisify } from "node:util"
import { evm } from "../../../src/networks/evm/index.ts"
import { solana } from "../../../src/networks/solana/index.ts"
import * as HealthRepo from "../../../src/server/health/HealthRepo.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { key } from "../../server/lanes/fixtures.ts"
import { sol, transfer } from "../solana/lane/World.ts"

const root = path.resolve(import.meta.dirname, "../../..")

/** The modules of the source, and of packages, that a program loads with these imports. */
const loadedBy = (...imports: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const program = path.join(import.meta.dirname, "loaded.ts")
    const hooks = path.join(root, "testkit/FromSource.ts")
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", hooks, program, ...imports], {
      cwd: root,
      maxBuffer: 2 ** 24
    })
    return stdout.split("\n").filter((url) => url.includes("/src/") || url.includes("/node_modules/"))
  })

/** What tells the files and the packages of a network type. */
const traces = {
  evm: /\/src\/networks\/evm\/|\/node_modules\/(viem|tiny-secp256k1)\//,
  solana: /\/src\/networks\/solana\/|\/node_modules\/@solana\//,
  stellar: /\/src\/networks\/stellar\/|\/node_modules\/@stellar\//
}

const types = ["evm", "solana", "stellar"] as const

/** What each of the programs may load of the others. */
const contractModules = Effect.runSync(
  Effect.cached(Effect.map(loadedBy("effect-relayer/api", "effect-relayer/domain"), (urls) => new Set(urls)))
)

describe("a program that composes one network type", () => {
  it.effect.each(types)("loads no module of the others besides the schemas of the contract: %s", (type) =>
    Effect.gen(function* () {
      const contract = yield* contractModules
      const loaded = yield* loadedBy("effect-relayer", `effect-relayer/${type}`)
      const own = loaded.filter((url) => traces[type].test(url))
      assert.isAbove(own.length, 20)
      const foreign = loaded.filter(
        (url) => !contract.has(url) && types.some((other) => other !== type && traces[other].test(url))
      )
      assert.deepStrictEqual(foreign, [])
    })
  )
})

/** The API on a program that serves every network type. */
const api = TestApi.layer().pipe(Layer.provideMerge(Logger.layer([])))

/** The same database, by a program that serves only these. */
const alone = (networks: TestApi.Options["networks"] = [evm]) =>
  Effect.gen(function* () {
    const database = Layer.succeed(SqlClient.SqlClient, yield* SqlClient.SqlClient)
    const context = yield* Layer.build(Layer.fresh(TestApi.layerWith({ networks }, database)))
    return Context.get(context, TestApi.TestApi)
  })

/** A relayer that the program with all network types has created. */
const relayer = Effect.fnUntraced(function* (network_type: "evm" | "solana", network: string) {
  const id = randomUUID()
  yield* Prepared.create("signers", { id, type: "plain", config: { key: key() } })
  const policies = network_type === "solana" ? { fee_payment_strategy: "relayer" } : {}
  const body = { id, name: "Alone", network_type, network, policies, signer_id: id, paused: false }
  const { address } = (yield* Prepared.create("relayers", body)) as { readonly address?: string }
  return { id, path: `/api/v1/relayers/${id}`, address: address ?? assert.fail("the relayer has no address") }
})

const unserved = "the program that runs this service does not serve solana"

layer(api, { excludeTestServices: true })("a program that serves evm alone", (it) => {
  it.effect("creates no relayer and no network of another type, and says which field is wrong", () =>
    Effect.gen(function* () {
      const { call } = yield* alone()
      const signer = randomUUID()
      yield* Prepared.create("signers", { id: signer, type: "plain", config: { key: key() } })
      const body = {
        id: signer,
        name: "S",
        network_type: "solana",
        network: "devnet",
        signer_id: signer,
        paused: false
      }
      const refused = yield* call("/api/v1/relayers", { body })
      assert.deepStrictEqual([refused.status, refused.json.error], [400, `network_type: ${unserved}`])
      assert.strictEqual((yield* call(`/api/v1/relayers/${signer}`)).status, 404)
      const network = { network_type: "solana", name: signer, from: "devnet" }
      const other = yield* call("/api/v1/networks", { body: network })
      assert.deepStrictEqual([other.status, other.json.error], [400, `network_type: ${unserved}`])
      assert.strictEqual(
        (yield* call("/api/v1/relayers", { body: { ...body, network_type: "evm", network: "sepolia" } })).status,
        201
      )
    })
  )

  it.effect("answers 501 to requests about relayers of another type", () =>
    Effect.gen(function* () {
      const { call } = yield* alone()
      const { address, path } = yield* relayer("solana", "devnet")
      const requests: ReadonlyArray<readonly [string, unknown]> = [
        ["/transactions", transfer(address, sol)],
        ["/transactions/simulate", transfer(address, sol)],
        ["/sign", { message: "hello" }],
        ["/sign-transaction", { transaction: "AQ==" }],
        ["/rpc", { method: "getHealth" }],
        ["/policies/rehearse", { policies: {} }],
        ["/check", undefined],
        ["/nonce/resync", { answer: "send" }]
      ]
      for (const [endpoint, body] of requests) {
        const { status, text } = yield* call(`${path}${endpoint}`, { method: "POST", body })
        assert.strictEqual(status, 501, `${endpoint}: ${text}`)
      }
      for (const endpoint of ["/nonce", "/balance", `/transactions/${randomUUID()}/fees`]) {
        const { status, text } = yield* call(`${path}${endpoint}`)
        assert.strictEqual(status, 501, `${endpoint}: ${text}`)
      }
      const shown = yield* call(`${path}/status`)
      assert.deepInclude(shown.json.data as object, { live: false, health: "unknown" })
    })
  )

  it.effect("shows what is stored of another type, and cancels none of it", () =>
    Effect.gen(function* () {
      const { call } = yield* alone()
      const { address, path } = yield* relayer("solana", "devnet")
      const sent = yield* TestApi.call(`${path}/transactions`, { body: transfer(address, sol) })
      assert.strictEqual(sent.status, 200, sent.text)
      const { id } = sent.json.data as { readonly id: string }
      const shown = yield* call(`${path}/transactions/${id}`)
      assert.strictEqual(shown.status, 200, shown.text)
      assert.deepInclude(shown.json.data as object, { network_type: "unserved_solana", status: "pending" })
      assert.strictEqual((yield* call("/api/v1/transactions")).status, 200)
      assert.strictEqual((yield* call(`${path}/transactions/${id}`, { method: "DELETE" })).status, 409)
      const after = yield* TestApi.call(`${path}/transactions/${id}`)
      assert.deepInclude(after.json.data as object, { network_type: "solana", status: "pending" })
    })
  )
})

layer(api, { excludeTestServices: true })("the health job of a program that serves some network types", (it) => {
  it.effect("claims no check of the other ones", () =>
    Effect.gen(function* () {
      const own = yield* relayer("evm", "sepolia")
      const other = yield* relayer("solana", "devnet")
      const repo = yield* HealthRepo.make
      const claiming = { limit: 10, lease: 60_000, horizon: 120_000 }
      const claimed = yield* repo.claim({ ...claiming, token: "a", unserved: ["solana", "stellar"] })
      assert.deepStrictEqual(
        claimed.map(({ id }) => `${id}`),
        [own.id]
      )
      const left = yield* repo.claim({ ...claiming, token: "b", unserved: [] })
      assert.deepStrictEqual(
        left.map(({ id }) => `${id}`),
        [other.id]
      )
    })
  )
})

layer(api, { excludeTestServices: true })("a program that serves solana alone", (it) => {
  it.effect("refuses the endpoints that only evm has, by the network type of the relayer", () =>
    Effect.gen(function* () {
      const { call } = yield* alone([solana])
      const { path } = yield* relayer("solana", "devnet")
      const rehearsed = yield* call(`${path}/policies/rehearse`, { body: { policies: {} } })
      assert.deepStrictEqual(
        [rehearsed.status, rehearsed.json.error],
        [501, "policies of solana relayers cannot be tried on the past"]
      )
      const fees = yield* call(`${path}/transactions/${randomUUID()}/fees`)
      assert.deepStrictEqual([fees.status, fees.json.error], [501, "transactions of solana have no base fees"])
      const signed = yield* call(`${path}/sign`, { body: { message: "hello" } })
      const signedByAll = yield* TestApi.call(`${path}/sign`, { body: { message: "hello" } })
      assert.deepStrictEqual([signed.status, signedByAll.status], [400, 400], signedByAll.text)
      const cleared = yield* call(`${path}/nonce/clear`, { body: { from: 0, to: 1 } })
      assert.strictEqual(cleared.status, 409, cleared.text)
    })
  )
})
