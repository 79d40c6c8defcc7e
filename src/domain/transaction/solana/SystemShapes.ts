// Shapes of instructions of the System program that spend from the relayer.
import * as LittleEndian from "./LittleEndian.ts"
import * as Programs from "./Programs.ts"
import { maxSeedBytes } from "./SolanaNumbers.ts"
import { isOnlyAt } from "./Spending.ts"
import type { Shape } from "./Spending.ts"

const transfer: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const [, to = ""] = accounts
  const lamports = LittleEndian.u64(data, 4)
  if (LittleEndian.u32(data, 0) !== 2 || data.length !== 12 || lamports === undefined) return undefined
  if (accounts.length !== 2 || !isOnlyAt(instruction, authority, 0)) return undefined
  return { out: lamports, spent: lamports, receivers: [{ address: to }] }
}

/** The seed that begins at an offset with its length, if it is not too long. */
const seedAt = (data: Uint8Array, offset: number): Uint8Array | undefined => {
  const length = LittleEndian.u64(data, offset)
  if (length === undefined || length > BigInt(maxSeedBytes)) return undefined
  const end = offset + 8 + Number(length)
  return end > data.length ? undefined : data.slice(offset + 8, end)
}

const createWithSeed: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const seed = seedAt(data, 36)
  const [, created = ""] = accounts
  if (LittleEndian.u32(data, 0) !== 3 || seed === undefined || data.length !== 92 + seed.length) return undefined
  if (accounts.length !== 2 || !isOnlyAt(instruction, authority, 0)) return undefined
  const rest = 44 + seed.length
  const lamports = LittleEndian.u64(data, rest) ?? 0n
  const owner = derivations.encode(data.slice(rest + 16, rest + 48))
  if (derivations.encode(data.slice(4, 36)) !== relayer) return undefined
  if (created !== derivations.withSeed(relayer, seed, owner)) return undefined
  return { out: lamports, spent: lamports, receivers: [{ address: created }] }
}

const transferWithSeed: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const seed = seedAt(data, 12)
  const [from, , to = ""] = accounts
  const spent = LittleEndian.u64(data, 4)
  if (LittleEndian.u32(data, 0) !== 11 || seed === undefined || spent === undefined) return undefined
  if (data.length !== 52 + seed.length || accounts.length !== 3 || !isOnlyAt(instruction, authority, 1))
    return undefined
  const owner = derivations.encode(data.slice(20 + seed.length))
  if (owner !== Programs.systemProgram || from !== derivations.withSeed(relayer, seed, owner)) return undefined
  return { out: 0n, spent, receivers: [{ address: to }] }
}

export const systemShapes: ReadonlyArray<Shape> = [transfer, createWithSeed, transferWithSeed]
