// The signature that is read from signed bytes is the one that viem has put there.
import { assert, it } from "@effect/vitest"
import { hexToBytes, serializeTransaction } from "viem"
import type { TransactionSerializable } from "viem"
import { signatureOf } from "../../../../src/networks/evm/rules/EvmWords.ts"

const to = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
const fees = { maxFeePerGas: 40_000_000_000n, maxPriorityFeePerGas: 1n }
const common = { chainId: 8453, nonce: 7, gas: 21_000n, value: 10n ** 18n }

const transactions: Readonly<Record<string, TransactionSerializable>> = {
  "a legacy transaction": { type: "legacy", ...common, to, gasPrice: 30_000_000_000n },
  "a legacy transaction on a chain with a large id": {
    type: "legacy",
    ...common,
    chainId: 11_155_111,
    to,
    gasPrice: 1n
  },
  "a transaction with an access list": {
    type: "eip2930",
    ...common,
    to,
    gasPrice: 1n,
    accessList: [{ address: to, storageKeys: [`0x${"11".repeat(32)}`] }]
  },
  "an EIP-1559 transaction": { type: "eip1559", ...common, to, ...fees },
  "a creation": { type: "eip1559", ...common, ...fees, data: `0x${"60".repeat(200)}` },
  "128 kB of data": { type: "eip1559", ...common, to, ...fees, data: `0x${"ab".repeat(131_072)}` }
}

const r = "1a".repeat(32)
const s = "2b".repeat(32)

/** RLP leaves out the zeros at the beginning. */
const short = `${"00".repeat(3)}${"2b".repeat(29)}`

for (const [what, transaction] of Object.entries(transactions)) {
  it(`the signature of ${what} is that of its bytes`, () => {
    for (const yParity of [0, 1]) {
      const signature = { r: `0x${r}`, s: `0x${short}`, v: 27n + BigInt(yParity), yParity } as const
      const raw = hexToBytes(serializeTransaction(transaction, signature))
      const v = transaction.type === "legacy" ? 27 + yParity : yParity
      const hexV = v.toString(16).padStart(2, "0")
      assert.deepStrictEqual(signatureOf(raw), { r, s: short, v, sig: `${r}${short}${hexV}` })
    }
  })
}

it("the signature of a transaction without a chain id has the v of its bytes", () => {
  const legacy = { type: "legacy", nonce: 0, gas: 21_000n, to, gasPrice: 1n } as const
  for (const v of [27n, 28n]) {
    const raw = hexToBytes(serializeTransaction(legacy, { r: `0x${r}`, s: `0x${s}`, v }))
    assert.strictEqual(signatureOf(raw).v, Number(v))
  }
})
