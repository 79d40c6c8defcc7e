// A facilitator on a service in memory, and the payments that sellers ask it for.
import { createFacilitator } from "../../packages/x402/src/Facilitator.ts"
import type { Options, Seller } from "../../packages/x402/src/Facilitator.ts"
import { asset, FakeService, makeClock, network, payer, payTo, schemeOf, start } from "./Service.ts"
import type { Script } from "./Service.ts"

export const seller: Seller = { key: "key-of-the-seller", payTo: [payTo] }

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const word = (value: bigint) => value.toString(16).padStart(64, "0")

const r = 0x1111n
const s = 0x2222n

/** Forms of one signature. */
export const forms = {
  plain: `0x${word(r)}${word(s)}1b`,
  zero: `0x${word(r)}${word(s)}00`,
  high: `0x${word(r)}${word(order - s)}1c`,
  compact: `0x${word(r)}${word(s)}`
} as const

export interface Given {
  readonly nonce?: number
  readonly signature?: string
  readonly authorization?: object
  readonly requirements?: object
  readonly accepted?: object
  readonly payload?: object
  readonly extensions?: object
}

export const value = 1000n

/** The body of a request to verify or to settle. */
export const bodyOf = (given: Given = {}) => {
  const requirements = {
    scheme: "exact",
    network,
    asset,
    amount: value.toString(),
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: "Test Dollar", version: "2" },
    ...given.requirements
  }
  const authorization = {
    from: payer,
    to: payTo,
    value: value.toString(),
    validAfter: "0",
    validBefore: String(start / 1000 + 300),
    nonce: `0x${word(BigInt(given.nonce ?? 1))}`,
    ...given.authorization
  }
  const paymentPayload = {
    x402Version: 2,
    accepted: { ...requirements, ...given.accepted },
    payload: { signature: given.signature ?? forms.plain, authorization, ...given.payload }
  }
  return { x402Version: 2, paymentPayload, paymentRequirements: requirements }
}

/** Two facilitators, as two instances of a program, on one service. */
export const setUp = (over: Partial<Options> = {}) => {
  const clock = makeClock()
  const service = new FakeService(clock)
  const script: Script = { isValid: true }
  const make = () =>
    createFacilitator({
      exact: schemeOf(script),
      relayers: service,
      networks: [{ network, blockTime: 1, tokens: [{ address: asset }] }],
      sellers: [seller],
      clock,
      ...over
    })
  return { clock, service, script, facilitator: make(), other: make() }
}
