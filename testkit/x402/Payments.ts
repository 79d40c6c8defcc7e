// A token of the tests on a node, and payments with it that are signed, as sellers send them to a facilitator.
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { concatHex, encodeAbiParameters, encodeFunctionData, getContractAddress } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import type { Seller } from "../../packages/x402/src/Facilitator.ts"
import type { Hex } from "../../packages/x402/src/Relayers.ts"
import * as Anvil from "../Anvil.ts"

export const root = path.resolve(import.meta.dirname, "../..")

const tools = path.join(root, "tools/x402")

/** The folder with the stock packages. */
export const stock = path.resolve(process.env.TEST_X402 ?? tools)

type Contract = "Token" | "Twice" | "OwnedWallet"

const contracts: Readonly<Record<Contract, { readonly bytecode: Hex }>> = JSON.parse(
  fs.readFileSync(path.join(tools, "contracts.json"), "utf8")
)

export type Node = Effect.Success<ReturnType<typeof Anvil.start>>

const submit = (node: Node, to: Hex | undefined, data: Hex) =>
  node.call("eth_sendTransaction", [{ from: Anvil.funded, data, gas: "0x2dc6c0", ...(to === undefined ? {} : { to }) }])

/** A transaction of the account that anvil funds. It is in a block when this ends. */
export const transact = Effect.fnUntraced(function* (node: Node, to: Hex | undefined, data: Hex) {
  const hash = yield* submit(node, to, data)
  for (;;) {
    const receipt = yield* node.call("eth_getTransactionReceipt", [hash])
    if (receipt !== null) return receipt as { readonly status: string; readonly transactionHash: Hex }
    yield* Effect.sleep("50 millis")
  }
})

/** Creates a contract and gives its address. */
export const deploy = Effect.fnUntraced(function* (node: Node, name: Contract, encoded: Hex = "0x") {
  const nonce = BigInt(String(yield* node.call("eth_getTransactionCount", [Anvil.funded, "latest"])))
  yield* transact(node, undefined, concatHex([contracts[name].bytecode, encoded]))
  return getContractAddress({ from: Anvil.funded, nonce }).toLowerCase() as Hex
})

export const deployWallet = (node: Node, owner: Hex, rounds: bigint) =>
  deploy(node, "OwnedWallet", encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [owner, rounds]))

const inputs = (...types: ReadonlyArray<string>) => types.map((type) => ({ name: "", type }))

const functionOf = (name: string, ...types: ReadonlyArray<string>) => ({
  type: "function" as const,
  name,
  stateMutability: "nonpayable" as const,
  inputs: inputs(...types),
  outputs: []
})

const abi = [
  functionOf("mint", "address", "uint256"),
  functionOf("burn", "address", "uint256"),
  functionOf("pause", "bool"),
  functionOf("run", "address", "address", "bytes32", "bytes")
]

export const encode = (functionName: string, ...args: ReadonlyArray<unknown>): Hex =>
  encodeFunctionData({ abi, functionName, args })

/** The balance of the token. */
export const balanceOf = (node: Node, token: Hex, account: Hex) =>
  Effect.map(
    node.call("eth_call", [{ to: token, data: `0x70a08231${account.slice(2).padStart(64, "0")}` }, "latest"]),
    (balance) => BigInt(String(balance))
  )

const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

export const amount = 1000n

export const payTo: Hex = `0x${"5e".repeat(20)}`

export const seller: Seller = { key: "key-of-the-seller", payTo: [payTo] }

export interface Signing {
  readonly token: Hex
  readonly key: Hex
  /** Absent: the address of the key. */
  readonly from?: Hex
  /** Seconds from now. Absent: 300. */
  readonly validFor?: number
  readonly nonce?: Hex
  readonly value?: bigint
}

/** What a payer signs, and the request with it. */
export const signed = Effect.fnUntraced(function* ({ token, key, validFor = 300, value = amount, ...given }: Signing) {
  const account = privateKeyToAccount(key)
  const now = Math.floor((yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)) / 1000)
  const nonce: Hex = given.nonce ?? `0x${randomBytes(32).toString("hex")}`
  const message = {
    from: given.from ?? account.address,
    to: payTo,
    value,
    validAfter: 0n,
    validBefore: BigInt(now + validFor),
    nonce
  }
  const domain = { name: "Test Dollar", version: "2", chainId: 31337, verifyingContract: token }
  const signature = yield* Effect.promise(() =>
    account.signTypedData({ domain, types, primaryType: "TransferWithAuthorization", message })
  )
  const authorization = {
    from: message.from,
    to: payTo,
    value: value.toString(),
    validAfter: "0",
    validBefore: message.validBefore.toString(),
    nonce
  }
  const requirements = {
    scheme: "exact",
    network: "eip155:31337",
    asset: token,
    amount: value.toString(),
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: "Test Dollar", version: "2" }
  }
  const bodyWith = (form: Hex) => ({
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: requirements, payload: { signature: form, authorization } },
    paymentRequirements: requirements
  })
  /** The call with which anybody lands the payment. */
  const call = encodeFunctionData({
    abi: [
      functionOf("transferWithAuthorization", "address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes")
    ],
    functionName: "transferWithAuthorization",
    args: [message.from, payTo, value, 0n, message.validBefore, nonce, signature]
  })
  return { body: bodyWith(signature), bodyWith, signature, authorization, nonce, call }
})

/** Keys, each with a balance of the token. */
export const payersOf = Effect.fnUntraced(function* (node: Node, token: Hex, count: number) {
  const keys = Array.from({ length: count }, () => generatePrivateKey())
  const minting = keys.map((key) => encode("mint", privateKeyToAccount(key).address, 1_000_000n))
  for (const data of minting.slice(1)) yield* submit(node, token, data)
  // The account sends in the order of its nonces, so that the last one is the last in a block.
  yield* transact(node, token, minting[0] ?? "0x")
  return keys
})

export const payerOf = (node: Node, token: Hex) => Effect.map(payersOf(node, token, 1), ([key = "0x"]) => key)
