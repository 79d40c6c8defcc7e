// Invalid requests for networks: each gets 400, `error` names the field, and nothing is stored.
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { evmNetwork, solanaNetwork, stellarNetwork } from "./fixtures.ts"

const path = "/api/v1/networks"

const many = (count: number) => Array.from({ length: count }, (_, index) => `https://rpc-${index}.example.com`)

const required = "is required: give it, or name a network in from that has it"
const urls = (...rpc_urls: ReadonlyArray<unknown>) => ({ ...evmNetwork, rpc_urls })

// A row per request reads better.
// oxfmt-ignore
const creates: Record<string, readonly [body: unknown, error: string]> = {
  "an empty body": ["", "body: "],
  "a body that is not an object": [5, "body: Expected an object whose network_type is evm, solana or stellar"],
  "an unknown network type": [{ ...evmNetwork, network_type: "bitcoin" }, "network_type: Expected evm, solana or stellar"],
  "no name": [{ ...evmNetwork, name: undefined }, "name: is required"],
  "an empty name": [{ ...evmNetwork, name: "" }, "name: "],
  "a name of 65 characters": [{ ...evmNetwork, name: "n".repeat(65) }, "name: "],
  "a name with a space": [{ ...evmNetwork, name: "a b" }, "name: Expected a name without white space and slashes"],
  "a name with a slash": [{ ...evmNetwork, name: "a/b" }, "name: Expected a name without white space and slashes"],
  "a name with a NUL": [{ ...evmNetwork, name: "a\u0000b" }, "name: "],
  "a name with a lone surrogate": [JSON.stringify(evmNetwork).replace("our-chain", "\\ud800"), "name: "],
  "an id": [{ ...evmNetwork, id: "evm:x" }, "id: is not a known field"],
  "a source": [{ ...evmNetwork, source: "own" }, "source: is not a known field"],
  "a field of another network type": [{ ...solanaNetwork, chain_id: 1 }, "chain_id: is not a known field"],
  "a chain id of 0": [{ ...evmNetwork, chain_id: 0 }, "chain_id: Expected an integer from 1 to 9007199254740991"],
  "a chain id of 2^53": [JSON.stringify(evmNetwork).replace("987654", "9007199254740992"), "chain_id: Expected an integer from 1 to 9007199254740991"],
  "a fraction as chain id": [{ ...evmNetwork, chain_id: 1.5 }, "chain_id: "],
  "a string as chain id": [{ ...evmNetwork, chain_id: "1" }, "chain_id: Expected an integer from 1 to 9007199254740991"],
  "a block time of 0": [{ ...evmNetwork, average_blocktime_ms: 0 }, "average_blocktime_ms: Expected an integer from 1 to 3600000"],
  "a block time of more than an hour": [{ ...evmNetwork, average_blocktime_ms: 3_600_001 }, "average_blocktime_ms: Expected an integer from 1 to 3600000"],
  "confirmations below zero": [{ ...evmNetwork, required_confirmations: -1 }, "required_confirmations: Expected an integer from 0 to 1000000"],
  "more than a million confirmations": [{ ...evmNetwork, required_confirmations: 1_000_001 }, "required_confirmations: Expected an integer from 0 to 1000000"],
  "a string as is_testnet": [{ ...evmNetwork, is_testnet: "yes" }, "is_testnet: Expected true or false"],
  "an empty symbol": [{ ...evmNetwork, symbol: "" }, "symbol: "],
  "a long symbol": [{ ...evmNetwork, symbol: "S".repeat(33) }, "symbol: "],
  "a tag twice": [{ ...evmNetwork, tags: ["a", "a"] }, "tags: Expected each entry once"],
  "an empty tag": [{ ...evmNetwork, tags: [""] }, "tags.0: "],
  "101 tags": [{ ...evmNetwork, tags: many(101) }, "tags: "],
  "a tag that is not a string": [{ ...evmNetwork, tags: [1] }, "tags.0: Expected a text"],
  "a feature twice": [{ ...evmNetwork, features: ["a", "a"] }, "features: "],
  "an explorer that is not a URL": [{ ...evmNetwork, explorer_urls: ["explorer"] }, "explorer_urls.0: Expected an http or https URL"],
  "21 explorers": [{ ...evmNetwork, explorer_urls: many(21) }, "explorer_urls: "],
  "no RPC URLs": [urls(), "rpc_urls: "],
  "101 RPC URLs": [urls(...many(101)), "rpc_urls: "],
  "an RPC URL of another scheme": [urls("ftp://a.example.com"), "rpc_urls.0.url: Expected an http or https URL"],
  "an RPC URL of another scheme, with a weight": [urls({ url: "wss://a.example.com", weight: 1 }), "rpc_urls.0.url: Expected an http or https URL"],
  "an RPC URL that is too long": [urls(`https://a.example.com/${"x".repeat(2048)}`), "rpc_urls.0.url: "],
  "an RPC URL without its URL": [urls({ weight: 1 }), "rpc_urls.0.url: is required"],
  "a number as RPC URL": [urls(5), "rpc_urls.0: Expected a URL, or an object of url and weight"],
  "a list as RPC URL": [urls(["https://a.example.com"]), "rpc_urls.0: Expected a URL, or an object of url and weight"],
  "an unknown field of an RPC URL": [urls({ url: "https://a.example.com", wait: 1 }), "rpc_urls.0.wait: is not a known field"],
  "a weight over 100": [urls({ url: "https://a.example.com", weight: 101 }), "rpc_urls.0.weight: Expected an integer from 0 to 100"],
  "an RPC URL to a private address": [urls("https://a.example.com", "http://10.0.0.1:8545/key"), "rpc_urls.1.url: points to a private address"],
  "an RPC URL to a cloud's metadata": [urls({ url: "http://169.254.169.254/latest" }), "rpc_urls.0.url: points to a cloud metadata address"],
  "an RPC URL that is masked": [urls("https://a.example.com/***"), "rpc_urls.0.url: is masked: send the URL itself"],
  "no private RPC URLs": [{ ...evmNetwork, private_rpc_urls: [] }, "private_rpc_urls: "],
  "a private RPC URL of another scheme": [{ ...evmNetwork, private_rpc_urls: ["ftp://a.example.com"] }, "private_rpc_urls.0.url: Expected an http or https URL"],
  "a private RPC URL with a weight over 100": [{ ...evmNetwork, private_rpc_urls: [{ url: "https://a.example.com", weight: 101 }] }, "private_rpc_urls.0.weight: Expected an integer from 0 to 100"],
  "a private RPC URL to a private address": [{ ...evmNetwork, private_rpc_urls: ["http://10.0.0.1:8545/key"] }, "private_rpc_urls.0.url: points to a private address"],
  "a private RPC URL that publishes": [{ ...evmNetwork, private_rpc_urls: ["https://a.example.com/?useMempool=true"] }, "private_rpc_urls.0.url: has useMempool, with which the endpoint publishes transactions"],
  "a private RPC URL that is masked": [{ ...evmNetwork, private_rpc_urls: ["https://a.example.com/***"] }, "private_rpc_urls.0.url: is masked: send the URL itself"],
  "private RPC URLs of solana": [{ ...solanaNetwork, private_rpc_urls: ["https://a.example.com"] }, "private_rpc_urls: is not a known field"],
  "a private Horizon": [{ ...stellarNetwork, horizon_url: "http://10.0.0.1" }, "horizon_url: points to a private address"],
  "a Horizon with credentials": [{ ...stellarNetwork, horizon_url: "https://u:p@h.example.com" }, "horizon_url: Expected a URL without credentials, query and fragment"],
  "a forwarder that is an account": [{ ...stellarNetwork, fee_forwarder: `G${"A".repeat(55)}` }, "fee_forwarder: Expected a contract address"],
  "a Horizon with a query": [{ ...stellarNetwork, horizon_url: "https://h.example.com?key=1" }, "horizon_url: Expected a URL without credentials, query and fragment"],
  "an empty passphrase": [{ ...stellarNetwork, passphrase: "" }, "passphrase: "],
  "an unknown parent": [{ ...evmNetwork, from: "nowhere" }, "from: no evm network of this name"],
  "a parent of another type": [{ ...evmNetwork, from: "devnet" }, "from: no evm network of this name"],
  "itself as parent": [{ ...evmNetwork, from: "our-chain" }, "from: would make the network inherit from itself"],
  "no values of an evm network": [{ name: "x", network_type: "evm" }, `rpc_urls: ${required}; average_blocktime_ms: ${required}; chain_id: ${required}; required_confirmations: ${required}; symbol: ${required}`],
  "no values of a solana network": [{ name: "x", network_type: "solana" }, `rpc_urls: ${required}; average_blocktime_ms: ${required}`],
  "no values of a stellar network": [{ name: "x", network_type: "stellar" }, `rpc_urls: ${required}; average_blocktime_ms: ${required}; passphrase: ${required}`]
}

/** Changes of `evm:bad`, a child of `evm:parent`. */
// oxfmt-ignore
const patches: Record<string, readonly [body: unknown, error: string]> = {
  "an empty body": ["", "body: "],
  "a list": [[], "body: Expected "],
  "nothing": [{}, "body: at least one field is required"],
  "an unknown field": [{ nam: 1 }, "nam: is not a known field"],
  "a field of another network type": [{ horizon_url: "https://h.example.com" }, "horizon_url: is not a known field"],
  "the id": [{ id: "evm:bad" }, "id: cannot be changed"],
  "fields that cannot be changed": [{ name: "x", network_type: "solana", chain_id: 5, passphrase: null, source: "own" }, "name: cannot be changed; network_type: cannot be changed; source: cannot be changed; chain_id: cannot be changed; passphrase: cannot be changed"],
  "no RPC URLs": [{ rpc_urls: [] }, "rpc_urls: "],
  "an RPC URL that is masked": [{ rpc_urls: [{ url: "https://nowhere.example/***", weight: 50 }] }, "rpc_urls.0.url: is masked, and no stored URL has this mask: send the URL itself"],
  "a private RPC URL that publishes": [{ private_rpc_urls: ["https://a.example.com/?mempoolRPC=x"] }, "private_rpc_urls.0.url: has mempoolRPC, with which the endpoint publishes transactions"],
  "an RPC URL to a private host": [{ rpc_urls: ["http://node.internal:8545"] }, "rpc_urls.0.url: points to a private host"],
  "more than 64 kB": [{ rpc_urls: many(40).map((url) => `${url}/${"x".repeat(1900)}`) }, "rpc_urls: makes the resource "],
  "a value out of range": [{ average_blocktime_ms: 0, tags: [1] }, "average_blocktime_ms: Expected an integer from 1 to 3600000; tags.0: Expected a text"],
  "an unknown parent": [{ from: "nowhere" }, "from: no evm network of this name"],
  "itself as parent": [{ from: "bad" }, "from: would make the network inherit from itself"],
  "a parent with another chain id": [{ from: "mainnet" }, "from: would change chain_id, which cannot be changed"],
  "no parent, and no values instead of the inherited ones": [{ from: null }, `rpc_urls: ${required}; average_blocktime_ms: ${required}; chain_id: ${required}; required_confirmations: ${required}`]
}

const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT id, parent_id, definition::text AS definition FROM networks ORDER BY seq`
})

const garbage = Schema.Union([Schema.Finite, Schema.Struct({ a: Schema.String }), Schema.NonEmptyArray(Schema.Finite)])
const brokenField = Schema.Literals(["name", "rpc_urls", "explorer_urls", "is_testnet", "tags", "features", "symbol"])

/** `evm:bad`, a child of `evm:parent`. */
const family = Effect.andThen(
  Prepared.create("networks", { ...evmNetwork, name: "parent" }),
  Prepared.create("networks", { name: "bad", network_type: "evm", from: "parent", symbol: "BAD" })
)

layer(TestApi.layer())("a network is not created", (it) => {
  for (const [name, [body, error]] of Object.entries(creates)) {
    it.effect(`with ${name}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const answer = yield* api.call(path, { method: "POST", body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.deepStrictEqual(Object.keys(answer.json).sort(), ["data", "error", "message", "success"])
        assert.isTrue(answer.json.error?.startsWith(error), answer.json.error)
        assert.deepStrictEqual(yield* stored, [])
      })
    )
  }

  it.effect.prop(
    "with one invalid field, which the error names",
    [brokenField, garbage],
    ([field, broken]) =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const { status, json } = yield* api.call(path, { body: { ...evmNetwork, [field]: broken } })
        assert.strictEqual(status, 400)
        assert.include(json.error, field)
      }),
    { arbitrary: { runs: 60 } }
  )
})

layer(Prepared.layer(family))("a network is not changed", (it) => {
  for (const [name, [body, error]] of Object.entries(patches)) {
    it.effect(`with ${name}`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.TestApi
        const before = yield* stored
        assert.lengthOf(before, 2)
        const answer = yield* api.call(`${path}/evm:bad`, { method: "PATCH", body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.isTrue(answer.json.error?.startsWith(error), answer.json.error)
        assert.deepStrictEqual(yield* stored, before)
      })
    )
  }
})

layerEach(Prepared.layer(family))("a change of a network is refused", (it) => {
  it.effect("if it makes a circle of several networks", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call(path, { body: { name: "grandchild", network_type: "evm", from: "bad" } })
      const patch = (from: string) => api.call(`${path}/evm:parent`, { method: "PATCH", body: { from } })
      const two = yield* patch("bad")
      assert.strictEqual(two.status, 400)
      assert.strictEqual(two.json.error, "from: would make the network inherit from itself")
      const three = yield* patch("grandchild")
      assert.strictEqual(three.json.error, "from: would make the network inherit from itself")
    })
  )

  it.effect("if it removes a value that a child needs", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const answer = yield* api.call(`${path}/evm:parent`, { method: "PATCH", body: { required_confirmations: null } })
      assert.strictEqual(answer.json.error, `required_confirmations: ${required}`)
    })
  )

  it.effect("if it sets the parent of a built-in network", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const before = yield* stored
      for (const from of ["mainnet", "nowhere", null]) {
        const answer = yield* api.call(`${path}/evm:sepolia`, { method: "PATCH", body: { from } })
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(answer.json.error, "from: cannot be changed")
      }
      assert.deepStrictEqual(yield* stored, before)
    })
  )

  it.effect("if the new parent has another passphrase", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* api.call(path, { body: { name: "s", network_type: "stellar", from: "testnet" } })
      const answer = yield* api.call(`${path}/stellar:s`, { method: "PATCH", body: { from: "mainnet" } })
      assert.strictEqual(answer.json.error, "from: would change passphrase, which cannot be changed")
    })
  )

  it.effect("if the id is not one, whatever the method", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const call of [{}, { method: "PATCH", body: { symbol: "X" } }, { method: "DELETE" }]) {
        const answer = yield* api.call(`${path}/sepolia`, call)
        assert.strictEqual(answer.status, 400)
        assert.include(answer.json.error, "network_id: Expected a network id such as evm:sepolia")
      }
    })
  )

  it.effect("without a repetition of the URL", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const secret = "s3cr3t-value"
      for (const url of [
        secret,
        `ftp://${secret}.example`,
        `http://10.0.0.1/${secret}`,
        `http://${secret}.local/***`
      ]) {
        const answers = [
          yield* api.call(path, { body: urls(url) }),
          yield* api.call(`${path}/evm:bad`, { method: "PATCH", body: { rpc_urls: [{ url, weight: 1 }] } }),
          yield* api.call(path, { body: { ...stellarNetwork, horizon_url: url } })
        ]
        for (const { status, text } of answers) {
          assert.strictEqual(status, 400)
          assert.notInclude(text, secret)
        }
      }
    })
  )
})
