// The responses of transactions are what openapi.json documents, and so are the webhooks. The chain is anvil.
// Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Schedule } from "effect"
import * as Anvil from "../../testkit/Anvil.ts"
import * as Documented from "../../testkit/Documented.ts"
import { executorCode } from "../../testkit/Executors.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as Receiver from "../../testkit/Receiver.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { inRelayer, isAboutTransactions, made, send, unusedName } from "./Requests.ts"

const to = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

/** A contract that makes many calls for accounts that delegate to it. */
const executor = `0x${"e7".repeat(20)}`

/** Real time. Blocks come every second; a busy machine needs longer. */
const patience = "60 seconds"

const tenEther = "0x8ac7230489e80000"

const make = Effect.gen(function* () {
  const chain = yield* Anvil.start({ blockTime: 1 })
  yield* chain.call("anvil_setCode", [executor, executorCode])
  const receiver = yield* Receiver.make
  const network = { name: "anvil", from: "sepolia", network_type: "evm", chain_id: 31_337, required_confirmations: 1 }
  yield* Prepared.create("networks", {
    ...network,
    rpc_urls: [chain.url],
    average_blocktime_ms: 1000,
    is_testnet: true
  })
  const notification_id = yield* made("notifications", { url: receiver.url })

  /** A relayer with an account of its own that has funds. */
  const newRelayer = Effect.gen(function* () {
    const { call } = yield* TestApi.TestApi
    const signer_id = yield* made("signers", { type: "plain" })
    const relayer_id = yield* made("relayers", {
      name: unusedName(),
      network: "anvil",
      network_type: "evm",
      paused: false,
      signer_id,
      notification_id
    })
    const { json } = yield* call(`/api/v1/relayers/${relayer_id}`)
    yield* chain.call("anvil_setBalance", [(json.data as { readonly address: string }).address, tenEther])
    return relayer_id
  })

  return { receiver, newRelayer, relayer_id: yield* newRelayer }
})

class Chain extends Context.Service<Chain, Effect.Success<typeof make>>()(
  "effect-relayer/test/server/ResponsesOfTransactions.test/Chain"
) {}

interface Shown {
  readonly id: string
  readonly status: string
  readonly nonce: number
}

const shown = ({ json }: TestApi.Answer) => json.data as Shown

const sent = (relayer_id: string, more: object = {}) =>
  Effect.map(send(`post ${inRelayer}/transactions`, { relayer_id }, { body: { to, value: 1, ...more } }), shown)

/** A transaction that gets no nonce during the test. */
const waiting = Effect.fnUntraced(function* (relayer_id: string) {
  const not_before = DateTime.formatIso(DateTime.add(yield* DateTime.now, { hours: 1 }))
  const { id } = yield* sent(relayer_id, { not_before })
  return { relayer_id, transaction_id: id }
})

const confirmed = Effect.fnUntraced(function* (relayer_id: string) {
  const { id } = yield* sent(relayer_id)
  const params = { relayer_id, transaction_id: id }
  return yield* Effect.map(send(`get ${inRelayer}/transactions/{transaction_id}`, params), shown).pipe(
    Effect.repeat({ schedule: Schedule.spaced("100 millis"), until: ({ status }) => status === "confirmed" }),
    Effect.timeout(patience),
    Effect.orDie
  )
})

const body = (value: object) => ({ body: value })

const hashes = { domain_separator: "11".repeat(32), hash_struct_message: "22".repeat(32) }

const generation = `post ${inRelayer}/nonce/generation`

type Request = (name: string) => Effect.Effect<unknown, never, Chain | TestApi.TestApi>

const onRelayer =
  (call: TestApi.Call = {}): Request =>
  (name) =>
    Effect.flatMap(Chain, ({ relayer_id }) => send(name, { relayer_id }, call))

const onWaiting =
  (call: TestApi.Call = {}): Request =>
  (name) =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      return yield* send(name, yield* waiting(relayer_id), call)
    })

/** Nothing else happens to the nonces of this relayer. */
const onNewRelayer =
  (call: TestApi.Call = {}): Request =>
  (name) =>
    Effect.gen(function* () {
      const { newRelayer } = yield* Chain
      const relayer_id = yield* newRelayer
      yield* confirmed(relayer_id)
      return yield* send(name, { relayer_id }, call)
    })

/** A request to each operation of transactions that succeeds. */
const successes: Readonly<Record<string, Request>> = {
  [`post ${inRelayer}/transactions`]: onRelayer(body({ to, data: "0x", gas_limit: 30_000, gas_price: "30000000000" })),
  [`get ${inRelayer}/transactions`]: (name) =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      yield* confirmed(relayer_id)
      yield* waiting(relayer_id)
      const { headers } = yield* send(name, { relayer_id, query: "?per_page=1" })
      const cursor = /cursor=[^>&]+/.exec(headers.get("link") ?? "")?.[0] ?? assert.fail("no cursor")
      yield* send(name, { relayer_id, query: `?${cursor}` })
    }),
  [`post ${inRelayer}/transactions/simulate`]: onRelayer(body({ to, value: 1 })),
  [`post ${inRelayer}/transactions/batch`]: onRelayer(body({ transactions: [{ to }, { to, value: "0x2" }] })),
  [`delete ${inRelayer}/transactions/pending`]: (name) =>
    Effect.gen(function* () {
      const { newRelayer } = yield* Chain
      const relayer_id = yield* newRelayer
      yield* waiting(relayer_id)
      yield* send(name, { relayer_id })
    }),
  [`get ${inRelayer}/transactions/by-nonce/{nonce}`]: (name) =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      const { nonce } = yield* confirmed(relayer_id)
      yield* send(name, { relayer_id, nonce: String(nonce) })
    }),
  [`get ${inRelayer}/transactions/{transaction_id}`]: (name) =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      const { id } = yield* confirmed(relayer_id)
      const { json } = yield* send(name, { relayer_id, transaction_id: id })
      for (const property of ["signature", "attempts", "fee_paid", "confirmed_at"]) assert.property(json.data, property)
    }),
  [`put ${inRelayer}/transactions/{transaction_id}`]: onWaiting(body({ to, value: 2, speed: "fastest" })),
  [`delete ${inRelayer}/transactions/{transaction_id}`]: onWaiting(),
  [`get ${inRelayer}/transactions/{transaction_id}/explain`]: onWaiting(),
  [`post ${inRelayer}/transactions/{transaction_id}/route`]: onWaiting(body({ route: "public" })),
  [`get ${inRelayer}/transactions/{transaction_id}/fees`]: onWaiting(),
  "get /api/v1/transactions": (name) =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      yield* waiting(relayer_id)
      yield* send(name)
    }),
  [`post ${inRelayer}/sign`]: onRelayer(body({ message: "hello" })),
  [`post ${inRelayer}/sign-typed-data`]: onRelayer(body(hashes)),
  [`post ${inRelayer}/rpc`]: (name) =>
    Effect.gen(function* () {
      const call = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }
      yield* onRelayer(body(call))(name)
      yield* onRelayer(body([call, { ...call, method: "eth_sign" }]))(name)
    }),
  [`get ${inRelayer}/nonce`]: onNewRelayer(),
  [`post ${inRelayer}/nonce/resync`]: onNewRelayer(body({ answer: "give_up" })),
  [`post ${inRelayer}/nonce/clear`]: onNewRelayer(body({ from: 5, to: 6 })),
  [generation]: onNewRelayer(),
  [`get ${inRelayer}/delegation`]: onNewRelayer(),
  [`post ${inRelayer}/delegation`]: onNewRelayer(body({ address: executor })),
  [`delete ${inRelayer}/delegation`]: onNewRelayer()
}

const channelsRelease = `post ${inRelayer}/channels/release`

/** Tested with relayers of the networks that have them: `transactions/solana/Signing.test.ts`, `Sponsored.test.ts` and `transactions/stellar/Channels.test.ts`. */
const elsewhere = [
  channelsRelease,
  `post ${inRelayer}/sign-transaction`,
  `post ${inRelayer}/transactions/sponsored/quote`,
  `post ${inRelayer}/transactions/sponsored/build`
]

const api = Layer.provideMerge(Layer.effect(Chain, make), TestApi.layer({ jobs: true }))

layer(api, { excludeTestServices: true, concurrent: true })("a response about transactions is as documented", (it) => {
  it.effect("there is a request that succeeds for each operation", () =>
    Effect.sync(() => {
      assert.sameMembers(
        [...Object.keys(successes), ...elsewhere],
        [...Documented.operations.keys()].filter(isAboutTransactions)
      )
    })
  )

  it.effect("501, or 409 for channels: the network type does not have the operation", () =>
    Effect.gen(function* () {
      const { relayer_id } = yield* Chain
      for (const name of elsewhere) {
        const { status } = yield* send(name, { relayer_id }, body({}))
        assert.strictEqual(status, name === channelsRelease ? 409 : 501, name)
      }
    })
  )

  for (const [name, request] of Object.entries(successes)) {
    // A new generation is one of the network, which all relayers share.
    it.effect(`${name} succeeds`, () => request(name), { concurrent: name !== generation })
  }

  it.effect("each webhook about a transaction, up to its confirmation", () =>
    Effect.gen(function* () {
      const { receiver, newRelayer } = yield* Chain
      const { id } = yield* confirmed(yield* newRelayer)
      const about = () => receiver.seen.filter(({ body }) => body.includes(id))
      const types = () => about().map(({ headers }) => headers["webhook-event-type"])
      yield* Effect.sync(types).pipe(
        Effect.repeat({
          schedule: Schedule.spaced("100 millis"),
          until: (arrived) => arrived.includes("transaction.confirmed")
        }),
        Effect.timeout(patience)
      )
      assert.includeMembers(types(), ["transaction.created", "transaction.submitted", "transaction.confirmed"])
      for (const webhook of about()) {
        assert.deepStrictEqual(Documented.webhookFaultsOf("transaction", webhook), [])
      }
    })
  )
})
