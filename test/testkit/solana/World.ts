// Keys and signed transactions for tests of the cluster.
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import * as Base58 from "../../../src/domain/transaction/solana/Base58.ts"
import { systemProgram } from "../../../src/domain/transaction/solana/Programs.ts"
import type { MessageConfig } from "../../../src/domain/transaction/solana/Message.ts"
import * as Wire from "../../../src/domain/transaction/solana/WireEncoding.ts"
import type { BuiltInstruction } from "../../../src/domain/transaction/solana/WireEncoding.ts"
import type { Cluster } from "../../../testkit/solana/Cluster.ts"

export const sol = 1_000_000_000n

const secretOf = (number: number) => {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), new Uint8Array(32).fill(number)])
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" })
}

/** The address of the key with a number. */
export const addressOf = (number: number): string => {
  const spki = createPublicKey(secretOf(number)).export({ format: "der", type: "spki" })
  return Base58.encode(Uint8Array.from(spki.subarray(-32)))
}

/** The key with a number, as a file has it. */
export const pemOf = (number: number): string => secretOf(number).export({ format: "pem", type: "pkcs8" }).toString()

export const signature = (number: number, message: Uint8Array): Uint8Array =>
  Uint8Array.from(sign(null, message, secretOf(number)))

/** Signed by the key with the number, which pays the fee. `config`: in version 1. */
export const signed = (
  cluster: Cluster,
  payer: number,
  instructions: ReadonlyArray<BuiltInstruction>,
  config?: MessageConfig
): Uint8Array => {
  const blockhash = cluster.blocks.at(-1)?.blockhash ?? ""
  const message = Wire.messageBytes(Wire.build({ payer: addressOf(payer), instructions, blockhash, config }))
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
