// Addresses with a mistyped digit, and where they are in policies, limits and networks.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { getAddress } from "viem"
import {
  CheckedEvmAddress,
  CheckedEvmCall,
  CheckedSolanaAddress,
  CheckedStellarAddress
} from "../../../src/domain/chain/Amount.ts"
import {
  addressFault,
  mistypedIn,
  mistypedInNetwork,
  mistypedLimits,
  toChecksum
} from "../../../src/domain/chain/MistypedAddresses.ts"
import { decodeObject } from "../../../src/domain/configuration/Document.ts"
import { decodeBase58 } from "../../../src/networks/solana/rules/Wire.ts"
import { property } from "../../../testkit/Depth.ts"

const right = {
  evm: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  solana: "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
  stellar: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
}

/** With one digit changed, or two left out. */
const wrong = {
  evm: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
  solana: "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAW",
  stellar: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA"
}

const contract = {
  right: "CADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQP5KR",
  wrong: "CADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQP5KA"
}

/** A pattern that names addresses with lower-case digits only. */
const EvmAddress = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{40}$/))

/** Around the length of 32 bytes. */
const SomeBase58 = Schema.String.check(Schema.isPattern(/^1{0,31}[1-9A-HJ-NP-Za-km-z]{30,44}$/))

const generated = [
  ["evm", CheckedEvmAddress],
  ["evm", CheckedEvmCall],
  ["solana", CheckedSolanaAddress],
  ["stellar", CheckedStellarAddress]
] as const

const fieldsOf = (violations: ReadonlyArray<{ readonly field: string }>) => violations.map(({ field }) => field)

describe("an address", () => {
  it("of evm has the checksum of EIP-55 if its letters are in mixed case", () => {
    for (const address of [right.evm, right.evm.toLowerCase(), `0x${right.evm.slice(2).toUpperCase()}`]) {
      assert.isUndefined(addressFault("evm", address))
    }
    assert.strictEqual(
      addressFault("evm", wrong.evm),
      "has a wrong checksum (EIP-55); check it, or write it in lower case"
    )
  })

  it.prop(
    "of evm has the checksum that viem gives it",
    [Arbitrary.schema(EvmAddress)],
    ([address]) => assert.strictEqual(toChecksum(address), getAddress(address)),
    property()
  )

  it("gets the same answer each time, also after more addresses than the service remembers", () => {
    const answers = () => [addressFault("evm", right.evm), addressFault("evm", wrong.evm)]
    const first = answers()
    assert.isUndefined(first[0])
    assert.include(first[1] ?? "", "wrong checksum")
    assert.deepStrictEqual(answers(), first)
    for (let index = 0; index < 1100; index++) {
      assert.isUndefined(addressFault("evm", `0x${index.toString(16).padStart(40, "0")}`))
    }
    assert.deepStrictEqual(answers(), first)
    assert.isDefined(addressFault("solana", right.evm), "what is right for one type is not right for another")
  })

  it("of solana is 32 bytes, as sends decode it", () => {
    assert.isUndefined(addressFault("solana", right.solana))
    assert.isUndefined(addressFault("solana", "11111111111111111111111111111111"))
    assert.include(addressFault("solana", wrong.solana) ?? "", "is not the base58 form of 32 bytes")
    assert.isDefined(addressFault("solana", "111111111111111111111111111111111"))
  })

  it.prop(
    "of solana is what sends decode",
    [Arbitrary.schema(SomeBase58)],
    ([text]) => assert.strictEqual(addressFault("solana", text) === undefined, decodeBase58(text) !== undefined, text),
    property()
  )

  it("of stellar has the checksum of StrKey, of an account and of a contract", () => {
    for (const address of [right.stellar, contract.right]) assert.isUndefined(addressFault("stellar", address))
    for (const address of [wrong.stellar, contract.wrong]) {
      assert.strictEqual(addressFault("stellar", address), "has a wrong checksum (StrKey); check it")
    }
  })

  for (const [type, schema] of generated) {
    it.prop(
      `of ${type} that tests generate is not refused`,
      [Arbitrary.schema(schema)],
      ([text]) => assert.isUndefined(addressFault(type, text.split(":")[0] ?? text), text),
      property()
    )
  }
})

describe("a mistyped address", () => {
  it("in a policy is found by its field, in each list of each network type", () => {
    const selector = (address: string) => `${address}:0xa9059cbb`
    assert.deepStrictEqual(
      fieldsOf(
        mistypedIn(
          "evm",
          {
            whitelist_receivers: [right.evm, "contract_creation", wrong.evm],
            allowed_delegates: [right.evm, wrong.evm],
            whitelist_selectors: [selector(wrong.evm), selector(right.evm)]
          },
          "policies."
        )
      ),
      ["policies.whitelist_receivers.2", "policies.whitelist_selectors.0", "policies.allowed_delegates.1"]
    )
    const lists = ["allowed_programs", "allowed_accounts", "disallowed_accounts", "authority_programs"] as const
    for (const list of lists) {
      assert.deepStrictEqual(fieldsOf(mistypedIn("solana", { [list]: [right.solana, wrong.solana] }, "")), [
        `${list}.1`
      ])
    }
    const mints = [{ mint: right.solana }, { mint: wrong.solana }]
    assert.deepStrictEqual(fieldsOf(mistypedIn("solana", { allowed_tokens: mints }, "")), ["allowed_tokens.1.mint"])
    const assets = [
      "",
      "native",
      "XLM",
      contract.right,
      contract.wrong,
      `USDC:${right.stellar}`,
      `USDC:${wrong.stellar}`
    ]
    assert.deepStrictEqual(
      fieldsOf(mistypedIn("stellar", { allowed_tokens: assets.map((asset) => ({ asset })) }, "")),
      ["allowed_tokens.4.asset", "allowed_tokens.6.asset"]
    )
    assert.deepStrictEqual(mistypedIn("evm", { whitelist_receivers: null }, ""), [])
  })

  it("in the limits of an API key and in a network is found by its field", () => {
    const limits = {
      receivers: [wrong.evm],
      selectors: [`${wrong.evm}:0x`],
      solana: { receivers: [wrong.solana] },
      stellar: { receivers: [right.stellar, wrong.stellar] }
    }
    assert.deepStrictEqual(fieldsOf(mistypedLimits(limits)), [
      "transaction_limits.receivers.0",
      "transaction_limits.selectors.0",
      "transaction_limits.solana.receivers.0",
      "transaction_limits.stellar.receivers.1"
    ])
    assert.deepStrictEqual(mistypedLimits(null), [])
    assert.deepStrictEqual(fieldsOf(mistypedInNetwork({ fee_forwarder: contract.wrong })), ["fee_forwarder"])
    assert.deepStrictEqual(mistypedInNetwork({ fee_forwarder: contract.right }), [])
  })

  it("is an error of the document of a configuration", () => {
    const policies = { whitelist_receivers: [wrong.evm] }
    const relayer = { name: "R", network_type: "evm", network: "sepolia", signer_id: "hot", paused: true, policies }
    const key = { name: "K", scopes: ["transactions:*"], transaction_limits: { receivers: [wrong.evm] } }
    const failing = (kind: Parameters<typeof decodeObject>[0], id: string, body: object) => {
      const decoded = decodeObject(kind, id, body)
      return Result.isFailure(decoded) ? fieldsOf(decoded.failure) : []
    }
    assert.deepStrictEqual(failing("relayers", "r", relayer), ["policies.whitelist_receivers.0"])
    assert.deepStrictEqual(failing("api_keys", "k", key), ["transaction_limits.receivers.0"])
    assert.deepStrictEqual(failing("networks", "stellar:testnet", { fee_forwarder: contract.wrong }), ["fee_forwarder"])
    assert.deepStrictEqual(failing("networks", "stellar:testnet", { fee_forwarder: contract.right }), [])
  })
})
