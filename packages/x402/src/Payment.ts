// A payment: what a caller of the facilitator has sent, checked field by field, with the one call that settles it.
import { concatHex, encodeAbiParameters, isErc6492Signature, keccak256, numberToHex, padHex, size, slice } from "viem"
import type { Hex, Row } from "./Relayers.ts"
import type { Network, PaymentPayload, PaymentRequirements } from "./X402.ts"

/** How a token moves: by a signed authorization of its own (EIP-3009), or by Permit2 and the proxy of x402. */
export type Method = "eip3009" | "permit2"

export interface Token {
  readonly address: string
  /** Absent: `["eip3009"]`. */
  readonly methods?: ReadonlyArray<Method>
  /** Whether payers may be contracts, whose signatures the contract checks (ERC-1271). Absent: false. */
  readonly wallets?: boolean
  /** Payments of more than this, in the smallest unit of the token, are settled when they are confirmed. Absent: when they are mined. */
  readonly confirmAbove?: bigint
}

export interface OfferedNetwork {
  /** Such as `eip155:8453`. */
  readonly network: string
  /** Seconds between two blocks. */
  readonly blockTime: number
  readonly tokens: ReadonlyArray<Token>
}

export interface Payment {
  readonly name: string
  readonly chainId: number
  readonly network: Network
  readonly method: Method
  readonly token: Token
  readonly asset: Hex
  readonly payer: Hex
  readonly payTo: Hex
  readonly value: bigint
  /** Seconds since 1970. */
  readonly validBefore: bigint
  readonly nonce: Hex
  readonly signature: Hex
  /** The contract that is called, and the beginning of the call data after the selector: everything but the signature. */
  readonly target: Hex
  readonly selectors: ReadonlyArray<Hex>
  readonly words: Hex
  /** As it was given, but with the signature in its canonical form. */
  readonly payload: PaymentPayload
  readonly requirements: PaymentRequirements
}

/** Why a request is not a payment that this facilitator offers to settle. */
export interface Invalid {
  readonly reason: string
  readonly message: string
  /** As the request has it, as far as it is one. */
  readonly network: Network
}

export const chainIdOf = (network: string): number => Number(network.slice("eip155:".length))

export const isInvalid = (value: Payment | Invalid): value is Invalid => "reason" in value

/** Addresses of Permit2 and of the proxy of x402, which are the same on every chain. */
const permit2: Hex = "0x000000000022d473030f116ddee9f6b43ac78ba3"
const permit2Proxy: Hex = "0x402085c248eea27d92e8b30b2c58ed07f9e20001"

/** `transferWithAuthorization` with `v`, `r` and `s`, and with the bytes of a signature. */
const splitTransfer: Hex = "0xe3ee160e"
const bytesTransfer: Hex = "0xcf092995"

/** `settle` of the proxy of x402. */
const permit2Settle: Hex = "0x13cd3b53"

/** The order of secp256k1. A signature with `s` above its half is another form of one below. */
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const maxUint256 = 2n ** 256n - 1n

/** Bytes of a signature of a contract: passkeys of several owners stay below it. */
const maxSignatureBytes = 4096

class Wrong extends Error {
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fieldsAt = (fields: Fields, key: string, reason: string): Fields => {
  const value = fields[key]
  if (!isFields(value)) throw new Wrong(reason, `${key}: must be an object`)
  return value
}

/** A field that must match a pattern. */
const textAt = (fields: Fields, key: string, pattern: RegExp, reason: string, expected: string): string => {
  const value = fields[key]
  if (typeof value !== "string" || !pattern.test(value)) throw new Wrong(reason, `${key}: must be ${expected}`)
  return value
}

const addressAt = (fields: Fields, key: string, reason: string): Hex =>
  textAt(fields, key, /^0x[0-9a-fA-F]{40}$/, reason, "an address: 0x and 40 hex digits").toLowerCase() as Hex

const numberAt = (fields: Fields, key: string, reason: string): bigint => {
  const value = BigInt(textAt(fields, key, /^\d{1,78}$/, reason, "a text of decimal digits"))
  if (value > maxUint256) throw new Wrong(reason, `${key}: must be below 2^256`)
  return value
}

const same = (one: unknown, other: unknown): boolean =>
  typeof one === "string" && typeof other === "string" && one.toLowerCase() === other.toLowerCase()

/** The 65 bytes with a low `s`, and 27 or 28 as the last one: the form that every token takes. */
const canonical = (r: Hex, s: Hex, isOdd: boolean): Hex => {
  const value = BigInt(s)
  const isHigh = value > order / 2n
  return concatHex([
    r,
    padHex(numberToHex(isHigh ? order - value : value), { size: 32 }),
    isOdd !== isHigh ? "0x1c" : "0x1b"
  ])
}

const reasonOfSignature = "invalid_exact_evm_payload_signature"

/**
 * One payment has signatures in many forms; each stands for the same one. The signature of a contract is left as it is, unless it
 * has the 65 bytes of a key.
 */
const signatureAt = (fields: Fields, { wallets = false }: Token): Hex => {
  const expected = `0x and an even number of hex digits, of ${maxSignatureBytes} bytes at most`
  const given = textAt(fields, "signature", /^0x([0-9a-fA-F]{2})+$/, reasonOfSignature, expected).toLowerCase() as Hex
  if (size(given) > maxSignatureBytes) throw new Wrong(reasonOfSignature, `signature: must be ${expected}`)
  if (isErc6492Signature(given)) {
    throw new Wrong(
      reasonOfSignature,
      "signature: must not be wrapped (ERC-6492): wallets that are not deployed cannot pay"
    )
  }
  const bytes = size(given)
  if (bytes === 65) {
    const v = Number(slice(given, 64))
    if (v === 0 || v === 1 || v === 27 || v === 28) {
      return canonical(slice(given, 0, 32), slice(given, 32, 64), v % 27 === 1)
    }
    if (!wallets) throw new Wrong(reasonOfSignature, "signature: its last byte must be 0, 1, 27 or 28")
  }
  if (bytes === 64 && !wallets) {
    const compact = BigInt(slice(given, 32))
    const isOdd = compact >> 255n === 1n
    const s = padHex(numberToHex(compact & (2n ** 255n - 1n)), { size: 32 })
    return canonical(slice(given, 0, 32), s, isOdd)
  }
  if (bytes !== 65 && !wallets) throw new Wrong(reasonOfSignature, "signature: must have 65 bytes")
  return given
}

const nameOf = (chainId: number, contract: Hex, payer: Hex, nonce: Hex): string =>
  `x402-${keccak256(
    encodeAbiParameters(
      [{ type: "uint256" }, { type: "address" }, { type: "address" }, { type: "bytes32" }],
      [BigInt(chainId), contract, payer, nonce]
    )
  ).slice(2)}`

const word = (value: Hex | bigint): Hex =>
  typeof value === "bigint" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 })

/** `fields`: what `@x402/evm` reads, in canonical forms. */
interface Moved extends Omit<Payment, "network" | "token" | "asset" | "payload" | "requirements" | "chainId"> {
  readonly fields: Record<string, unknown>
}

interface Asked {
  readonly chainId: number
  readonly token: Token
  readonly asset: Hex
  readonly payTo: Hex
  readonly amount: bigint
}

const prefix = "invalid_exact_evm_payload_authorization"

/** A transfer that the token itself authorizes (EIP-3009). */
const authorized = (fields: Fields, { chainId, token, asset, payTo, amount }: Asked): Moved => {
  const authorization = fieldsAt(fields, "authorization", prefix)
  const payer = addressAt(authorization, "from", `${prefix}_from`)
  const to = addressAt(authorization, "to", `${prefix}_to`)
  const value = numberAt(authorization, "value", `${prefix}_value`)
  const validAfter = numberAt(authorization, "validAfter", `${prefix}_valid_after`)
  const validBefore = numberAt(authorization, "validBefore", `${prefix}_valid_before`)
  const nonce = textAt(
    authorization,
    "nonce",
    /^0x[0-9a-fA-F]{64}$/,
    `${prefix}_nonce`,
    "32 bytes: 0x and 64 hex digits"
  ).toLowerCase() as Hex
  if (to !== payTo) throw new Wrong("invalid_exact_evm_recipient_mismatch", "authorization.to: must be payTo")
  if (value !== amount) throw new Wrong(`${prefix}_value_mismatch`, "authorization.value: must be the amount")
  const signature = signatureAt(fields, token)
  return {
    fields: {
      signature,
      authorization: {
        from: payer,
        to,
        value: value.toString(),
        validAfter: validAfter.toString(),
        validBefore: validBefore.toString(),
        nonce
      }
    },
    name: nameOf(chainId, asset, payer, nonce),
    method: "eip3009",
    payer,
    payTo,
    value,
    validBefore,
    nonce,
    signature,
    target: asset,
    selectors: [splitTransfer, bytesTransfer],
    words: concatHex([payer, payTo, value, validAfter, validBefore, nonce].map(word))
  }
}

const prefix2 = "invalid_permit2_payload"

/** A transfer by Permit2, which the proxy of x402 asks for. */
const permitted = (fields: Fields, { chainId, token, asset, payTo, amount }: Asked): Moved => {
  const authorization = fieldsAt(fields, "permit2Authorization", prefix2)
  const payer = addressAt(authorization, "from", `${prefix2}_from`)
  const spender = addressAt(authorization, "spender", `${prefix2}_spender`)
  const nonce = word(numberAt(authorization, "nonce", `${prefix2}_nonce`))
  const deadline = numberAt(authorization, "deadline", `${prefix2}_deadline`)
  const moved = fieldsAt(authorization, "permitted", `${prefix2}_permitted`)
  const moving = addressAt(moved, "token", `${prefix2}_permitted_token`)
  const value = numberAt(moved, "amount", `${prefix2}_permitted_amount`)
  const witness = fieldsAt(authorization, "witness", `${prefix2}_witness`)
  const to = addressAt(witness, "to", `${prefix2}_witness_to`)
  const validAfter = numberAt(witness, "validAfter", `${prefix2}_witness_valid_after`)
  if (spender !== permit2Proxy) throw new Wrong("invalid_permit2_spender", `spender: must be ${permit2Proxy}`)
  if (to !== payTo) throw new Wrong("invalid_permit2_recipient_mismatch", "witness.to: must be payTo")
  if (moving !== asset) throw new Wrong("permit2_token_mismatch", "permitted.token: must be the asset")
  if (value !== amount) throw new Wrong("permit2_amount_mismatch", "permitted.amount: must be the amount")
  const signature = signatureAt(fields, token)
  return {
    fields: {
      signature,
      permit2Authorization: {
        from: payer,
        permitted: { token: moving, amount: value.toString() },
        spender,
        nonce: BigInt(nonce).toString(),
        deadline: deadline.toString(),
        witness: { to, validAfter: validAfter.toString() }
      }
    },
    name: nameOf(chainId, permit2, payer, nonce),
    method: "permit2",
    payer,
    payTo,
    value,
    validBefore: deadline,
    nonce,
    signature,
    target: permit2Proxy,
    selectors: [permit2Settle],
    words: concatHex([asset, value, nonce, deadline, payer, payTo, validAfter].map(word))
  }
}

/** What a seller asks for, and what the payer has chosen of it. Other fields stay as they are. */
const requirementsAt = (fields: Fields, reason: string): PaymentRequirements => {
  if (fields.scheme !== "exact") throw new Wrong("unsupported_scheme", "scheme: must be exact")
  const network = textAt(fields, "network", /^eip155:\d{1,15}$/, "invalid_network", "eip155 and a chain id")
  const { maxTimeoutSeconds } = fields
  if (typeof maxTimeoutSeconds !== "number" || !(maxTimeoutSeconds > 0)) {
    throw new Wrong(`${reason}_max_timeout_seconds`, "maxTimeoutSeconds: must be a number of seconds")
  }
  return {
    ...fields,
    scheme: fields.scheme,
    network: network as Network,
    asset: addressAt(fields, "asset", `${reason}_asset`),
    amount: numberAt(fields, "amount", `${reason}_amount`).toString(),
    payTo: addressAt(fields, "payTo", `${reason}_pay_to`),
    maxTimeoutSeconds,
    extra: fieldsAt(fields, "extra", `${reason}_extra`)
  }
}

const extensionsOf = ({ extensions }: Fields): Pick<PaymentPayload, "extensions"> =>
  isFields(extensions) ? { extensions } : {}

const mismatch = "invalid_payment_requirements_mismatch"

/** The fields of `accepted`, which the payer has chosen, that must be those that the seller asks for. */
const agreed = ["scheme", "network", "asset", "amount", "payTo"] as const

const parsed = (body: unknown, networks: ReadonlyArray<OfferedNetwork>, payTos: ReadonlyArray<string>): Payment => {
  if (!isFields(body)) throw new Wrong("invalid_payload", "the body must be a JSON object")
  const payload = fieldsAt(body, "paymentPayload", "invalid_payload")
  for (const [where, version] of [
    ["x402Version", body.x402Version ?? payload.x402Version],
    ["paymentPayload.x402Version", payload.x402Version]
  ] as const) {
    if (version !== 2) throw new Wrong("invalid_x402_version", `${where}: must be 2`)
  }
  const reason = "invalid_payment_requirements"
  const requirements = requirementsAt(fieldsAt(body, "paymentRequirements", reason), reason)
  const { network, asset, payTo, extra } = requirements
  const offered = networks.find((one) => one.network === network)
  if (offered === undefined) {
    throw new Wrong("invalid_network", `network: must be one of ${networks.map(({ network }) => network).join(", ")}`)
  }
  const token = offered.tokens.find(({ address }) => same(address, asset))
  if (token === undefined) throw new Wrong("unsupported_asset", `asset: ${asset} is not offered on ${network}`)
  if (!payTos.some((one) => same(one, payTo))) {
    throw new Wrong("pay_to_of_another_seller", "payTo: is not an address of the seller with this key")
  }
  const accepted = requirementsAt(fieldsAt(payload, "accepted", "invalid_payload_accepted"), "invalid_payload_accepted")
  for (const key of agreed) {
    if (!same(accepted[key], requirements[key])) {
      throw new Wrong(mismatch, `accepted.${key}: must be that of paymentRequirements`)
    }
  }
  const fields = fieldsAt(payload, "payload", "invalid_payload")
  const { methods = ["eip3009"] } = token
  const method: Method = "permit2Authorization" in fields ? "permit2" : "eip3009"
  if (!methods.includes(method)) throw new Wrong("unsupported_payload_type", `${method} is not offered for this asset`)
  if (method === "eip3009") {
    for (const key of ["name", "version"]) {
      textAt(extra, key, /^.{1,256}$/su, `${reason}_extra_${key}`, "a text of 1 to 256 characters")
    }
  }
  const asked: Asked = {
    chainId: chainIdOf(network),
    token,
    asset: asset as Hex,
    payTo: payTo as Hex,
    amount: BigInt(requirements.amount)
  }
  const { fields: canonicalFields, ...moved } =
    method === "permit2" ? permitted(fields, asked) : authorized(fields, asked)
  return {
    ...moved,
    chainId: asked.chainId,
    network,
    token,
    asset: asked.asset,
    payload: { ...extensionsOf(payload), x402Version: 2, accepted, payload: canonicalFields },
    requirements
  }
}

/** `payTos`: the addresses of the seller that asks. */
export const parse = (
  body: unknown,
  networks: ReadonlyArray<OfferedNetwork>,
  payTos: ReadonlyArray<string>
): Payment | Invalid => {
  try {
    return parsed(body, networks, payTos)
  } catch (error) {
    if (!(error instanceof Wrong)) throw error
    const { network } = isFields(body) && isFields(body.paymentRequirements) ? body.paymentRequirements : {}
    const isNamed = typeof network === "string" && /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/.test(network)
    return { reason: error.reason, message: error.message, network: isNamed ? (network as Network) : "eip155:0" }
  }
}

const digits = (hex: string): string => hex.slice(2).toLowerCase()

/** Whether the call moves what the payment says, whatever form its signature has. */
export const isCallOf = (
  { target, selectors, words }: Payment,
  { to, data }: { readonly to: string; readonly data: string }
): boolean => {
  const call = digits(data)
  return (
    same(to, target) &&
    selectors.some((selector) => call.startsWith(digits(selector))) &&
    call.startsWith(digits(words), digits(splitTransfer).length)
  )
}

/** Whether the transaction has this signature. Its sender had verified it, so that who knows it has a valid one. */
export const hasSignatureOf = ({ signature, words }: Payment, { data }: Pick<Row, "data">): boolean => {
  const call = digits(data)
  const tail = call.slice(digits(splitTransfer).length + digits(words).length)
  if (call.startsWith(digits(splitTransfer))) {
    const [r, s, v] = [slice(signature, 0, 32), slice(signature, 32, 64), slice(signature, 64)]
    return size(signature) === 65 && tail.startsWith(digits(concatHex([word(v), r, s])))
  }
  // The offset of the bytes, their length, and the bytes.
  return tail.startsWith(digits(concatHex([word(BigInt(size(signature))), signature])), 64)
}
