// What a send, and a replacement, with authorizations accepts and refuses, over HTTP, with what providers say of the accounts.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { codeOf } from "../../../src/networks/evm/rules/Authorizations.ts"
import { addressOf, bytesOf } from "../../../src/testkit/Keys.ts"
import * as Wire from "../../../src/testkit/evm/Wire.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { count, dataOf, makeKey, receiver, send, transactions } from "./Fixtures.ts"

const chainId = 31_337
const keys = ["46", "47"].map((byte) => bytesOf(`0x${byte.repeat(32)}`))
const [userKey = assert.fail(), otherKey = assert.fail()] = keys
const user = addressOf(userKey)
const other = addressOf(otherKey)
const delegate = `0x${"de".repeat(20)}`
const second = `0x${"df".repeat(20)}`
const zero = `0x${"00".repeat(20)}`

/** The account of the signer of the relayers. */
const relayerKey = "03".repeat(32)
const relayer = addressOf(bytesOf(relayerKey))

const entryOf = (
  over: { readonly nonce?: number; readonly address?: string; readonly chainId?: number } = {},
  key = userKey
) => {
  const {
    address,
    chainId: chain_id,
    nonce,
    yParity: y_parity,
    r,
    s
  } = Wire.authorized({ chainId, address: delegate, nonce: 3, ...over }, key)
  return { chain_id, address, nonce, y_parity, r, s }
}

const listed = (...authorization_list: ReadonlyArray<unknown>) => ({ to: user, data: "0x01", authorization_list })

interface Account {
  count: number
  code: string
}

interface Given {
  readonly policies?: object
  readonly features?: ReadonlyArray<string>
  readonly providers?: number
}

const prepare = Effect.fnUntraced(function* ({
  policies = { allowed_delegates: [delegate] },
  features = ["eip1559", "eip7702"],
  providers = 2
}: Given = {}) {
  const { call } = yield* TestApi.TestApi
  const accounts = new Map<string, Account>([
    [user, { count: 3, code: "0x" }],
    [other, { count: 3, code: "0x" }],
    [delegate, { count: 1, code: "0x6000" }],
    [second, { count: 1, code: "0x6000" }]
  ])
  const at = (address: unknown): Account => accounts.get(String(address).toLowerCase()) ?? { count: 0, code: "0x" }
  const servers = yield* Effect.forEach(Array.from({ length: providers }), () =>
    RpcServer.make({
      eth_chainId: () => `0x${chainId.toString(16)}`,
      eth_getBlockByNumber: () => ({ number: "0x1", hash: `0x${"1".repeat(64)}`, gasLimit: "0x1c9c380" }),
      eth_getTransactionCount: ([address]) => `0x${at(address).count.toString(16)}`,
      eth_getCode: ([address]) => at(address).code
    })
  )
  const network = {
    name: "near",
    network_type: "evm",
    chain_id: chainId,
    required_confirmations: 1,
    average_blocktime_ms: 1000,
    symbol: "ETH",
    features,
    is_testnet: true,
    rpc_urls: servers.map(({ url }) => url),
    private_rpc_urls: ["http://127.0.0.1:1"]
  }
  yield* call("/api/v1/networks", { body: network })
  yield* call("/api/v1/signers", { body: { id: "hot", type: "plain", config: { key: relayerKey } } })
  const { status, text } = yield* call("/api/v1/relayers", {
    body: {
      id: "sender",
      name: "sender",
      network_type: "evm",
      network: "near",
      signer_id: "hot",
      paused: false,
      policies
    }
  })
  assert.strictEqual(status, 201, text)
  const setPolicies = (changed: object) =>
    call("/api/v1/relayers/sender", { method: "PATCH", body: { policies: changed } })
  return { accounts, servers, setPolicies }
})

const replace = (id: string, body: object, key?: string) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    call(`${transactions}/${id}`, { method: "PUT", body, ...(key === undefined ? {} : { key }) })
  )

const errorOf = ({ json, status }: TestApi.Answer) => `${status} ${json.error ?? ""}`

const shownOf = ({ json }: TestApi.Answer) =>
  json.data as {
    readonly id: string
    readonly authorizations?: ReadonlyArray<object>
    readonly warnings?: ReadonlyArray<string>
    readonly request_versions?: ReadonlyArray<object>
  }

layerEach(TestApi.layer())("a send with authorizations", (it) => {
  it.effect("is accepted, and shows whose they are", () =>
    Effect.gen(function* () {
      yield* prepare()
      const answer = yield* send(listed(entryOf()))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(shownOf(answer).authorizations, [{ authority: user, address: delegate, delegated: null }])
      assert.isUndefined(shownOf(answer).warnings)
      assert.notInclude(answer.text, entryOf().r)
    })
  )

  it.effect("is accepted without the word of a provider: the lane looks before it signs", () =>
    Effect.gen(function* () {
      const { servers } = yield* prepare()
      for (const server of servers) server.fail({ error: -32601 })
      const answer = yield* send(listed(entryOf({ nonce: 1 })))
      assert.strictEqual(answer.status, 200, answer.text)
    })
  )

  it.effect("warns of a delegate without code, and of an entry that is valid on every chain", () =>
    Effect.gen(function* () {
      const { accounts } = yield* prepare()
      accounts.set(delegate, { count: 0, code: "0x" })
      const answer = yield* send(listed(entryOf({ chainId: 0 })))
      assert.deepStrictEqual(shownOf(answer).warnings, [
        "authorization 0 has chain id 0, so that it is valid on every chain",
        "the delegate of authorization 0 had no code when it was accepted"
      ])
    })
  )

  it.effect("is refused in words that name the entry, and stores nothing", () =>
    Effect.gen(function* () {
      const { accounts } = yield* prepare()
      const refusals: ReadonlyArray<readonly [object, string]> = [
        [listed(entryOf({ chainId: 1 })), "400 authorization_list.0.chain_id: must be 31337"],
        [listed(entryOf(), entryOf({ nonce: 4 })), "400 authorization_list.1: is of the same account"],
        [listed(entryOf({ address: second })), "400 authorization_list.0.address: is not in allowed_delegates"],
        [
          listed(entryOf({ nonce: 2 })),
          "400 authorization_list.0.nonce: authorization_used: the account has used the nonce"
        ],
        [listed(entryOf({ nonce: 0 }, bytesOf(`0x${relayerKey}`))), "400 authorization_list.0: authority_is_relayer"],
        [{ ...listed(entryOf()), to: undefined }, "400 to: is required with authorization_list"],
        [{ ...listed(entryOf()), gas_price: 1 }, "400 gas_price: cannot be given together with authorization_list"],
        [{ ...listed(entryOf()), gas_limit: 45_000 }, "400 gas_limit: must be at least 46016"],
        [listed({ ...entryOf(), r: 1 }), "400 authorization_list.0.r: is a JSON number"],
        [
          listed({ ...entryOf(), r: `0x${"5".padStart(64, "0")}` }),
          "400 authorization_list.0: has a signature that no account"
        ],
        [listed(), "400 authorization_list: Expected 1 to 10 authorizations"]
      ]
      for (const [body, expected] of refusals) assert.include(errorOf(yield* send(body)), expected)
      accounts.set(user, { count: 4, code: codeOf({ address: delegate }) })
      assert.include(
        errorOf(yield* send(listed(entryOf()))),
        "the delegation is there already; send the call without the list"
      )
      accounts.set(user, { count: 3, code: "0x6001" })
      assert.include(
        errorOf(yield* send(listed(entryOf()))),
        "400 authorization_list.0: its account has code that is no delegation"
      )
      accounts.set(user, { count: 3, code: "0x" })
      accounts.set(delegate, { count: 0, code: codeOf({ address: second }) })
      assert.include(
        errorOf(yield* send(listed(entryOf()))),
        "400 authorization_list.0.address: is itself a delegated account"
      )
      assert.strictEqual(yield* count, 0)
    })
  )

  it.effect("is not refused by one of two providers that says that a nonce is used", () =>
    Effect.gen(function* () {
      const { servers } = yield* prepare()
      servers[0]?.results.set("eth_getTransactionCount", () => "0x9")
      assert.strictEqual((yield* send(listed(entryOf()))).status, 200)
    })
  )

  it.effect("is refused by the only provider that says that a nonce is used", () =>
    Effect.gen(function* () {
      const { servers } = yield* prepare({ providers: 1 })
      servers[0]?.results.set("eth_getTransactionCount", () => "0x9")
      assert.include(errorOf(yield* send(listed(entryOf()))), "authorization_used")
    })
  )

  it.effect("needs the feature of the network and the policy, also for the zero address", () =>
    Effect.gen(function* () {
      const { setPolicies } = yield* prepare({ policies: {} })
      const off = "authorization_list: cannot be used because the relayer's policy has no allowed_delegates"
      assert.include(errorOf(yield* send(listed(entryOf()))), off)
      yield* setPolicies({ allowed_delegates: [delegate] })
      assert.include(errorOf(yield* send(listed(entryOf({ address: zero })))), "is not in allowed_delegates")
      yield* setPolicies({ allowed_delegates: [zero] })
      const answer = yield* send(listed(entryOf({ address: zero })))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.isUndefined(shownOf(answer).warnings)
    })
  )

  it.effect("is refused on a network without the feature", () =>
    Effect.gen(function* () {
      yield* prepare({ features: ["eip1559"] })
      assert.include(errorOf(yield* send(listed(entryOf()))), "the network does not have the feature eip7702")
    })
  )

  it.effect("is 409 while another open transaction has an authorization of the account", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send(listed(entryOf())))
      assert.include(errorOf(yield* send(listed(entryOf()))), `409 authorization_in_use: transaction ${id}`)
      const { call } = yield* TestApi.TestApi
      yield* call(`${transactions}/${id}`, { method: "DELETE" })
      assert.strictEqual((yield* send(listed(entryOf()))).status, 200)
    })
  )

  it.effect("repeated under its name in another shape is the same transaction", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { chain_id: chainId, y_parity, ...rest } = entryOf()
      const first = yield* send({ ...listed(entryOf()), external_id: "one" })
      const again = yield* send({ ...listed({ ...rest, chainId, v: 27 + y_parity }), external_id: "one" })
      assert.deepStrictEqual([again.status, dataOf(again).id], [200, dataOf(first).id])
    })
  )

  it.effect("calls its accounts if whitelist_receivers has the word authority", () =>
    Effect.gen(function* () {
      const { setPolicies } = yield* prepare({
        policies: { allowed_delegates: [delegate], whitelist_receivers: ["authority"] }
      })
      assert.include(errorOf(yield* send({ ...listed(entryOf()), to: receiver })), "to: is not in whitelist_receivers")
      assert.include(errorOf(yield* send({ to: user })), "to: is not in whitelist_receivers")
      assert.strictEqual((yield* send(listed(entryOf()))).status, 200)
      yield* setPolicies({ whitelist_receivers: [receiver] })
      const answer = yield* send({ ...listed(entryOf({}, otherKey)), to: other })
      assert.include(errorOf(answer), "to: is not in whitelist_receivers")
    })
  )

  it.effect("is within the limits of the API key", () =>
    Effect.gen(function* () {
      yield* prepare()
      const key = yield* makeKey(["transactions:*"], { transaction_limits: { receivers: [receiver], max_value: "5" } })
      assert.include(errorOf(yield* send(listed(entryOf()), { key })), "403 to: is not among the receivers")
      assert.include(errorOf(yield* send({ ...listed(entryOf()), to: receiver, value: 6 }, { key })), "403 value:")
      assert.strictEqual((yield* send({ ...listed(entryOf()), to: receiver, value: 5 }, { key })).status, 200)
    })
  )
})

layerEach(TestApi.layer())("a replacement of a transaction with authorizations", (it) => {
  it.effect("keeps the list, or gives a new one", () =>
    Effect.gen(function* () {
      yield* prepare({ policies: { allowed_delegates: [delegate, second] } })
      const { id } = dataOf(yield* send(listed(entryOf())))
      const kept = yield* replace(id, { to: user, data: "0x02" })
      assert.strictEqual(kept.status, 200, kept.text)
      assert.deepStrictEqual(shownOf(kept).authorizations, [{ authority: user, address: delegate, delegated: null }])
      const given = yield* replace(id, listed(entryOf({ address: second })))
      assert.deepStrictEqual(shownOf(given).authorizations, [{ authority: user, address: second, delegated: null }])
      const versions = shownOf(given).request_versions ?? []
      assert.deepStrictEqual(
        versions.map((version) => Reflect.get(version, "authorizations")),
        [delegate, delegate, second].map((address) => [{ authority: user, address }])
      )
    })
  )

  it.effect("that is repeated changes nothing", () =>
    Effect.gen(function* () {
      const { setPolicies } = yield* prepare()
      const { id } = dataOf(yield* send(listed(entryOf())))
      for (const body of [{ to: user, data: "0x02" }, listed(entryOf())]) {
        yield* setPolicies({ allowed_delegates: [delegate] })
        assert.strictEqual((yield* replace(id, body)).status, 200)
        yield* setPolicies({ allowed_delegates: [] })
        const again = yield* replace(id, body)
        assert.strictEqual(again.status, 200, again.text)
      }
    })
  )

  it.effect("is checked with the list that it keeps: policy, receivers, gas, fees and the chain", () =>
    Effect.gen(function* () {
      const { accounts, setPolicies } = yield* prepare()
      const { id } = dataOf(yield* send(listed(entryOf())))
      const call = { to: user, data: "0x02" }
      yield* setPolicies({ allowed_delegates: [second] })
      assert.include(errorOf(yield* replace(id, call)), "400 authorization_list.0.address: is not in allowed_delegates")
      yield* setPolicies({ allowed_delegates: null })
      assert.include(errorOf(yield* replace(id, call)), "400 authorization_list: cannot be used because")
      yield* setPolicies({ allowed_delegates: [delegate], whitelist_receivers: [receiver] })
      assert.include(errorOf(yield* replace(id, call)), "400 to: is not in whitelist_receivers")
      yield* setPolicies({ whitelist_receivers: ["authority"] })
      assert.strictEqual((yield* replace(id, call)).status, 200)
      assert.include(errorOf(yield* replace(id, { ...call, gas_limit: 30_000 })), "400 gas_limit: must be at least 46")
      assert.include(errorOf(yield* replace(id, { ...call, gas_price: 1 })), "400 gas_price: cannot be given together")
      assert.include(errorOf(yield* replace(id, { data: "0x02" })), "to: is required with authorization_list")
      accounts.set(user, { count: 4, code: "0x" })
      assert.include(
        errorOf(yield* replace(id, { ...call, data: "0x03" })),
        "400 authorization_list.0.nonce: authorization_used"
      )
    })
  )

  it.effect("by an API key with limits is checked by them, whether it keeps the list or gives one", () =>
    Effect.gen(function* () {
      yield* prepare()
      const key = yield* makeKey(["transactions:*"], { transaction_limits: { receivers: [receiver] } })
      const { id } = dataOf(yield* send({ ...listed(entryOf()), to: receiver }, { key }))
      assert.include(errorOf(yield* replace(id, { to: user, data: "0x02" }, key)), "403 to: is not among the receivers")
      assert.include(errorOf(yield* replace(id, listed(entryOf()), key)), "403 to: is not among the receivers")
      assert.strictEqual((yield* replace(id, { to: receiver, value: 1 }, key)).status, 200)
    })
  )

  it.effect("does not get the account of another open transaction", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* send(listed(entryOf()))
      assert.include(errorOf(yield* replace(id, listed(entryOf()))), "409 authorization_in_use")
      assert.strictEqual((yield* replace(id, { ...listed(entryOf({}, otherKey)), to: other })).status, 200)
    })
  )

  it.effect("of a private transaction obeys the rules of lists", () =>
    Effect.gen(function* () {
      const { accounts } = yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver, private: true }))
      assert.include(errorOf(yield* replace(id, listed(entryOf({ address: second })))), "is not in allowed_delegates")
      assert.include(errorOf(yield* replace(id, listed(entryOf({ nonce: 1 })))), "authorization_used")
      accounts.set(user, { count: 3, code: "0x6000" })
      assert.include(errorOf(yield* replace(id, listed(entryOf()))), "its account has code")
      accounts.set(user, { count: 3, code: "0x" })
      assert.strictEqual((yield* replace(id, listed(entryOf()))).status, 200)
    })
  )

  it.effect("obeys the route of the transaction, whatever the policy says of later sends", () =>
    Effect.gen(function* () {
      const { setPolicies } = yield* prepare()
      const free = { max_fee_per_gas: 1, max_priority_fee_per_gas: 0 }
      const { id: open } = dataOf(yield* send({ to: receiver }))
      const { id: secret } = dataOf(yield* send({ to: receiver, private: true }))
      yield* setPolicies({ private_transactions: true })
      assert.strictEqual((yield* replace(open, { to: receiver, ...free })).status, 200)
      yield* setPolicies({ private_transactions: false })
      assert.include(
        errorOf(yield* replace(secret, { to: receiver, ...free })),
        "400 max_priority_fee_per_gas: must be at least 1"
      )
    })
  )
})

layerEach(TestApi.layer())("a simulation of a send with authorizations", (it) => {
  it.effect("says what a send would be refused for", () =>
    Effect.gen(function* () {
      const { servers } = yield* prepare({ providers: 1 })
      const [server] = servers
      server?.results.set("eth_getBalance", () => "0xde0b6b3a7640000")
      server?.results.set("eth_feeHistory", () => ({
        oldestBlock: "0x1",
        baseFeePerGas: ["0x1", "0x1"],
        gasUsedRatio: [0.5],
        reward: []
      }))
      server?.results.set("eth_gasPrice", () => "0x1")
      server?.results.set("eth_maxPriorityFeePerGas", () => "0x1")
      server?.results.set("eth_estimateGas", ([call]) =>
        Reflect.has(Object(call), "authorizationList") ? "0xc350" : "0x5208"
      )
      const { call } = yield* TestApi.TestApi
      const simulate = (body: object) => call(`${transactions}/simulate`, { method: "POST", body })
      const fine = yield* simulate(listed(entryOf()))
      assert.strictEqual(fine.status, 200, fine.text)
      assert.deepInclude(fine.json.data as object, { is_accepted: true, gas_used: "50000" })
      const used = yield* simulate(listed(entryOf({ nonce: 1 })))
      assert.include(used.text, "authorization_used")
      assert.deepInclude(used.json.data as object, { is_accepted: false })
      server?.results.set("eth_estimateGas", () => "0x5208")
      const ignored = yield* simulate(listed(entryOf()))
      assert.include(ignored.text, "the provider ignores authorizations")
    })
  )
})

/** The account of a relayer that another test uses is one of this service. */
layerEach(TestApi.layer())("the account of a relayer of another network", (it) => {
  it.effect("is refused as an authority", () =>
    Effect.gen(function* () {
      yield* prepare()
      assert.strictEqual(relayer, addressOf(bytesOf(relayerKey)))
      const { call } = yield* TestApi.TestApi
      yield* call("/api/v1/signers", { body: { id: "user", type: "plain", config: { key: "46".repeat(32) } } })
      yield* call("/api/v1/relayers", {
        body: { id: "far", name: "far", network_type: "evm", network: "sepolia", signer_id: "user", paused: false }
      })
      assert.include(errorOf(yield* send(listed(entryOf()))), "400 authorization_list.0: authority_is_relayer")
    })
  )
})
