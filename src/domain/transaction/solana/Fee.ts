// What a message costs its fee payer, as the runtime charges it.
import * as LittleEndian from "./LittleEndian.ts"
import type { Message } from "./Message.ts"
import { computeBudgetProgram, precompiles } from "./Programs.ts"
import { defaultComputeUnits, lamportsPerSignature, maxComputeUnits, microLamports } from "./SolanaNumbers.ts"

/** Instructions of the compute budget, by their first byte. */
const budget = { limit: 2, price: 3 } as const

export interface Fee {
  readonly signatures: number
  /** Signatures that precompiles claim. */
  readonly claimed: number
  /** Absent: the message sets none, and the runtime takes its default. */
  readonly computeUnitLimit?: number
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
  /** Lamports. Exact if the message sets a limit, else an upper bound. */
  readonly total: bigint
}

/** In version 1 these instructions have no effect: its configuration says what they would. */
const budgetData = ({ instructions, keys, version }: Message): ReadonlyArray<Uint8Array> =>
  version === 1
    ? []
    : instructions.filter(({ program }) => keys[program] === computeBudgetProgram).map(({ data }) => data)

/** Whether an instruction of the compute budget occurs twice: the runtime refuses such a message. */
export const hasBudgetTwice = (message: Message): boolean => {
  const kinds = budgetData(message).map((data) => data[0])
  return new Set(kinds).size < kinds.length
}

/** The fee for a price and a limit of compute units: the part of a lamport that is left counts as one. */
export const totalFee = (signatures: number, price: bigint, units: number): bigint =>
  lamportsPerSignature * BigInt(signatures) + (price * BigInt(units) + microLamports - 1n) / microLamports

/** Version 1 names its fee in lamports. The price is what that is for each unit. */
const feeOfConfig = ({ config = {} }: Message, signatures: number, claimed: number): Fee => {
  const { priorityFee = 0n, computeUnitLimit } = config
  const units = BigInt(computeUnitLimit ?? 0)
  return {
    signatures,
    claimed,
    ...(computeUnitLimit === undefined ? {} : { computeUnitLimit }),
    computeUnitPrice: units === 0n ? 0n : (priorityFee * microLamports) / units,
    total: lamportsPerSignature * BigInt(signatures) + priorityFee
  }
}

export const feeOf = (message: Message): Fee => {
  const { instructions, keys, signers } = message
  let claimed = 0
  for (const { program, data } of instructions) {
    if (precompiles.has(keys[program] ?? "")) claimed += data[0] ?? 0
  }
  const data = budgetData(message)
  const limitData = data.find(([kind]) => kind === budget.limit)
  const priceData = data.find(([kind]) => kind === budget.price)
  const limit = limitData === undefined ? undefined : LittleEndian.u32(limitData, 1)
  const price = (priceData === undefined ? undefined : LittleEndian.u64(priceData, 1)) ?? 0n
  const units = Math.min(maxComputeUnits, limit ?? defaultComputeUnits * instructions.length)
  const signatures = signers + claimed
  if (message.version === 1) return feeOfConfig(message, signatures, claimed)
  return {
    signatures,
    claimed,
    ...(limit === undefined ? {} : { computeUnitLimit: limit }),
    computeUnitPrice: price,
    total: totalFee(signatures, price, units)
  }
}
