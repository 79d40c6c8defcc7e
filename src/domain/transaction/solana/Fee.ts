// What a message costs its fee payer, as the runtime charges it.
import * as LittleEndian from "./LittleEndian.ts"
import type { Message } from "./Message.ts"
import { builtins, computeBudgetProgram, precompiles } from "./Programs.ts"
import {
  builtinComputeUnits,
  defaultComputeUnits,
  lamportsPerSignature,
  maxComputeUnits,
  microLamports
} from "./SolanaNumbers.ts"

/** Instructions of the compute budget, by their first byte. */
const budget = { limit: 2, price: 3 } as const

/** Bytes that each of them has at least: its kind, and a number of four or eight bytes. The runtime refuses every other kind. */
const budgetBytes: Readonly<Record<number, number>> = { 1: 5, 2: 5, 3: 9, 4: 5 }

export interface Fee {
  readonly signatures: number
  /** Signatures that precompiles claim. */
  readonly claimed: number
  /** Absent: the message sets none, and the runtime takes its default. */
  readonly computeUnitLimit?: number
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
  /** Lamports. An upper bound if the message has a price and no limit: other programs may count as builtins. */
  readonly total: bigint
  /** A node may know better than `total`. */
  readonly isBound?: true
}

/** In version 1 these instructions have no effect: its configuration says what they would. */
const budgetData = ({ instructions, keys, version }: Message): ReadonlyArray<Uint8Array> =>
  version === 1
    ? []
    : instructions.filter(({ program }) => keys[program] === computeBudgetProgram).map(({ data }) => data)

/** What makes the runtime refuse the instructions of the compute budget. Undefined: nothing. */
export const budgetProblem = (message: Message): string | undefined => {
  const all = budgetData(message)
  const kinds = all.map(([kind]) => kind)
  if (new Set(kinds).size < kinds.length) {
    return "an instruction of the compute budget occurs twice; give each one once"
  }
  const wrong = all.find((data) => data.length < (budgetBytes[data[0] ?? 0] ?? Number.POSITIVE_INFINITY))
  return wrong === undefined
    ? undefined
    : `an instruction of the compute budget has the kind ${wrong[0] ?? "none"} and ${wrong.length} bytes; expected the kinds 1, 2 and 4 with 5 bytes, or 3 with 9`
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

/** What the runtime allows instructions of these programs if no limit is set. */
export const defaultUnits = (programs: ReadonlyArray<string>): number =>
  Math.min(
    maxComputeUnits,
    programs.reduce((units, program) => units + (builtins.has(program) ? builtinComputeUnits : defaultComputeUnits), 0)
  )

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
  const units = Math.min(maxComputeUnits, limit ?? defaultUnits(instructions.map(({ program }) => keys[program] ?? "")))
  const signatures = signers + claimed
  if (message.version === 1) return feeOfConfig(message, signatures, claimed)
  return {
    signatures,
    claimed,
    ...(limit === undefined ? {} : { computeUnitLimit: limit }),
    computeUnitPrice: price,
    total: totalFee(signatures, price, units),
    ...(price > 0n && limit === undefined ? { isBound: true } : {})
  }
}
