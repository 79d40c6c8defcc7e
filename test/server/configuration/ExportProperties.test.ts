// For generated states of the service: a plan of its export has no changes, and export, apply, export gives the same bytes.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as ExactJson from "../../../src/domain/request/ExactJson.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { applied, call, planned, textOf } from "./requests.ts"
import { cases } from "../../../testkit/Depth.ts"

/** States of one run. */
const states = cases(200)

/** A generator with 32 bits of state (mulberry32), so that a failure names a seed that repeats it. */
const digitsOf = (seed: number) => {
  let state = seed
  return (count: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }
}

const address = (digit: number) =>
  `0x${String(digit + 1)
    .repeat(40)
    .slice(0, 40)}`

/** Objects of every kind and network type, with fields that are present or not. */
const documentOf = (seed: number) => {
  const pick = digitsOf(seed)
  const maybe = (members: object) => (pick(2) === 0 ? {} : members)
  const amount = () => String(10n ** BigInt(pick(30)) + BigInt(pick(9)))
  const url = (host: string) =>
    `https://${host}${pick(3)}.example.com${["", "/", "/v1/hidden-part", "/?key=hidden"][pick(4)]}`
  const urls = () => Array.from({ length: 1 + pick(3) }, () => ({ url: url("rpc"), ...maybe({ weight: pick(101) }) }))
  const count = (most: number) => Array.from({ length: 1 + pick(most) }, (_, index) => index)
  const byId = (letter: string, most: number, body: (index: number) => object) =>
    Object.fromEntries(count(most).map((index) => [`${letter}${index}`, body(index)]))
  const notifications = byId("n", 3, () => ({
    url: url("hooks"),
    ...maybe({ signing_key: "k".repeat(32 + pick(8)) }),
    paused: pick(2) === 0
  }))
  const signers = byId("s", 3, () => ({ type: "plain" }))
  const networks = {
    "evm:parent": { from: "sepolia", rpc_urls: urls(), ...maybe({ tags: ["b", "a"].slice(pick(2)) }) },
    ...maybe({ "evm:child": { from: "parent", required_confirmations: 1 + pick(9), ...maybe({ rpc_urls: urls() }) } }),
    ...maybe({ "evm:secret": { from: "sepolia", private_rpc_urls: urls() } }),
    ...maybe({ "evm:sepolia": { average_blocktime_ms: 1000 + pick(9) } })
  }
  const policies = {
    evm: () => ({
      ...maybe({ min_balance: amount() }),
      ...maybe({ gas_price_cap: amount() }),
      ...maybe({ whitelist_receivers: count(3).map(address) }),
      ...maybe({ private_transactions: pick(2) === 0, private_fallback_after_seconds: 30 + pick(9) }),
      ...maybe({ private_estimates: ["private", "normal"][pick(2)] })
    }),
    solana: () => ({ ...maybe({ max_allowed_fee_lamports: String(1 + pick(9999)) }) }),
    stellar: () => ({ ...maybe({ max_fee: 100 + pick(999) }), ...maybe({ timeout_seconds: 30 + pick(9) }) })
  }
  const chains = [
    ["evm", "parent"],
    ["evm", "sepolia"],
    ["solana", "devnet"],
    ["stellar", "testnet"]
  ] as const
  const idOf = (section: object) => Object.keys(section)[pick(Object.keys(section).length)]
  const relayers = byId("r", 4, () => {
    const [network_type, network] = chains[pick(chains.length)] ?? chains[0]
    return {
      name: ["Plain", "With: {#", "ä€", " x"][pick(3)],
      network_type,
      network,
      signer_id: idOf(signers),
      paused: pick(2) === 0,
      ...maybe({ notification_id: idOf(notifications) }),
      ...maybe({ policies: policies[network_type]() }),
      ...maybe({ custom_rpc_urls: urls() }),
      ...(network_type === "evm" ? maybe({ custom_private_rpc_urls: urls() }) : {})
    }
  })
  const api_keys = byId("k", 2, () => ({
    name: "K",
    scopes: ["relayers:read", ...(pick(2) === 0 ? [] : ["transactions:*"])],
    ...maybe({ relayer_ids: [idOf(relayers)] }),
    ...maybe({ expires_at: "2100-01-01T00:00:00Z" })
  }))
  return { version: 1, name: `state-${seed}`, networks, notifications, signers, relayers, api_keys }
}

const exported = Effect.fnUntraced(function* (name: string) {
  const answer = yield* call(`/api/v1/configuration/${name}/document?all=true`)
  assert.strictEqual(answer.status, 200, answer.text)
  const { data } = ExactJson.parse(answer.text) as { readonly data: { readonly document: object } }
  return { text: answer.text, document: data.document }
})

/** Leaves nothing of a state for the next one. */
const clear = (name: string, signers: object) =>
  applied(
    { version: 1, name, networks: {}, notifications: {}, signers: {}, relayers: {}, api_keys: {} },
    { prune: true, destroy_keys: Object.keys(signers) }
  )

layerEach(TestApi.layer())("exports of generated states", (it) => {
  it.effect(`of ${states} states plan no change, and give the same bytes after an apply`, () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= states; seed += 1) {
        const given = documentOf(seed)
        yield* applied(given)
        const first = yield* exported(given.name)
        const { counts, steps } = yield* planned(first.document)
        const changes = steps.flatMap((step) => step.changes.map(({ path }) => `${step.kind}.${step.id} ${path}`))
        assert.deepStrictEqual(changes, [], `seed ${seed}: ${textOf(first.document)}`)
        assert.deepInclude(counts, { create: 0, change: 0, delete: 0 }, `seed ${seed}`)
        assert.deepStrictEqual((yield* applied(first.document)).changed, [], `seed ${seed}`)
        assert.strictEqual((yield* exported(given.name)).text, first.text, `seed ${seed}`)
        yield* clear(given.name, given.signers)
      }
    })
  )
})
