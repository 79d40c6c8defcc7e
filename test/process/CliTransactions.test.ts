// The commands for transactions and nonces. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as http from "node:http"
import { ran, running } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"
import * as Target from "../../testkit/Target.ts"

const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
const at = "2026-11-22T12:00:00.000Z"
const to = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

const network = {
  name: "nowhere",
  network_type: "evm",
  from: "sepolia",
  chain_id: 31_337,
  is_testnet: true,
  rpc_urls: ["http://127.0.0.1:1"]
}

/** A running service with a relayer. Its network has no chain, so that what is sent stays pending. */
const prepared = Effect.gen(function* () {
  const process = yield* running({ OUTBOUND_ALLOW: "127.0.0.0/8", WATCH: "off" })
  const { service, output } = process
  yield* service.call("/api/v1/networks", { body: network })
  yield* service.call("/api/v1/signers", { body: { id: "hot", type: "plain", config: { key: "03".repeat(32) } } })
  const relayer = { id: "sender", name: "Sender", network_type: "evm", network: "nowhere", signer_id: "hot" }
  yield* service.call("/api/v1/relayers", { body: { ...relayer, paused: false } })
  const data = (...flags: ReadonlyArray<string>) =>
    Effect.map(output(...flags, "-o", "json"), (text): Readonly<Record<string, unknown>> => JSON.parse(text))
  return { ...process, data }
})

/** Status of the transaction in each response, the last one from then on. */
const serviceWith = Effect.fnUntraced(function* (statuses: ReadonlyArray<number | string>) {
  let count = 0
  const server = http.createServer((request, response) => {
    response.setHeader("x-effect-relayer", "v1")
    if (request.url?.endsWith("/health") === true) return void response.end("OK")
    const status = statuses[Math.min(count++, statuses.length - 1)]
    if (typeof status === "number") return void response.writeHead(status).end("{}")
    const data = {
      id,
      network_type: "evm",
      relayer_id: "sender",
      status,
      created_at: at,
      value: "0x1",
      from: to,
      is_canceled: false
    }
    response.setHeader("content-type", "application/json")
    return void response.end(JSON.stringify({ success: true, data, message: null }))
  })
  const { url } = yield* Target.listen(server)
  return url("")
})

const waitOn = Effect.fnUntraced(function* (server: string, ...flags: ReadonlyArray<string>) {
  const home = yield* folder
  return yield* ran({
    folder: home,
    flags: ["transactions", "wait", "sender", id, "--server", server, ...flags],
    env: { API_KEY: Service.apiKey, RELAYER_URL: server }
  })
})

describe("transactions wait", () => {
  it.live("ends with 0 when the transaction is confirmed, and shows each status on standard error", () =>
    Effect.gen(function* () {
      const server = yield* serviceWith(["pending", "pending", "submitted", "mined", "confirmed"])
      const { code, stdout, stderr } = yield* waitOn(server)
      assert.strictEqual(code, 0, stderr)
      assert.strictEqual(stderr, "pending\nsubmitted\nmined\nconfirmed\n")
      assert.match(stdout, /^status +confirmed$/m)
    })
  )

  it.live("ends at the status that --until names, and prints only JSON if asked to", () =>
    Effect.gen(function* () {
      const { code, stdout, stderr } = yield* waitOn(
        yield* serviceWith(["mined"]),
        "--until",
        "submitted",
        "-o",
        "json"
      )
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepInclude(JSON.parse(stdout), { id, status: "mined" })
    })
  )

  it.live("ends with 1 when the transaction fails, expires or is canceled", () =>
    Effect.forEach(["failed", "expired", "canceled"], (status) =>
      Effect.gen(function* () {
        const { code, stderr } = yield* waitOn(yield* serviceWith([status]))
        assert.strictEqual(code, 1)
        assert.include(stderr, `effect-relayer: the transaction is ${status}\n`)
      })
    )
  )

  it.live("ends with 1 when the time is over", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* waitOn(yield* serviceWith(["pending"]), "--timeout", "2s")
      assert.strictEqual(code, 1)
      assert.include(stderr, "effect-relayer: the transaction is still pending; the service continues with it\n")
    })
  )

  it.live("goes on while the service restarts or limits the rate; another refusal ends it", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* waitOn(yield* serviceWith([503, 429, "confirmed"]))
      assert.strictEqual(code, 0, stderr)
      assert.strictEqual((yield* waitOn(yield* serviceWith([404]))).code, 1)
    })
  )
})

describe("the command line", () => {
  it.live("sends, lists, shows, explains, replaces and cancels transactions", () =>
    Effect.gen(function* () {
      const { call, data, output } = yield* prepared
      const send = (...flags: ReadonlyArray<string>) =>
        Effect.map(data("transactions", "send", "sender", "--to", to, ...flags), (sent) => String(sent.id))
      const one = yield* send("--value", "1", "--external-id", "order-1", "--no-wait-for-funds")
      const other = yield* send("--value", "2", "--priority", "1")
      assert.include(yield* output("transactions", "list", "sender", "--external-id", "order-1"), one)
      const all = yield* output("transactions", "list", "--status", "pending", "--status", "submitted")
      for (const listed of [one, other]) assert.include(all, listed)
      assert.match(all, new RegExp(`^${one} .*${to.toLowerCase()} +1 wei +`, "m"), "the list has receivers and amounts")
      const byOrigin = (origin: string) => output("transactions", "list", "sender", "--origin", origin)
      assert.include(yield* byOrigin("request"), one)
      assert.notInclude(yield* byOrigin("channel"), one)
      assert.deepInclude(yield* data("transactions", "get", "sender", one), {
        id: one,
        status: "pending",
        value: "0x1"
      })
      assert.match(yield* output("transactions", "get", "sender", one), /^value +1 wei$/m)
      assert.match(yield* output("transactions", "explain", "sender", one), /^code +queued$/m)
      const replace = ["transactions", "replace", "sender", one, "--to", to] as const
      assert.deepInclude(yield* data(...replace, "--value", "3"), { id: one, value: "0x3" })
      const late = yield* call([...replace, "--valid-until", "2999-01-01T00:00:00Z"])
      assert.strictEqual(late.code, 1)
      assert.include(late.stderr, "valid_until: must be within 7 days")
      assert.deepInclude(yield* data("transactions", "cancel", "sender", one), { id: one, status: "canceled" })
      assert.deepInclude(yield* data("transactions", "cancel-pending", "sender"), { total_processed: 1 })
      const simulated = yield* call(["transactions", "simulate", "sender", "--to", to])
      assert.strictEqual(simulated.code, 1)
      assert.include(simulated.stderr, "Bad Gateway: http://127.0.0.1:1: eth_chainId: cannot be reached")
    })
  )

  it.live("shows and repairs the nonces of a relayer", () =>
    Effect.gen(function* () {
      const { data } = yield* prepared
      yield* data("transactions", "send", "sender", "--to", to)
      const nonce = yield* data("relayers", "nonce", "sender")
      assert.deepInclude(nonce, { chain_id: 31_337, pending: 1, in_flight: 0, next_nonce: 0 })
      const unchanged = { transaction_ids: [] }
      assert.deepStrictEqual(yield* data("relayers", "nonce-resync", "sender", "--answer", "give_up"), unchanged)
      const clear = ["relayers", "nonce-clear", "sender", "--from", "0", "--to", "5", "--yes"] as const
      assert.deepStrictEqual(yield* data(...clear), { ...unchanged, transactions: [] })
      assert.deepInclude(yield* data("relayers", "nonce-generation", "sender"), { generation: 1 })
    })
  )
})
