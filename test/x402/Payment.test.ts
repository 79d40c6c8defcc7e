// What the facilitator takes for a payment, and what it says about everything else.
import { assert, describe, it } from "@effect/vitest"
import { hasSignatureOf, isCallOf, isInvalid, parse } from "../../packages/x402/src/Payment.ts"
import type { Payment } from "../../packages/x402/src/Payment.ts"
import { bodyOf, forms, seller, setUp } from "./fixtures.ts"
import type { Given } from "./fixtures.ts"
import { asset, network, payTo } from "./Service.ts"

const tokens = [{ address: asset }]
const parseOf = (body: unknown, offered: object = {}) =>
  parse(body, [{ network, blockTime: 1, tokens: [{ address: asset, ...offered }] }], seller.payTo)

const paymentOf = (given: Given = {}, offered: object = {}): Payment => {
  const payment = parseOf(bodyOf(given), offered)
  return isInvalid(payment) ? assert.fail(payment.message) : payment
}

const stranger = `0x${"99".repeat(20)}`
const authorization = "invalid_exact_evm_payload_authorization"
const requirements = "invalid_payment_requirements"

const permit2 = (over: object = {}): Given => ({
  payload: {
    authorization: undefined,
    permit2Authorization: {
      from: stranger,
      permitted: { token: asset, amount: "1000" },
      spender: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
      nonce: "7",
      deadline: "99999999999",
      witness: { to: payTo, validAfter: "0" },
      ...over
    }
  }
})

/** A wrong field, the reason that it is answered with, and a part of the message. */
const wrong: ReadonlyArray<readonly [body: unknown, reason: string, message: string, offered?: object]> = [
  ["payment", "invalid_payload", "JSON object"],
  [{ ...bodyOf(), x402Version: 1 }, "invalid_x402_version", "x402Version"],
  [{ ...bodyOf(), paymentPayload: null }, "invalid_payload", "paymentPayload"],
  [{ ...bodyOf(), paymentRequirements: [] }, requirements, "paymentRequirements"],
  [bodyOf({ requirements: { scheme: "upto" } }), "unsupported_scheme", "scheme"],
  [bodyOf({ requirements: { network: "eip155:1" } }), "invalid_network", "eip155:31337"],
  [bodyOf({ requirements: { network: "solana:1" } }), "invalid_network", "network"],
  [bodyOf({ requirements: { asset: "0x12" } }), `${requirements}_asset`, "asset"],
  [bodyOf({ requirements: { asset: stranger } }), "unsupported_asset", "not offered"],
  [bodyOf({ requirements: { amount: "-1" } }), `${requirements}_amount`, "amount"],
  [bodyOf({ requirements: { amount: String(2n ** 256n) } }), `${requirements}_amount`, "2^256"],
  [bodyOf({ requirements: { amount: 1000 } }), `${requirements}_amount`, "decimal digits"],
  [bodyOf({ requirements: { payTo: "seller" } }), `${requirements}_pay_to`, "payTo"],
  [bodyOf({ requirements: { payTo: stranger } }), "pay_to_of_another_seller", "payTo"],
  [bodyOf({ requirements: { maxTimeoutSeconds: "1" } }), `${requirements}_max_timeout_seconds`, "seconds"],
  [bodyOf({ requirements: { extra: null } }), `${requirements}_extra`, "extra"],
  [bodyOf({ requirements: { extra: { version: "2" } } }), `${requirements}_extra_name`, "name"],
  [bodyOf({ requirements: { extra: { name: "T" } } }), `${requirements}_extra_version`, "version"],
  [bodyOf({ accepted: { amount: "1" } }), `${requirements}_mismatch`, "accepted.amount"],
  [bodyOf({ accepted: { payTo: stranger } }), `${requirements}_mismatch`, "accepted.payTo"],
  [bodyOf({ accepted: { asset: "x" } }), "invalid_payload_accepted_asset", "asset"],
  [bodyOf({ payload: { authorization: "x" } }), authorization, "authorization"],
  [bodyOf({ authorization: { from: "me" } }), `${authorization}_from`, "from"],
  [bodyOf({ authorization: { to: 5 } }), `${authorization}_to`, "to"],
  [bodyOf({ authorization: { to: stranger } }), "invalid_exact_evm_recipient_mismatch", "payTo"],
  [bodyOf({ authorization: { value: "1e3" } }), `${authorization}_value`, "value"],
  [bodyOf({ authorization: { value: "999" } }), `${authorization}_value_mismatch`, "amount"],
  [bodyOf({ authorization: { validAfter: "" } }), `${authorization}_valid_after`, "validAfter"],
  [bodyOf({ authorization: { validBefore: "soon" } }), `${authorization}_valid_before`, "validBefore"],
  [bodyOf({ authorization: { nonce: "0x01" } }), `${authorization}_nonce`, "32 bytes"],
  [bodyOf({ signature: "0x1" }), "invalid_exact_evm_payload_signature", "hex digits"],
  [bodyOf({ signature: `${forms.plain}00` }), "invalid_exact_evm_payload_signature", "65 bytes"],
  [bodyOf({ signature: `${forms.plain.slice(0, -2)}05` }), "invalid_exact_evm_payload_signature", "27 or 28"],
  [bodyOf({ signature: `0x${"00".repeat(5000)}` }), "invalid_exact_evm_payload_signature", "4096"],
  [
    bodyOf({ signature: `0x${"00".repeat(64)}${"6492".repeat(16)}` }),
    "invalid_exact_evm_payload_signature",
    "ERC-6492"
  ],
  [bodyOf(permit2()), "unsupported_payload_type", "permit2"],
  [bodyOf(), "unsupported_payload_type", "eip3009", { methods: ["permit2"] }],
  ...(
    [
      [{ from: "" }, "invalid_permit2_payload_from"],
      [{ spender: "" }, "invalid_permit2_payload_spender"],
      [{ spender: stranger }, "invalid_permit2_spender"],
      [{ nonce: "x" }, "invalid_permit2_payload_nonce"],
      [{ deadline: "x" }, "invalid_permit2_payload_deadline"],
      [{ permitted: 1 }, "invalid_permit2_payload_permitted"],
      [{ permitted: { token: "", amount: "1000" } }, "invalid_permit2_payload_permitted_token"],
      [{ permitted: { token: stranger, amount: "1000" } }, "permit2_token_mismatch"],
      [{ permitted: { token: asset, amount: "" } }, "invalid_permit2_payload_permitted_amount"],
      [{ permitted: { token: asset, amount: "1" } }, "permit2_amount_mismatch"],
      [{ witness: 1 }, "invalid_permit2_payload_witness"],
      [{ witness: { to: "", validAfter: "0" } }, "invalid_permit2_payload_witness_to"],
      [{ witness: { to: stranger, validAfter: "0" } }, "invalid_permit2_recipient_mismatch"],
      [{ witness: { to: payTo, validAfter: "" } }, "invalid_permit2_payload_witness_valid_after"]
    ] as const
  ).map(([over, reason]) => [bodyOf(permit2(over)), reason, ":", { methods: ["permit2"] }] as const)
]

describe("a payment", () => {
  for (const [body, reason, message, offered] of wrong) {
    it(`with a wrong field is answered with the reason ${reason}, and names what is expected: ${message}`, () => {
      const invalid = parseOf(body, offered)
      if (!isInvalid(invalid)) return assert.fail("it was taken")
      assert.strictEqual(invalid.reason, reason)
      assert.include(invalid.message, message)
    })
  }

  it("with a wrong field is neither looked up nor sent", async () => {
    const { facilitator, service } = setUp({ networks: [{ network, blockTime: 1, tokens }] })
    let asked = 0
    const counting = setUp({
      relayers: new Proxy(service, {
        get: (target, key) => {
          asked += 1
          return Reflect.get(target, key, target)
        }
      })
    }).facilitator
    for (const [body, reason, , offered] of wrong) {
      if (offered !== undefined) continue
      for (const one of [facilitator, counting]) {
        const settled = await one.settle(body, seller)
        assert.deepStrictEqual([settled.success, settled.errorReason, settled.transaction], [false, reason, ""])
        const verified = await one.verify(body, seller)
        assert.deepStrictEqual([verified.isValid, verified.invalidReason], [false, reason])
      }
    }
    assert.deepStrictEqual([asked, service.rows, service.claims.size], [0, [], 0])
  })

  it("has one name and one signature, whatever form the signature has", () => {
    const { name, signature, words } = paymentOf()
    for (const form of Object.values(forms)) {
      const other = paymentOf({ signature: form })
      assert.deepStrictEqual([other.name, other.signature, other.words], [name, signature, words])
    }
    assert.match(name, /^x402-[0-9a-f]{64}$/)
    assert.notStrictEqual(paymentOf({ nonce: 2 }).name, name)
  })

  it("by Permit2 has the name of the nonce of its owner, and the call of the proxy", () => {
    const one = paymentOf(permit2(), { methods: ["permit2"] })
    const other = paymentOf(permit2({ nonce: "8" }), { methods: ["permit2"] })
    assert.notStrictEqual(one.name, other.name)
    assert.strictEqual(one.target, "0x402085c248eea27d92e8b30b2c58ed07f9e20001")
    assert.isTrue(isCallOf(one, { to: one.target, data: `0x13cd3b53${one.words.slice(2)}` }))
    assert.isFalse(isCallOf(one, { to: one.target, data: `0x13cd3b53${other.words.slice(2)}` }))
  })

  it("of a wallet keeps a signature that is not that of a key", () => {
    const passkey = `0x${"ab".repeat(64)}`
    assert.strictEqual(paymentOf({ signature: passkey }, { wallets: true }).signature, passkey)
    const { words, signature } = paymentOf({ signature: passkey }, { wallets: true })
    const size = (64).toString(16).padStart(64, "0")
    const data = `0xcf092995${words.slice(2)}${"00".repeat(32)}${size}${signature.slice(2)}` as const
    assert.isTrue(hasSignatureOf(paymentOf({ signature: passkey }, { wallets: true }), { data }))
    assert.isFalse(hasSignatureOf(paymentOf({ signature: `0x${"ac".repeat(64)}` }, { wallets: true }), { data }))
  })

  it("is the call of a transaction only with the same token, payer, receiver, value, times and nonce", () => {
    const payment = paymentOf()
    const dataOf = ({ words }: Payment) => `0xe3ee160e${words.slice(2)}`
    assert.isTrue(isCallOf(payment, { to: asset, data: dataOf(payment) }))
    assert.isFalse(isCallOf(payment, { to: stranger, data: dataOf(payment) }))
    assert.isFalse(isCallOf(payment, { to: asset, data: dataOf(payment).replace("0xe3ee160e", "0x095ea7b3") }))
    const others: ReadonlyArray<Given> = [
      { nonce: 2 },
      { authorization: { from: stranger } },
      { authorization: { validAfter: "1" } },
      { authorization: { validBefore: "99999999999" } },
      { authorization: { value: "5" }, requirements: { amount: "5" } }
    ]
    for (const other of others) assert.isFalse(isCallOf(payment, { to: asset, data: dataOf(paymentOf(other)) }))
  })
})
