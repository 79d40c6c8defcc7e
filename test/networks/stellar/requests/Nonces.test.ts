// `GET …/nonce` of stellar relayers and the commands of operators: the ledger next to the chain, with sequences above 2^53.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import { keyOf, newAccount } from "../../../../testkit/stellar/Entries.ts"
import { dataOf, pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const receiver = keyNamed("receiver")

const made = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt(given)
  relayer.network.grant(receiver.publicKey(), 10n * xlm)
  const { call } = yield* TestApi.TestApi
  const base = `/api/v1/relayers/${relayer.id}`
  const read = call(`${base}/nonce`)
  const command = (name: string, body?: object) =>
    call(`${base}/nonce/${name}`, { method: "POST", ...(body === undefined ? {} : { body }) })
  return { ...relayer, base, call, command, read }
})

layer(api, { excludeTestServices: true, concurrent: true })("the sequences of a stellar relayer", (it) => {
  it.effect("are shown before anything was sent, with that of the chain", () =>
    Effect.gen(function* () {
      const { account, address, read } = yield* made()
      const answer = yield* read
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(Documented.faultsOf("get /api/v1/relayers/{relayer_id}/nonce", answer), [])
      const { chain_ledger, ...shown } = answer.json.data as Record<string, unknown>
      assert.isAbove(Number(chain_ledger), 0)
      assert.deepStrictEqual(shown, {
        address,
        generation: 0,
        next_sequence: "0",
        used_sequence: "0",
        pending: 0,
        in_flight: 0,
        given: [],
        channels: [],
        locked_by_channels: "0",
        chain_sequence: String(account()?.sequence)
      })
    })
  )

  it.effect("follow what is sent, and name envelopes that callers got signed", () =>
    Effect.gen(function* () {
      const { account, address, base, becomes, call, passphrase, read, send } = yield* made()
      const { id } = dataOf(yield* send(pay(receiver.publicKey(), 1n)))
      yield* becomes(id, "confirmed")
      const used = account()?.sequence ?? 0n
      assert.isAbove(Number(used), Number.MAX_SAFE_INTEGER)
      const maxTime = Math.floor((performance.timeOrigin + performance.now()) / 1000) + 100
      const given = { sequence: used + 1n, maxTime, network: passphrase }
      const unsigned_xdr = transaction(address, [payment(receiver, xlm)], given).toXDR()
      const signed = yield* call(`${base}/sign-transaction`, { method: "POST", body: { unsigned_xdr } })
      assert.strictEqual(signed.status, 200, signed.text)
      const { json } = yield* read
      const state = json.data as {
        readonly used_sequence: string
        readonly next_sequence: string
        readonly chain_sequence: string
        readonly given: ReadonlyArray<{ readonly sequence: string; readonly valid_until: string }>
      }
      assert.deepInclude(state, {
        used_sequence: String(used),
        next_sequence: String(used + 1n),
        chain_sequence: String(used)
      })
      assert.deepStrictEqual(
        state.given.map(({ sequence, valid_until }) => [sequence, Date.parse(valid_until)]),
        [[String(used + 1n), maxTime * 1000]]
      )
    })
  )

  it.effect("are shown without the chain while no provider answers", () =>
    Effect.gen(function* () {
      const { read, standIn } = yield* made()
      standIn.control({ faults: { provider: 0, set: { throttled: ["getTransaction"] } } })
      const { json, status } = yield* read
      assert.strictEqual(status, 200)
      assert.notProperty(json.data, "chain_ledger")
      assert.notProperty(json.data, "chain_sequence")
    })
  )

  it.effect("are not cleared: there are no gaps", () =>
    Effect.gen(function* () {
      const { command } = yield* made()
      const { json, status } = yield* command("clear", { from: 5, to: 6 })
      assert.strictEqual(status, 409)
      assert.include(json.error ?? "", "no gaps")
    })
  )

  it.effect("begin a new generation on test networks, and payments go on", () =>
    Effect.gen(function* () {
      const { becomes, call, command, id, send } = yield* made()
      yield* becomes(dataOf(yield* send(pay(receiver.publicKey(), 1n))).id, "confirmed")
      const { json, status } = yield* command("generation")
      assert.strictEqual(status, 200)
      assert.deepInclude(json.data, { generation: 1 })
      yield* becomes(dataOf(yield* send(pay(receiver.publicKey(), 1n))).id, "confirmed")
      const audited = yield* call("/api/v1/audit?action=nonce.generation_begun&limit=100")
      assert.include(audited.text, id)
    })
  )

  it.effect("begin no generation on a main network", () =>
    Effect.gen(function* () {
      const { command, read, send } = yield* made({ fields: { is_testnet: false } })
      yield* send(pay(receiver.publicKey(), 1n))
      const { json, status } = yield* command("generation")
      assert.strictEqual(status, 409)
      assert.include(json.error ?? "", "not a test network")
      assert.deepInclude((yield* read).json.data, { generation: 0 })
    })
  )
})

layer(api, { excludeTestServices: true })("a test network that was restarted", (it) => {
  it.effect("is the reason why nothing is signed, in explain of each pending transaction and of the relayer", () =>
    Effect.gen(function* () {
      const { address, base, becomes, call, get, network, read, send } = yield* made()
      yield* becomes(dataOf(yield* send(pay(receiver.publicKey(), 1n))).id, "confirmed")
      network.put(keyOf.account(address), undefined)
      const { number } = network.latest
      // Accounts are read once per ledger.
      yield* until(
        "a new ledger",
        Effect.sync(() => (network.latest.number > number + 1 ? true : undefined))
      )
      const first = dataOf(yield* send(pay(receiver.publicKey(), 1n)))
      yield* until(
        "no_account",
        Effect.map(get(first.id), ({ code }) => (code === "no_account" ? code : undefined))
      )
      const second = dataOf(yield* send(pay(receiver.publicKey(), 1n)))
      network.put(keyOf.account(address), newAccount(address, 100n * xlm, 7))
      const stopped = Effect.map(read, ({ json }) => Object(json.data).code === "chain_changed" || undefined)
      yield* until("the lane stops", stopped)
      for (const { id } of [first, second]) {
        const { json } = yield* call(`${base}/transactions/${id}/explain`)
        assert.deepInclude(json.data, { code: "chain_changed" })
      }
      const explained = yield* call(`${base}/explain`)
      assert.deepStrictEqual(Documented.faultsOf("get /api/v1/relayers/{relayer_id}/explain", explained), [])
      assert.deepInclude(explained.json.data, { warnings: ["chain_changed"] })
    })
  )
})
