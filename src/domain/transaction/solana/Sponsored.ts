// Builds the transaction that a user signs: a payment to the relayer, and then what the user wants, with the relayer as fee payer.
import { instructionsOf } from "./Instruction.ts"
import { isWritable } from "./Message.ts"
import type { Message, MessageConfig } from "./Message.ts"
import { systemProgram } from "./Programs.ts"
import { nativeToken } from "./Payment.ts"
import { defaultComputeUnits, maxComputeUnits, maxLoadedBytes, paymentUnits } from "./SolanaNumbers.ts"
import { build } from "./WireEncoding.ts"
import type { BuiltInstruction } from "./WireEncoding.ts"

const u64 = (value: bigint): ReadonlyArray<number> =>
  Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(8 * index)) & 255n))

interface Paying {
  readonly mint: string
  readonly tokenProgram: string
  readonly decimals: number
  readonly user: string
  /** The user's account of the token, and the relayer's. */
  readonly source: string
  readonly destination: string
  readonly relayer: string
  readonly amount: bigint
}

/** TransferChecked of the token, or a transfer of lamports. */
export const paymentOf = (paying: Paying): BuiltInstruction => {
  const { mint, tokenProgram, decimals, user, source, destination, relayer, amount } = paying
  const signing = { address: user, isSigner: true }
  if (mint === nativeToken) {
    return {
      program: systemProgram,
      accounts: [
        { ...signing, isWritable: true },
        { address: relayer, isWritable: true }
      ],
      data: Uint8Array.from([2, 0, 0, 0, ...u64(amount)])
    }
  }
  return {
    program: tokenProgram,
    accounts: [
      { address: source, isWritable: true },
      { address: mint, isWritable: false },
      { address: destination, isWritable: true },
      { ...signing, isWritable: false }
    ],
    data: Uint8Array.from([12, ...u64(amount), decimals])
  }
}

/** Tables that a message uses, with their contents. */
type Tables = ReadonlyMap<string, ReadonlyArray<string>>

/** The instructions of a message with what the runtime gives each account. `loaded`: what the tables load, writable ones first. */
const withRoles = (message: Message, loaded: ReadonlyArray<string>): ReadonlyArray<BuiltInstruction> => {
  const { signers } = message
  return instructionsOf(message, loaded).map(({ program, accounts, data }, at) => ({
    program,
    data,
    accounts: accounts.map((address, position) => {
      const index = message.instructions[at]?.accounts[position] ?? 0
      return { address, isWritable: isWritable(message, index), isSigner: index < signers }
    })
  }))
}

interface Sponsoring {
  readonly relayer: string
  readonly payment: BuiltInstruction
  readonly blockhash: string
  readonly loaded: ReadonlyArray<string>
  readonly tables: Tables
}

/**
 * What is not set in version 1 is nothing, and what is set is for the instructions of the user alone. Units and bytes cost no lamports
 * there: the fee is what the user names.
 */
const withRoomForPayment = ({ config = {}, instructions }: Message): MessageConfig => {
  const units = config.computeUnitLimit ?? defaultComputeUnits * instructions.length
  return { ...config, computeUnitLimit: Math.min(maxComputeUnits, units + paymentUnits), loadedBytes: maxLoadedBytes }
}

/** The payment comes first. The user's own fee payer signs the payment, so it stays a signer. */
export const sponsored = (message: Message, { relayer, payment, blockhash, loaded, tables }: Sponsoring): Message =>
  build({
    payer: relayer,
    instructions: [payment, ...withRoles(message, loaded)],
    blockhash,
    ...(message.version === 0 ? { tables } : {}),
    ...(message.version === 1 ? { config: withRoomForPayment(message) } : {})
  })
