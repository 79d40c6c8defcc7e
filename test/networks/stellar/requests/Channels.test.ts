// Channels over HTTP: a policy makes them, `GET …/nonce` shows them, and a release ends them. Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { assert, layer } from "@effect/vitest"
import { randomUUID } from "node:crypto"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { keyNamed } from "../../../../testkit/stellar/Building.ts"
import { dataOf, pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const receiver = keyNamed("receiver")

interface Channel {
  readonly address: string
  readonly stage: string
  readonly next_sequence: string
  readonly chain_sequence?: string
  readonly transaction_id?: string
}

interface State {
  readonly channels: ReadonlyArray<Channel>
  readonly locked_by_channels: string
}

const made = Effect.fnUntraced(function* (policies: object) {
  const relayer = yield* relayerAt({ policies })
  relayer.network.grant(receiver.publicKey(), 10n * xlm)
  const { call } = yield* TestApi.TestApi
  const base = `/api/v1/relayers/${relayer.id}`
  const state = Effect.map(call(`${base}/nonce`), ({ json }) => json.data as State)
  const change = (policies: object) => call(base, { method: "PATCH", body: { policies } })
  const release = (more: TestApi.Call = {}) => call(`${base}/channels/release`, { ...more, method: "POST" })
  /** A poll shows a channel as ready before the transaction that made it is final. */
  const isFinal = Effect.map(
    call(`${relayer.path}?origin=channel&status=pending&status=sent&status=submitted&status=mined`),
    ({ json }) => (json.data as ReadonlyArray<unknown>).length === 0
  )
  const settles = (count: number) =>
    until(
      `${count} channels`,
      Effect.gen(function* () {
        const found = yield* state
        const isReady = found.channels.length === count && found.channels.every(({ stage }) => stage === "ready")
        return isReady && (yield* isFinal) ? found : undefined
      }),
      "60 seconds"
    )
  return { ...relayer, base, call, change, release, settles, state }
})

layer(api, { excludeTestServices: true, concurrent: true })("the channels of a stellar relayer", (it) => {
  it.effect("are made by a change of its policy, and shown beside the chain", () =>
    Effect.gen(function* () {
      const { account, base, call, change, path, settles } = yield* made({})
      const changed = yield* change({ channels: { count: 2 } })
      assert.strictEqual(changed.status, 200, changed.text)
      const { channels, locked_by_channels } = yield* settles(2)
      assert.strictEqual(locked_by_channels, "30000000")
      assert.deepStrictEqual(
        Documented.faultsOf("get /api/v1/relayers/{relayer_id}/nonce", yield* call(`${base}/nonce`)),
        []
      )
      for (const { address, chain_sequence, next_sequence } of channels) {
        assert.strictEqual(BigInt(next_sequence), BigInt(chain_sequence ?? 0) + 1n)
        assert.strictEqual(account(address)?.balance, 0n)
      }
      const shown = yield* call(path)
      assert.deepStrictEqual(shown.json.data, [], "work on channels is not listed with requests")
      const work = yield* call(`${path}?origin=channel`)
      assert.lengthOf(work.json.data as ReadonlyArray<unknown>, 1)
    })
  )

  it.effect("cost the API key that asks for them nothing of its fees of a day", () =>
    Effect.gen(function* () {
      const { base, becomes, call, path, send, settles } = yield* made({})
      const keyWith = (grant: object) =>
        Effect.map(
          call("/api/v1/api-keys", { method: "POST", body: { name: "channels", ...grant } }),
          ({ json }) => json.data as { readonly id: string; readonly key: string }
        )
      const operator = yield* keyWith({ scopes: ["relayers:write"] })
      const policies = { channels: { count: 2 } }
      const changed = yield* call(base, { method: "PATCH", key: operator.key, body: { policies } })
      assert.strictEqual(changed.status, 200, changed.text)
      // One payment by a channel costs 200 stroops. The transaction that makes the channels costs more than the limit.
      const transaction_limits = { stellar: { max_fee_per_day: "300" } }
      const sender = yield* keyWith({ scopes: ["transactions:write", "transactions:read"], transaction_limits })
      yield* settles(2)
      const { id } = dataOf(yield* send(pay(receiver.publicKey(), 1n), { key: sender.key }))
      yield* becomes(id, "confirmed")
      const work = yield* call(`${path}?origin=channel`)
      const [making] = work.json.data as ReadonlyArray<{ readonly id: string; readonly fee: number }>
      assert.isAbove(making?.fee ?? 0, 300)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{
        id: string
      }>`SELECT id FROM transactions WHERE api_key_id IN (${operator.id}, ${sender.id})`
      assert.deepStrictEqual(
        rows.map((row) => row.id),
        [id]
      )
    })
  )

  it.effect("carry transactions, which show their channel", () =>
    Effect.gen(function* () {
      const { becomes, send, settles } = yield* made({ channels: { count: 2 } })
      const { channels } = yield* settles(2)
      const { id } = dataOf(yield* send(pay(receiver.publicKey(), 1n)))
      const confirmed = yield* becomes(id, "confirmed")
      const used = (confirmed as { readonly channel_account?: string }).channel_account ?? ""
      assert.include(
        channels.map(({ address }) => address),
        used
      )
      assert.match(confirmed.inner_hash ?? "", /^[0-9a-f]{64}$/)
    })
  )

  it.effect("end by a release, and keep the last relayer of their account until then", () =>
    Effect.gen(function* () {
      const { account, address, base, call, release, settles } = yield* made({ channels: { count: 2 } })
      const { channels } = yield* settles(2)
      const refused = yield* call(base, { method: "DELETE" })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.text, "has channels: 2; release them")
      const released = yield* release()
      assert.strictEqual(released.status, 200, released.text)
      assert.deepStrictEqual(Documented.faultsOf("post /api/v1/relayers/{relayer_id}/channels/release", released), [])
      yield* settles(0)
      for (const channel of channels) assert.isUndefined(account(channel.address))
      assert.strictEqual(account(address)?.sponsoring, 0)
      const deleted = yield* call(base, { method: "DELETE" })
      assert.strictEqual(deleted.status, 200, deleted.text)
    })
  )

  it.effect(
    "are used again after a restore: a send is refused while forgotten envelopes live, and then each has one effect",
    () =>
      Effect.gen(function* () {
        const { account, base, becomes, call, get, network, send, settles, standIn } = yield* made({
          channels: { count: 2 },
          timeout_seconds: 15
        })
        yield* settles(2)
        const misbehave = (more: object) => standIn.control({ faults: { provider: 0, set: more } })
        const lost = { lost: { sendTransaction: "before" } }
        misbehave(lost)
        const amounts = [1n, 2n, 3n, 4n]
        const sent = yield* Effect.forEach(amounts, (stroops) => send(pay(receiver.publicKey(), stroops)))
        const ids = sent.map((one) => dataOf(one).id)
        for (const id of ids.slice(0, 2)) yield* becomes(id, "sent")
        yield* (yield* SqlClient.SqlClient)`UPDATE ledger_mark SET mark = jsonb_set(mark::jsonb, '{system}', '"another"')::text`
        for (const id of ids) {
          yield* until(
            "restored_unproven",
            Effect.map(get(id), ({ code, status }) =>
              code === "restored_unproven" && status === "pending" ? true : undefined
            ),
            "60 seconds"
          )
        }
        const resync = (transaction_id: string) =>
          call(`${base}/nonce/resync`, { method: "POST", body: { answer: "send", transaction_id } })
        const early = yield* Effect.forEach(ids, resync)
        assert.deepStrictEqual(
          early.map(({ status }) => status),
          [409, 409, 409, 409]
        )
        assert.include(early[0]?.text ?? "", "can be applied until a ledger closes after")
        const { channels } = yield* settles(2)
        assert.isTrue(
          channels.every(({ transaction_id }) => transaction_id === undefined),
          "no channel is taken"
        )
        // A ledger whose close time is past the life of what was forgotten.
        misbehave({ ...lost, closeTimeOffset: 400 })
        for (const id of ids) {
          yield* until(
            "a send that is allowed",
            Effect.map(resync(id), ({ status }) => (status === 200 ? true : undefined)),
            "60 seconds"
          )
        }
        standIn.recover()
        const confirmed = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"))
        const used = confirmed.map((one) => (one as { readonly channel_account?: string }).channel_account)
        const addresses = channels.map(({ address }) => address)
        for (const one of used) assert.include(addresses, one)
        assert.strictEqual(new Set(used).size, 2)
        assert.strictEqual(account(receiver.publicKey())?.balance, 10n * xlm + 10n)
        const applied = network.ledgers.flatMap(({ transactions }) => transactions)
        assert.lengthOf(
          applied.filter(({ source }) => addresses.includes(source)),
          4
        )
      }),
    // The mark of the ledger is that of all relayers.
    { concurrent: false }
  )

  it.effect("are no relayers: a signer with the address of a channel gets none, alone or among others", () =>
    Effect.gen(function* () {
      const { base, call, id } = yield* made({})
      const [other, third, fourth] = [randomUUID(), randomUUID(), randomUUID()]
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", { id: other, type: "plain" })
      const signer = yield* call(`/api/v1/signers/${other}`)
      const relayers = yield* Effect.map(call(base), ({ json }) => json.data as { readonly network: string })
      // No test can make a channel with a key that it knows: the service makes the keys.
      const { stellar } = (signer.json.data as { readonly addresses: { readonly stellar: string } }).addresses
      yield* sql`INSERT INTO channel_keys (address, key_sealed) SELECT ${stellar}, key_sealed FROM signers WHERE id = ${other}`
      const bodyOf = (name: string, signer_id: string) => ({
        id: name,
        name,
        network: relayers.network,
        network_type: "stellar",
        paused: false,
        signer_id
      })
      const create = (body: object) => call("/api/v1/relayers", { method: "POST", body })
      const [refused, accepted] = yield* Effect.all([create(bodyOf(third, other)), create(bodyOf(fourth, id))], {
        concurrency: "unbounded"
      })
      assert.strictEqual(accepted.status, 201, accepted.text)
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.text, "Relayer has the address of a channel")
      assert.deepStrictEqual(Documented.faultsOf("post /api/v1/relayers", refused), [])
      assert.strictEqual((yield* call(`/api/v1/relayers/${third}`)).status, 404)
      const repeated = yield* create(bodyOf(id, other))
      assert.strictEqual(repeated.status, 409, repeated.text)
      assert.include(repeated.text, "Relayer with this ID already exists", "a taken id is reported first")
    })
  )

  it.effect("are at most 100, and a whole number", () =>
    Effect.gen(function* () {
      const { change } = yield* made({})
      for (const count of [-1, 101, 1.5, "5"]) {
        const refused = yield* change({ channels: { count } })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.include(refused.text, "channels.count")
      }
      assert.strictEqual((yield* change({ channels: { number: 5 } })).status, 400)
    })
  )

  it.effect("are released only by a key that may change relayers and send transactions", () =>
    Effect.gen(function* () {
      const { call, release } = yield* made({})
      const keyWith = (scopes: ReadonlyArray<string>) =>
        Effect.map(
          call("/api/v1/api-keys", { method: "POST", body: { name: "channels", scopes } }),
          ({ json }) => (json.data as { readonly key: string }).key
        )
      for (const scopes of [["relayers:write"], ["transactions:write"]]) {
        assert.strictEqual((yield* release({ key: yield* keyWith(scopes) })).status, 403)
      }
      const both = yield* keyWith(["relayers:write", "transactions:write"])
      assert.strictEqual((yield* release({ key: both })).status, 200)
    })
  )
})
