// What an import of OpenZeppelin Relayer compares beyond the shape of a value: lists of built-in networks, and addresses.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Import from "../../packages/import/src/Import.ts"

const signers = [{ id: "hot", type: "local", config: { path: "hot.json", passphrase: { type: "env", value: "PASS" } } }]

const relayer = (name: string, more: object = {}) => ({
  id: "a",
  name: "a",
  network: name,
  network_type: "evm",
  paused: true,
  signer_id: "hot",
  ...more
})

const imported = (config: object) =>
  Result.getOrThrow(
    Import.openZeppelin(
      {
        name: "config.json",
        text: JSON.stringify({ signers, notifications: [], networks: [], ...config })
      },
      "old",
      { folder: "/nowhere", allNetworks: true, keepPausedState: false }
    )
  )

describe("a built-in network", () => {
  it("is not changed by lists that add nothing to it", () => {
    const same = {
      type: "evm",
      network: "optimism",
      chain_id: 10,
      tags: ["rollup", "optimism-based"],
      features: ["eip1559"],
      explorer_urls: ["https://optimistic.etherscan.io"],
      average_blocktime_ms: 2000
    }
    const documentOf = (more: object) =>
      imported({ relayers: [relayer("optimism")], networks: [{ ...same, ...more }] }).document.networks
    for (const more of [{}, { tags: same.tags.toReversed() }, { tags: ["rollup"] }, { tags: [], features: [] }]) {
      assert.isFalse(documentOf(more).has("evm:optimism"), JSON.stringify(more))
    }
    const explorer_urls = [...same.explorer_urls, "https://explorer.example"]
    for (const more of [{ tags: ["mine"] }, { explorer_urls }, { explorer_urls: [] }]) {
      assert.deepStrictEqual(documentOf(more).get("evm:optimism"), more)
    }
  })
})

describe("an address", () => {
  it("with a wrong checksum is invalid at its place in the input", () => {
    const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    const of = (address: string) =>
      imported({ relayers: [relayer("sepolia", { policies: { whitelist_receivers: [right, address] } })] })
    assert.isTrue(of(right).document.relayers.has("a"))
    const { document, entries } = of("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD")
    assert.isFalse(document.relayers.has("a"))
    assert.deepInclude(
      entries.filter(({ code }) => code === "invalid").map(({ at, message }) => [at, message]),
      [
        "relayers.0.policies.whitelist_receivers.1",
        "has a wrong checksum (EIP-55); check it, or write it in lower case: a would be left out with --skip-invalid"
      ]
    )
  })
})
