// What a transaction moves to whom, as far as its fields say: in lists, and before it is sent.
import { smallestUnits } from "./Amounts.ts"
import type { Unit } from "./Amounts.ts"

/** Absent parts are not known: a call of a program can move anything. */
export interface Move {
  readonly amount?: bigint
  readonly unit: Unit
  readonly to?: string
  readonly data?: string
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && name in value ? Reflect.get(value, name) : undefined

const textOf = (value: unknown, name: string): string | undefined => {
  const found = fieldOf(value, name)
  return typeof found === "string" ? found : undefined
}

const listOf = (value: unknown, name: string): ReadonlyArray<unknown> => {
  const found = fieldOf(value, name)
  return Array.isArray(found) ? found : []
}

const amountOf = (value: unknown, name: string): bigint | undefined => {
  const found = fieldOf(value, name)
  if (typeof found === "bigint") return found
  return /^(\d+|0x[0-9a-fA-F]+)$/.test(String(found)) ? BigInt(String(found)) : undefined
}

const withParts = (unit: Unit, amount: bigint | undefined, to: string | undefined): Move => ({
  unit,
  ...(amount === undefined ? {} : { amount }),
  ...(to === undefined ? {} : { to })
})

const systemProgram = "11111111111111111111111111111111"

/** A transfer of the system program: its number, and eight bytes of lamports, little-endian. */
const transfer = { number: 2, length: 12 } as const

const bytesOf = (base64: string): Uint8Array | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    // A person is typing it.
    return undefined
  }
}

const ofInstruction = (instruction: unknown): ReadonlyArray<Move> => {
  if (textOf(instruction, "program_id") !== systemProgram) return []
  const bytes = bytesOf(textOf(instruction, "data") ?? "")
  if (bytes?.length !== transfer.length) return []
  const view = new DataView(bytes.buffer)
  if (view.getUint32(0, true) !== transfer.number) return []
  const [, receiver] = listOf(instruction, "accounts")
  return [withParts(smallestUnits.solana, view.getBigUint64(4, true), textOf(receiver, "pubkey"))]
}

/** Credits have as many digits as XLM. */
const assetOf = (asset: unknown): Unit => {
  const code = textOf(asset, "code")
  return code === undefined
    ? smallestUnits.stellar
    : { ...smallestUnits.stellar, symbol: code, smallest: `units of ${code}` }
}

const ofOperation = (operation: unknown): ReadonlyArray<Move> =>
  textOf(operation, "type") === "payment"
    ? [withParts(assetOf(fieldOf(operation, "asset")), amountOf(operation, "amount"), textOf(operation, "destination"))]
    : []

/** The calls of an evm transaction that makes many, each with its amount. Empty: it makes one. */
export const callsIn = (value: unknown): ReadonlyArray<Pick<Move, "amount" | "to" | "data">> =>
  listOf(value, "calls").map((call) => {
    const [to, data] = [textOf(call, "to"), textOf(call, "data")]
    return {
      amount: amountOf(call, "value") ?? 0n,
      ...(to === undefined ? {} : { to }),
      ...(data === undefined ? {} : { data })
    }
  })

/** `value`: a request, or a transaction of the service. `native`: the unit of its network. */
export const movesOf = (networkType: string, value: unknown, native: Unit): ReadonlyArray<Move> => {
  if (networkType === "solana") return listOf(value, "instructions").flatMap(ofInstruction)
  if (networkType === "stellar") return listOf(value, "operations").flatMap(ofOperation)
  const calls = callsIn(value)
  if (calls.length > 0) return calls.map((call) => ({ ...call, unit: native }))
  return [withParts(native, amountOf(value, "value") ?? 0n, textOf(value, "to"))]
}
