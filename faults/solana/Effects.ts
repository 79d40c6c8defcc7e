// The effects that cases about solana count: memos with a number, and transfers of amounts that no two requests share.
import type { Message } from "../../src/networks/solana/rules/Message.ts"
import { memoProgram, systemProgram, u64At } from "../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import type { Cluster } from "../../testkit/solana/Cluster.ts"
import * as Keys from "../../testkit/signers/Keys.ts"

/** Transfers go to it. It has lamports, so that none of them is below the rent minimum. */
export const receiver = encodeBase58(new Uint8Array(32).fill(7))

/** Lamports of the transfer for slot 0. Each slot has one more. Other transfers are larger. */
const base = 1_000_000n
const slots = 1_000_000

const user = Keys.make("ed25519")

/** A user who sends their own lamports. The relayer signs as well, and pays only the fee. */
export const userAddress = encodeBase58(user.publicKey)

const transferData = (slot: number) =>
  Uint8Array.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(base + BigInt(slot)).buffer)])

export const memoOf = (slot: number) => ({
  instructions: [{ program_id: memoProgram, accounts: [], data: base64Of(Buffer.from(`slot ${slot}`)) }]
})

const transfer = (slot: number, from: string) => ({
  instructions: [
    {
      program_id: systemProgram,
      accounts: [
        { pubkey: from, is_signer: true, is_writable: true },
        { pubkey: receiver, is_signer: false, is_writable: true }
      ],
      data: base64Of(transferData(slot))
    }
  ]
})

/** A transfer of the user, which the user has signed: it lands with its own blockhash, or never. */
const cosigned = ({ blocks }: Cluster, slot: number, relayer: string) => {
  const accounts = [userAddress, receiver].map((address, index) => ({
    address,
    isWritable: true,
    ...(index === 0 ? { isSigner: true } : {})
  }))
  const message = Wire.messageBytes(
    Wire.buildMessage({
      payer: relayer,
      instructions: [{ program: systemProgram, accounts, data: transferData(slot) }],
      blockhash: blocks.at(-2)?.blockhash ?? ""
    })
  )
  return { transaction: base64Of(Wire.transactionBytes([undefined, user.sign(message)], message)) }
}

/** Every fourth request is prebuilt, so that the service may not sign new bytes for it. Only these can expire. */
export const isFixed = (slot: number): boolean => slot % 4 === 3

export const requestOf = (cluster: Cluster, slot: number, relayer: string): object => {
  if (isFixed(slot)) return cosigned(cluster, slot, relayer)
  return slot % 4 === 0 ? transfer(slot, relayer) : memoOf(slot)
}

const slotIn = (program: string, data: Uint8Array): number | undefined => {
  if (program === memoProgram) {
    const [, text] = /^slot (\d+)$/u.exec(Buffer.from(data).toString()) ?? []
    return text === undefined ? undefined : Number(text)
  }
  const lamports = program === systemProgram && data[0] === 2 ? u64At(data, 4) : undefined
  return lamports === undefined ? undefined : Number(lamports - base)
}

/** Lamports of transfers out of an account, in a transaction that succeeded. */
export const transferredBy = ({ instructions, keys }: Message, from: string): bigint =>
  instructions.reduce((sum, { accounts, data, program }) => {
    const isOut = keys[program] === systemProgram && data[0] === 2 && keys[accounts[0] ?? -1] === from
    return isOut ? sum + (u64At(data, 4) ?? 0n) : sum
  }, 0n)

/** How often each slot has its effect in the blocks that last. */
export const countIn = ({ blocks }: Cluster): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const { error, wire } of blocks.flatMap(({ transactions }) => transactions)) {
    if (error !== null) continue
    for (const { data, program } of wire.message.instructions) {
      const slot = slotIn(wire.message.keys[program] ?? "", data)
      if (slot !== undefined && slot >= 0 && slot < slots) counts.set(slot, (counts.get(slot) ?? 0) + 1)
    }
  }
  return counts
}
