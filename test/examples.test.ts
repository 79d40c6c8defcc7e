// The programs in examples/ work as they describe. Anvil makes blocks by the clock of the machine.
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import type { SqlClient } from "effect/sql"
import { TestConsole } from "effect/testing"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import * as Client from "../examples/client.ts"
import * as OwnChain from "../examples/own-chain.ts"
import * as OwnKeys from "../examples/own-keys.ts"
import * as OwnLimits from "../examples/own-limits.ts"
import * as OwnOutbound from "../examples/own-outbound.ts"
import * as OwnSigner from "../examples/own-signer.ts"
import * as Send from "../examples/send.ts"
import * as SendServices from "../examples/send-services.ts"
import * as WithoutHttp from "../examples/without-http.ts"
import { ApiClient, Relayers, Services } from "../src/index.ts"
import { networks } from "../src/process/Networks.ts"
import * as Anvil from "../testkit/Anvil.ts"
import * as TestApi from "../testkit/TestApi.ts"
import * as TestDatabase from "../testkit/TestDatabase.ts"
import { api } from "./server/lanes/fixtures.ts"
import { output, sponsored, sponsoring } from "./wallets/Setup.ts"

const masterKey = Redacted.make(TestApi.masterKey)

layer(TestApi.layer())("examples/send.ts", (it) => {
  it.effect("sends, returns the same transaction for the same external_id, and waits until it is final", () =>
    Effect.gen(function* () {
      const client = yield* ApiClient
      const { data: signer } = yield* client.signers.create({ payload: { type: "plain" } })
      const { data: relayer } = yield* client.relayers.create({
        query: {},
        payload: {
          name: "Sends",
          network: "sepolia",
          network_type: "evm",
          paused: false,
          signer_id: signer.id
        }
      })
      const to = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
      const sent = yield* Send.send(relayer.id, to, "once")
      assert.strictEqual(sent.status, "pending")
      assert.strictEqual((yield* Send.send(relayer.id, to, "once")).id, sent.id)
      const params = { relayer_id: relayer.id, transaction_id: sent.id }
      yield* client.transactions.cancel({ params, query: {} })
      assert.strictEqual((yield* Send.untilFinal(relayer.id, sent.id)).status, "canceled")
    })
  )
})

/** The key of a signer, and its account. */
const sender = { key: "11".repeat(32), address: "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a" }
const receiver = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

/** A chain on which the account of the signer has ten ether. */
const fundedChain = Effect.tap(Anvil.start({ blockTime: 1 }), ({ call }) =>
  call("anvil_setBalance", [sender.address, "0x8ac7230489e80000"])
)

describe("examples/send-services.ts", () => {
  it.live("sends without HTTP, and waits until the transaction is confirmed", () =>
    Effect.gen(function* () {
      const { call, url } = yield* fundedChain
      const before = BigInt(String(yield* call("eth_getBalance", [receiver, "latest"])))
      const services = Layer.provide(SendServices.services(masterKey), TestDatabase.layer)
      const given = { rpcUrl: url, chainId: 31_337, key: Redacted.make(sender.key), to: receiver }
      const shown = yield* Effect.provide(SendServices.program(given), services)
      assert.strictEqual(shown.status, "confirmed")
      assert.strictEqual(BigInt(String(yield* call("eth_getBalance", [receiver, "latest"]))) - before, 1n)
    })
  )
})

layer(TestApi.layer({ jobs: true }), { excludeTestServices: true })("examples/openzeppelin.mjs", (it) => {
  it.effect("sends with the published SDK, and waits until the transaction is confirmed", () =>
    Effect.gen(function* () {
      const { baseUrl, call } = yield* TestApi.TestApi
      const { url } = yield* fundedChain
      const network = { name: "anvil", from: "sepolia", network_type: "evm", chain_id: 31_337, rpc_urls: [url] }
      yield* call("/api/v1/networks", { body: { ...network, average_blocktime_ms: 1000, required_confirmations: 1 } })
      yield* call("/api/v1/signers", { body: { id: "sdk", type: "plain", config: { key: sender.key } } })
      const relayer = { id: "sdk", name: "SDK", network: "anvil", network_type: "evm", paused: false, signer_id: "sdk" }
      yield* call("/api/v1/relayers", { body: relayer })
      const script = path.join(import.meta.dirname, "../examples/openzeppelin.mjs")
      const { stdout } = yield* Effect.promise((signal) =>
        promisify(execFile)(process.execPath, [script, "sdk", receiver], {
          env: { RELAYER_URL: baseUrl, API_KEY: TestApi.apiKey },
          signal
        })
      )
      assert.match(stdout, /^relayers: sdk\nsent: [0-9a-f-]{36} pending\nended: confirmed 0x[0-9a-f]{64}\n$/)
    })
  )
})

describe("examples/own-keys.ts", () => {
  const host = Layer.provideMerge(OwnKeys.layer(masterKey, 0), Layer.merge(TestDatabase.layer, FetchHttpClient.layer))

  const clientOf = Effect.fnUntraced(function* (key: string) {
    const { address } = yield* HttpServer.HttpServer
    const options = { baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make(key) }
    return yield* Effect.provideContext(ApiClient, yield* Layer.build(ApiClient.layer(options)))
  })

  layer(host)((it) => {
    it.effect("allows the team with write access to create", () =>
      Effect.gen(function* () {
        const client = yield* clientOf("payments-0123456789")
        const { data } = yield* client.signers.create({ payload: { type: "plain" } })
        assert.deepStrictEqual((yield* client.signers.get({ params: { signer_id: data.id } })).data, data)
      })
    )

    it.effect("allows the team with read access to list but not to create", () =>
      Effect.gen(function* () {
        const client = yield* clientOf("reporting-0123456789")
        assert.deepStrictEqual((yield* client.relayers.list({ query: {} })).data, [])
        const error = yield* Effect.flip(client.signers.create({ payload: { type: "plain" } }))
        assert.strictEqual(error._tag, "Forbidden")
      })
    )

    it.effect("answers 403 with an envelope before it decodes the body, and 401 to unknown keys", () =>
      Effect.gen(function* () {
        const { address } = yield* HttpServer.HttpServer
        const post = (key: string) =>
          Effect.promise(async () => {
            const url = `${HttpServer.formatAddress(address)}/api/v1/relayers`
            const response = await fetch(url, {
              method: "POST",
              headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
              body: "{"
            })
            return [response.status, await response.json()]
          })
        assert.deepStrictEqual(yield* post("reporting-0123456789"), [
          403,
          { data: null, message: "Forbidden", success: false }
        ])
        assert.deepStrictEqual(yield* post("somebody-0123456789"), [
          401,
          {
            data: null,
            error: "the API key is unknown, expired or revoked",
            message: "Unauthorized",
            success: false
          }
        ])
      })
    )
  })
})

describe("examples/without-http.ts", () => {
  const services = Services.layer({ networks, administratorKey: Redacted.make(TestApi.apiKey), masterKey, jobs: false })

  layer(Layer.provide(services, TestDatabase.layer))((it) => {
    it.effect("creates a relayer through the services, and lists it", () =>
      Effect.gen(function* () {
        const created = yield* WithoutHttp.program
        const relayers = yield* Relayers
        assert.deepStrictEqual((yield* relayers.list({})).items, [created])
        assert.deepStrictEqual((yield* TestConsole.logLines).slice(-2), [
          "1 relayers, of which the first 1:",
          `  ${created.id} on sepolia: ${created.address}`
        ])
      })
    )
  })

  it.live("runs as a process and ends", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const made = await fs.mkdtemp(path.join(os.tmpdir(), "effect-relayer-example-"))
          await fs.chmod(made, 0o711)
          return made
        }),
        (made) => Effect.promise(() => fs.rm(made, { recursive: true, force: true }))
      )
      const source = path.join(import.meta.dirname, "../testkit/FromSource.ts")
      const script = path.join(import.meta.dirname, "../examples/without-http.ts")
      const { stdout } = yield* Effect.promise((signal) =>
        promisify(execFile)(process.execPath, ["--import", source, script], { cwd: folder, signal })
      )
      assert.include(stdout, "1 relayers, of which the first 1:")
    })
  )
})

describe("examples that replace a part of the service", () => {
  const on = <A, E, R, E2>(program: Effect.Effect<A, E, R>, services: Layer.Layer<R, E2, SqlClient.SqlClient>) =>
    Effect.provide(program, Layer.provide(services, TestDatabase.layer))

  it.effect("own-outbound.ts refuses hosts that are not on its list", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* on(OwnOutbound.program, OwnOutbound.services(masterKey)), [
        "created for https://hooks.example.com/relayer",
        "url: points to a host that is not ours"
      ])
    })
  )

  it.effect("own-chain.ts answers calls to the chain", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* on(OwnChain.program, OwnChain.services(masterKey)), "1000000000000000000 wei")
    })
  )

  it.effect("own-signer.ts signs with a key of its own store", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* on(OwnSigner.program, OwnSigner.services(masterKey)), [
        "verified: true",
        "without its key: the key store has no such key"
      ])
    })
  )
})

describe("examples/own-limits.ts", () => {
  const keys = { administratorKey: Redacted.make(TestApi.apiKey), masterKey, jobs: false }

  layer(Layer.provideMerge(OwnLimits.layer(keys, 0), TestDatabase.layer))((it) => {
    it.effect("answers 429 after the requests of the plan", () =>
      Effect.gen(function* () {
        const { address } = yield* HttpServer.HttpServer
        const url = `${HttpServer.formatAddress(address)}/api/v1/relayers`
        const call = Effect.promise(() => fetch(url, { headers: { authorization: `Bearer ${TestApi.apiKey}` } }))
        const statuses = yield* Effect.replicateEffect(
          Effect.map(call, ({ status }) => status),
          4
        )
        assert.deepStrictEqual(statuses, [200, 200, 200, 429])
        assert.strictEqual((yield* call).headers.get("retry-after"), "60")
      })
    )
  })
})

layer(TestApi.layer())("examples/client.ts", (it) => {
  it.effect("creates a relayer once, reports duplicates, and lists all relayers, also when it runs again", () =>
    Effect.gen(function* () {
      const [created, duplicate, ...listed] = yield* Client.program
      assert.match(created ?? "", /^created client-example at 0x[0-9a-f]{40}$/)
      assert.strictEqual(duplicate, "client-example is there already")
      assert.deepStrictEqual(listed, [`client-example on sepolia: ${created?.split(" ").at(-1)}`])
      assert.deepStrictEqual(yield* Client.program, [duplicate, duplicate, ...listed])
    })
  )
})

layer(api, { excludeTestServices: true })("examples/sponsor-viem.mjs", (it) => {
  it.effect("has a call of a user without ether sponsored", () =>
    Effect.gen(function* () {
      const { env, stored } = yield* sponsoring({ blockTime: 1 })
      const script = path.join(import.meta.dirname, "../examples/sponsor-viem.mjs")
      assert.match(yield* output(os.tmpdir(), env, process.execPath, [script]), sponsored)
      assert.strictEqual(yield* stored, env.DATA)
    })
  )
})
