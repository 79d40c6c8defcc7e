// A network has its own values, and inherits the others.
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  ancestryOf,
  completeNetwork,
  NetworkDefinition,
  NetworkName,
  withInherited
} from "../../../src/domain/network/Network.ts"

const name = (text: string) => NetworkName.make(text)

const evm = (own: object, called = "net"): NetworkDefinition =>
  Schema.decodeSync(NetworkDefinition)({ network_type: "evm", name: called, ...own })

/** Eight networks. Each inherits from one of them, from an unknown one, or from none. */
const Parent = Schema.UndefinedOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 })))
const Graph = Schema.Array(Parent).check(Schema.isBetweenLength(8, 8))

const Labels = Schema.Array(Schema.Literals(["a", "b", "c", "d", "e"])).check(Schema.isUnique())

const [Evm] = NetworkDefinition.members

const nobody = () => undefined

describe("inheritance", () => {
  it.prop("any graph resolves, or the error names its cycle or its unknown parent", [Graph], ([parents]) => {
    const networks = parents.map((parent, index) =>
      evm(parent === undefined ? {} : { from: `n${parent}` }, `n${index}`)
    )
    const find = (name: string) => networks.find((network) => network.name === name)
    for (const [index, network] of networks.entries()) {
      const path: Array<number> = [index]
      let next = parents[index]
      while (next !== undefined && next < 8 && !path.includes(next)) {
        path.push(next)
        next = parents[next]
      }
      const names = path.map((step) => `n${step}`)
      const expected =
        next === undefined
          ? names
          : next === 8
            ? "no evm network of this name"
            : "would make the network inherit from itself"
      const found = Result.match(ancestryOf(network, find), {
        onSuccess: (found) => found.map(({ name }) => name as string),
        onFailure: ({ message }) => message
      })
      assert.deepStrictEqual(found, expected)
      assert.strictEqual(Result.isSuccess(withInherited(network, find)), next === undefined)
    }
  })

  it.prop("a network without a parent has only its own values", [NetworkDefinition], ([network]) => {
    const { from: _, ...root } = network
    assert.deepStrictEqual(Result.getOrThrow(withInherited(root, nobody)), root)
  })

  it.prop("resolving a resolved network changes nothing", [Evm, Evm], ([one, other]) => {
    const { from: _, ...parent } = one
    const find = () => parent
    const resolved = Result.getOrThrow(withInherited({ ...other, name: name("child"), from: name("parent") }, find))
    assert.deepStrictEqual(Result.getOrThrow(withInherited(resolved, find)), resolved)
  })

  it.prop("labels are those of parent and child, the parent's first, each once", [Labels, Labels], ([one, other]) => {
    const find = () => evm({ tags: one, features: other }, "parent")
    const child = evm({ tags: other, features: one, from: "parent" })
    const resolved = Result.getOrThrow(withInherited(child, find))
    const both = (first: ReadonlyArray<string>, then: ReadonlyArray<string>) => [
      ...first,
      ...then.filter((label) => !first.includes(label))
    ]
    assert.deepStrictEqual(resolved.tags, both(one, other))
    assert.deepStrictEqual("features" in resolved ? resolved.features : undefined, both(other, one))
  })

  it("a value of the child replaces the parent's, and lists of URLs are replaced as a whole", () => {
    const parent = evm({
      rpc_urls: [{ url: "https://a", weight: 1 }],
      explorer_urls: ["https://e"],
      is_testnet: true,
      required_confirmations: 12,
      symbol: "ETH"
    })
    const own = {
      rpc_urls: [{ url: "https://b", weight: 2 }],
      explorer_urls: [],
      is_testnet: false,
      required_confirmations: 0
    }
    const resolved = Result.getOrThrow(withInherited(evm({ ...own, from: "parent" }, "child"), () => parent))
    assert.deepStrictEqual(resolved, evm({ ...own, from: "parent", symbol: "ETH" }, "child"))
  })

  it("a child without labels has the labels of its parent", () => {
    const find = () => evm({ tags: ["x"] }, "parent")
    assert.deepStrictEqual(Result.getOrThrow(withInherited(evm({ from: "parent" }), find)).tags, ["x"])
  })

  it("a chain of thousands resolves", () => {
    const find = (called: string): NetworkDefinition =>
      called === "n0" ? evm({ symbol: "ETH" }, "n0") : evm({ from: `n${Number(called.slice(1)) - 1}` }, called)
    const last = find(name("n5000"))
    assert.lengthOf(Result.getOrThrow(ancestryOf(last, find)), 5001)
    const resolved = Result.getOrThrow(withInherited(last, find))
    assert.strictEqual("symbol" in resolved ? resolved.symbol : undefined, "ETH")
  })
})

describe("a complete network", () => {
  const whole = {
    evm: { chain_id: 1, required_confirmations: 1, symbol: "ETH" },
    solana: {},
    stellar: { passphrase: "p" }
  }
  const common = { rpc_urls: [{ url: "https://a", weight: 1 }], average_blocktime_ms: 1 }

  it.each(["evm", "solana", "stellar"] as const)(
    "of type %s has all required fields, and the error names the missing ones",
    (type) => {
      const all: Record<string, unknown> = { ...common, ...whole[type] }
      const make = (own: object) =>
        completeNetwork(Schema.decodeSync(NetworkDefinition)({ network_type: type, name: "net", ...own }), "own")
      const shown = { ...all, network_type: type, name: "net", id: `${type}:net`, source: "own", is_testnet: false }
      assert.deepEqual<object>(Result.getOrThrow(make(all)), shown)
      const names = (own: object) => Result.getOrThrow(Result.flip(make(own))).map(({ field }) => field)
      assert.sameMembers(names({}), Object.keys(all))
      for (const field of Object.keys(all)) {
        const { [field]: _, ...rest } = all
        assert.deepStrictEqual(names(rest), [field])
      }
    }
  )
})
