// Keys and signed transactions for tests of the cluster.
import type { MessageConfig } from "../../../src/networks/solana/rules/Message.ts"
import { systemProgram } from "../../../src/networks/solana/rules/Programs.ts"
import * as Wire from "../../../src/networks/solana/rules/Wire.ts"
import type { BuiltInstruction } from "../../../src/networks/solana/rules/Wire.ts"
import type { Cluster } from "../../../testkit/solana/Cluster.ts"
import * as Keys from "../../../testkit/solana/Keys.ts"

export const sol = 1_000_000_000n

const keyOf = (number: number) => Keys.ofSeed(new Uint8Array(32).fill(number))

/** The address of the key with a number. */
export const addressOf = (number: number): string => keyOf(number).address

/** The key with a number, as a file has it. */
export const pemOf = (number: number): string => keyOf(number).pem()

export const signature = (number: number, message: Uint8Array): Uint8Array => keyOf(number).sign(message)

/** Signed by the key with the number, which pays the fee. `config`: in version 1. */
export const signed = (
  cluster: Cluster,
  payer: number,
  instructions: ReadonlyArray<BuiltInstruction>,
  config?: MessageConfig
): Uint8Array => {
  const blockhash = cluster.blocks.at(-1)?.blockhash ?? ""
  const message = Wire.messageBytes(Wire.buildMessage({ payer: addressOf(payer), instructions, blockhash, config }))
  return Wire.transactionBytes([signature(payer, message)], message)
}

export const transferOf = (
  cluster: Cluster,
  from: number,
  to: string,
  lamports: bigint,
  config?: MessageConfig
): Uint8Array => {
  const data = Uint8Array.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(lamports).buffer)])
  const accounts = [addressOf(from), to].map((address) => ({ address, isWritable: true }))
  return signed(cluster, from, [{ program: systemProgram, accounts, data }], config)
}
