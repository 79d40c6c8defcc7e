// `POST …?check=true`: what is wrong with the providers of a new relayer or network, and with the account, in the answer of the create.
// Providers that do not answer are given up by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { secret } from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const address = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a"
const key = "11".repeat(32)
const dead = "http://127.0.0.1:1"
const masked = (url: string) => `${new URL(url).origin}/***`

/** Less than a call of a health check waits: 5 seconds. The service waits at most 1.8 seconds for the providers of a create. */
const patienceMs = 4500

const wrongChain = (url: string) =>
  `RPC URL ${masked(url)}: eth_chainId: serves another chain: it has the chain id 31337, and the network has 11155111.`

const messages = ({ json }: TestApi.Answer) =>
  (json as { readonly metadata?: { readonly logs: ReadonlyArray<object> } }).metadata?.logs

const warnings = (...texts: ReadonlyArray<string>) => texts.map((message) => ({ level: "warn", message }))

const create = Effect.fnUntraced(function* (
  path: "relayers" | "networks",
  body: object,
  query = "?check=true",
  headers: Record<string, string> = {}
) {
  const api = yield* TestApi.TestApi
  yield* api.call("/api/v1/signers", { body: { id: "hot", type: "plain", config: { key } } })
  const answer = yield* api.call(`/api/v1/${path}${query}`, { body, headers })
  assert.notInclude(answer.text, secret)
  return answer
})

const relayer = (id: string, urls: ReadonlyArray<string>, fields: object = {}) => ({
  id,
  name: id,
  network_type: "evm",
  network: "sepolia",
  signer_id: "hot",
  paused: false,
  custom_rpc_urls: urls.map((url) => ({ url })),
  ...fields
})

const network = (name: string, urls?: ReadonlyArray<string>) => ({
  network_type: "evm",
  name,
  from: "sepolia",
  ...(urls === undefined ? {} : { rpc_urls: urls })
})

layer(Layer.provideMerge(TestApi.layer(), Logger.layer([])), { excludeTestServices: true })(
  "a create with check",
  (it) => {
    it.effect("names URLs that do not work and what to send where, and creates the relayer all the same", () =>
      Effect.gen(function* () {
        const rpc = yield* EvmRpc.make({ balance: 40n })
        const good = yield* create("relayers", relayer("good", [rpc.url]))
        assert.deepStrictEqual([good.status, messages(good)], [201, undefined])
        const poor = yield* create("relayers", relayer("poor", [rpc.url, dead], { policies: { min_balance: 100 } }))
        const funding = `Send at least 60 wei to ${address} on evm:sepolia: it has 40 of the 100 that it needs.`
        assert.deepStrictEqual(
          [poor.status, messages(poor)],
          [201, warnings(`RPC URL ${dead}: eth_chainId: cannot be reached.`, funding)]
        )
        assert.strictEqual(poor.headers.get("location"), "/api/v1/relayers/poor")
        rpc.account.chainId = 31_337n
        const wrong = yield* create("relayers", relayer("wrong", [rpc.url]))
        assert.deepStrictEqual([wrong.status, messages(wrong)], [201, warnings(wrongChain(rpc.url))])
      })
    )

    it.effect("asks no provider without check, and none for a request that is refused", () =>
      Effect.gen(function* () {
        const rpc = yield* EvmRpc.make()
        for (const query of ["", "?check=false"]) {
          const answer = yield* create("relayers", relayer(`silent${query.length}`, [rpc.url]), query)
          assert.deepStrictEqual([answer.status, messages(answer)], [201, undefined])
        }
        const nobody = yield* create("relayers", relayer("nobody", [rpc.url], { signer_id: "nobody" }))
        const nowhere = yield* create("relayers", relayer("nowhere", [rpc.url], { network: "nowhere" }))
        const unknown = yield* create("relayers", relayer("unknown", [rpc.url]), "?check=maybe")
        assert.deepStrictEqual([nobody.status, nowhere.status, unknown.status, rpc.count()], [400, 400, 400, 0])
        assert.include(unknown.text, "check")
      })
    )

    it.effect("waits for no provider longer than 2 seconds, and uses what the others answered", () =>
      Effect.gen(function* () {
        const [silent, good] = [yield* EvmRpc.make(), yield* EvmRpc.make({ balance: 0n })]
        silent.fail("hang")
        const answer = yield* create("relayers", relayer("late", [silent.url, good.url]))
        const [first, second] = messages(answer) as ReadonlyArray<{ readonly message: string }>
        assert.include(first?.message, `RPC URL ${masked(silent.url)}: `)
        assert.include(second?.message, "Send at least 1 wei")
      }).pipe(Effect.timeout(patienceMs))
    )

    it.effect("is stored once for an Idempotency-Key, with its warnings", () =>
      Effect.gen(function* () {
        const rpc = yield* EvmRpc.make({ balance: 0n })
        const once = () =>
          create("relayers", relayer("once", [rpc.url]), "?check=true", { "idempotency-key": "create-once" })
        const [first, again] = [yield* once(), yield* once()]
        assert.deepStrictEqual([first.status, again.status, again.text], [201, 201, first.text])
        assert.deepStrictEqual([messages(first)?.length, rpc.count("eth_chainId")], [1, 1])
      })
    )

    it.effect("asks the providers of a new network, also inherited ones", () =>
      Effect.gen(function* () {
        const rpc = yield* EvmRpc.make()
        const good = yield* create("networks", network("good", [rpc.url]))
        assert.deepStrictEqual([good.status, messages(good)], [201, undefined])
        rpc.account.chainId = 31_337n
        const wrong = yield* create("networks", network("wrong", [rpc.url]))
        assert.deepStrictEqual([wrong.status, messages(wrong)], [201, warnings(wrongChain(rpc.url))])
        const child = yield* create("networks", { ...network("child"), from: "wrong" })
        assert.deepStrictEqual([child.status, messages(child)], [201, warnings(wrongChain(rpc.url))])
        const taken = yield* create("networks", network("good", [rpc.url]))
        assert.deepStrictEqual([taken.status, messages(taken)], [409, undefined])
      })
    )
  }
)
